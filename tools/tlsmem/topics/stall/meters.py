"""The meters of budgets that are of the scenario stall: what waits at one point."""

from collections.abc import Callable, Sequence
from fractions import Fraction

from tlsmem.config.scenarios import Settings
from tlsmem.config.stall_points import stall_points
from tlsmem.gate.scenario_meter import FigureOfRuns, ScenarioMeter, counted_figure
from tlsmem.stats.change import Figure
from tlsmem.stats.missing import Missing, map_present
from tlsmem.store.record import Record
from tlsmem.topics.stall import stalls


def stalled_roles(settings: Settings) -> Sequence[str]:
    """The sessions that wait at the point."""
    return [stall_points()[dict(settings)["point"]].waits]


def figure_of_amplification(runs: Sequence[Record], role: str) -> Figure | Missing:
    """Return bytes held for each byte received at one point: exact where all sessions are alike to the byte."""

    def judge(found: Fraction, pinned: Fraction) -> Figure:
        byte = found / pinned if pinned else Fraction(1)  # of one pinned byte
        return Figure((found,), pinned.denominator == 1, "×", noise=byte * (pinned.denominator != 1))

    (stall,) = stalls.find_stalls(runs)
    return map_present(judge, stall.amplification, stall.pinned_bytes)


def figure_of_bytes(value: Callable[[stalls.Stall], Fraction | Missing]) -> FigureOfRuns:
    """Return what makes the figure of one point that is bytes of one session."""

    def figure(runs: Sequence[Record], role: str) -> Figure | Missing:
        (stall,) = stalls.find_stalls(runs)
        return map_present(counted_figure, value(stall))

    return figure


METERS = {
    "amplification": ScenarioMeter(
        "stall",
        unit="×",
        phase="stalled",
        figure=figure_of_amplification,
        roles=stalled_roles,
    ),
    "pinned": ScenarioMeter(
        "stall",
        unit="B",
        phase="stalled",
        figure=figure_of_bytes(lambda stall: stall.pinned_bytes),
        roles=stalled_roles,
    ),
    "call-peak": ScenarioMeter(
        "stall",
        unit="B",
        phase="stalled",
        figure=figure_of_bytes(lambda stall: stall.call_peak_bytes),
        roles=stalled_roles,
    ),
    "kept": ScenarioMeter(
        "stall",
        unit="B",
        phase="closed",
        figure=figure_of_bytes(lambda stall: stall.kept_bytes),
        roles=stalled_roles,
    ),
}
