"""Whether the harness itself keeps anything over waves of sessions."""

from collections.abc import Iterable

from tlsmem.stats.missing import Missing
from tlsmem.topics.churn.waves import Churn

HARNESS_ALONE = "null"  # stacks without a library: what they keep is the harness's


def find_growth(found: Iterable[Churn]) -> str | None:
    """Return a sentence about the first that is not flat; None where all are.

    Live heap must be flat in every stack, RSS in those without a library."""
    for one in found:
        meters = {"live heap": one.heap_trend}
        if one.stack.startswith(HARNESS_ALONE):
            meters["RSS"] = one.rss_trend
        for meter, trend in meters.items():
            where = f"{one.stack}, {one.pattern}, {one.role}: {meter}"
            if isinstance(trend, Missing):
                return f"{where} has no verdict: {trend.reason}"
            if trend.verdict != "flat":
                return f"{where} is {trend.verdict}, by {trend.slope:,.1f} B a wave"
    return None
