"""Figures of each repeat of a series by itself, and whether two series differ by more than their repeats do."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from tlsmem.stats import session_cost
from tlsmem.stats.series import Series
from tlsmem.stats.session_cost import Line, Quantity
from tlsmem.store.record import Record

# The spread of what was measured once: 2.8 % is the largest that repeats of a recording in data/ have, of RSS slopes of
# rustls with aws-lc in TLS 1.2 (docs/reference/results.md). All others repeat within 0.2 %, but one run does not tell
# which.
ASSUMED_SPREAD = 0.03
SINGLE_RUN_NOTE = f"measured once; a spread of {100 * ASSUMED_SPREAD:g} % is assumed, the largest that repeats have"
WITHIN_SPREAD_NOTE = "not beyond the spread of repeats"
Number = Fraction | float  # of figures that are counted, and of those that are measured


def group_by_repeat(runs: Sequence[Record]) -> list[list[Record]]:
    """Return the runs of each repeat that has every number of sessions, by increasing repeat and in their order."""
    everything = {run.sessions for run in runs}
    repeats = ([run for run in runs if run.repeat == repeat] for repeat in sorted({run.repeat for run in runs}))
    return [found for found in repeats if {run.sessions for run in found} == everything]


def lines(series: Series, quantity: Quantity) -> list[Line]:
    """Return the line through the RSS runs of each repeat; none where there is one N only."""
    found = (
        session_cost.fit_line(session_cost.medians(runs, quantity)) for runs in group_by_repeat(series.full("rss"))
    )
    return [line for line in found if line]


def slopes(series: Series, quantity: Quantity) -> list[float]:
    """Return the slope of each repeat's line in bytes per pair; in the process of one role that is per session."""
    return [2 * line.slope for line in lines(series, quantity)]


def intercepts(series: Series, quantity: Quantity) -> list[float]:
    """Return the intercept of each repeat's line, in bytes."""
    return [line.intercept for line in lines(series, quantity)]


def peaks(series: Series, sessions: int) -> list[int]:
    """Return the peak RSS of each repeat at this N, in bytes."""
    return [session_cost.peak_rss(run) for run in series.runs("rss", sessions)]


def c10ks(series: Series) -> list[float]:
    """Return the peak RSS, in bytes, of a process with 10,000 sessions: measured, or by the line, of each repeat."""
    points = (session_cost.medians(runs, session_cost.peak_rss) for runs in group_by_repeat(series.full("rss")))
    figures = (
        session_cost.c10k({sessions // series.share: peak for sessions, peak in found.items()}) for found in points
    )
    return [figure[0] for figure in figures if figure]


def live_slopes(series: Series, role: str, phase: str | None) -> list[float]:
    """Return the live heap per session of the role in bytes, of each repeat: at the end of the phase, or at the peak
    (None)."""
    pairs = ((runs[0], runs[1]) for runs in group_by_repeat(series.runs("heap")) if len(runs) > 1)
    found = (
        session_cost.live_cost(*pair, role, phase) if phase else session_cost.peak_cost(*pair, role) for pair in pairs
    )
    return [cost.bytes.amount / cost.bytes.sessions for cost in found]


def value_range(values: Sequence[Number]) -> Number:
    """Return the largest less the smallest of at least one value."""
    return max(values) - min(values)


@dataclass(frozen=True)
class RepeatChange:
    """The change from one series of repeats to another, by their medians. Exact figures need no repeats."""

    before: tuple[float, ...]
    after: tuple[float, ...]
    exact: bool = False

    @property
    def amount(self) -> float:
        """The median of `after` less that of `before`, in the unit of the values."""
        return statistics.median(self.after) - statistics.median(self.before)

    @property
    def share(self) -> float:
        """The amount over the median of `before`, which must not be 0."""
        return self.amount / statistics.median(self.before)

    @property
    def once(self) -> bool:
        """Whether the spread of repeats is not known, because one of the two was measured once."""
        return not self.exact and min(len(self.before), len(self.after)) < 2

    @property
    def beyond_spread(self) -> bool:
        """Whether the medians differ by more than the spread of the repeats, or the assumed one of a single run."""
        assumed = ASSUMED_SPREAD * statistics.median(self.before) if self.once else 0.0
        return abs(self.amount) > max(value_range(self.before), value_range(self.after), assumed)
