"""The meter of budgets that is of the scenario churn."""

from collections.abc import Sequence
from fractions import Fraction

from tlsmem.gate.scenario_meter import ScenarioMeter
from tlsmem.stats.change import Figure
from tlsmem.stats.missing import Missing, map_present
from tlsmem.store.record import Record
from tlsmem.topics.churn import waves as churn


def figure_of_churn(runs: Sequence[Record], role: str) -> Figure | Missing:
    """Return how many bytes of live heap a wave adds."""
    (found,) = (one for one in churn.find_churn(runs) if one.role == role)
    return map_present(figure_of_trend, found.heap_trend)


def figure_of_trend(trend: churn.Trend) -> Figure:
    """Return the slope, with half of its confidence interval as noise."""
    slope, half = (Fraction(size).limit_denominator(1000) for size in (trend.slope, (trend.high - trend.low) / 2))
    return Figure((slope,), not half, "B", noise=half)


METERS = {
    "growth": ScenarioMeter("churn", unit="B", phase="closed", figure=figure_of_churn, runs=(("heap", 200),)),
}
