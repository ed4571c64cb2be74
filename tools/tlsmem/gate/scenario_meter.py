"""What a meter of a budget is that is of another scenario than `memory`; topics declare theirs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from tlsmem.config.scenarios import Settings
from tlsmem.schema.harness_output import Meter, Scenario
from tlsmem.schema.roles import ROLES, Owner, Role
from tlsmem.stats.change import Figure
from tlsmem.stats.missing import Missing
from tlsmem.store.record import Record

COUNTED: tuple[tuple[Meter, int], ...] = (("heap", 200), ("sites", 200))  # exact: few sessions are enough
FigureOfRuns = Callable[[Sequence[Record], str], Figure | Missing]  # of measured runs, and of a role


@dataclass(frozen=True)
class ScenarioMeter:
    """One meter. `figure` takes the measured runs of one stack, suite and settings, and whose figure it is."""

    scenario: Scenario
    unit: Literal["B", "blocks", "×"]  # of the limit; `gate/limits.py` has their names
    phase: str  # that the figure is of; at its end live blocks are shown by call site where a limit is exceeded
    figure: FigureOfRuns
    runs: tuple[tuple[Meter, int], ...] = COUNTED  # meters and sessions; RSS runs are repeated as the file says
    roles: Callable[[Settings], Sequence[str]] = lambda settings: ROLES  # that a budget may be of
    owner: Callable[[Role], Owner] = lambda role: role  # of the blocks, as call stacks have it
    why_not: Callable[[Settings], str | None] = lambda settings: None  # half a sentence: it is never of these settings


def counted_figure(size: Fraction) -> Figure:
    """Return the figure of bytes of one session: exact where all sessions are alike to the byte."""
    return Figure((size,), size.denominator == 1, "B", noise=Fraction(size.denominator != 1))
