"""Where a line of RSS is nonlinear: increments that differ from the usual one by more than repeats explain."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median, median_low

from tlsmem.stats import session_cost
from tlsmem.stats.missing import Missing
from tlsmem.stats.repeats import ASSUMED_SPREAD
from tlsmem.stats.rss_line import rss_quantity
from tlsmem.stats.series import Series
from tlsmem.stats.session_cost import KIB
from tlsmem.store.record import Record

PAGE = 4 * KIB
ONCE_BYTES = 128 * KIB  # what is no bend in runs made once: RssFile repeats within 100 KiB, slopes within ASSUMED


@dataclass(frozen=True)
class SessionStep:
    """From one N to the next."""

    low: int
    high: int
    increment: float  # bytes per pair
    spread: float  # bytes per pair that repeats explain

    @property
    def pairs(self) -> int:
        """The pairs that the step adds."""
        return self.high // 2 - self.low // 2


@dataclass(frozen=True)
class Bend:
    """A step whose increment differs from the usual one."""

    step: SessionStep
    usual: SessionStep
    excess: float  # bytes per pair beyond the usual increment

    @property
    def excess_bytes(self) -> float:
        """The excess of all pairs of the step."""
        return self.excess * self.step.pairs

    @property
    def spread(self) -> float:
        """Bytes per pair that the repeats of both steps explain."""
        return self.step.spread + self.usual.spread


def steps(points: Mapping[int, Sequence[int]]) -> list[SessionStep]:
    """Between neighbouring N, of the values of all repeats: sessions to bytes."""
    found = []
    for (low, before), (high, after) in pairwise(sorted(points.items())):
        pairs = high // 2 - low // 2
        increment = (median(after) - median(before)) / pairs
        if min(len(before), len(after)) > 1:
            spread = (max(before) - min(before) + max(after) - min(after) + PAGE) / pairs
        else:
            spread = max(ONCE_BYTES / pairs, ASSUMED_SPREAD * abs(increment))
        found.append(SessionStep(low, high, increment, spread))
    return found


def median_step(found: Sequence[SessionStep]) -> SessionStep:
    """The one in the middle; of two the smaller."""
    increment = median_low(step.increment for step in found)
    return next(step for step in found if step.increment == increment)


def find_bends(points: Mapping[int, Sequence[int]]) -> list[Bend]:
    """Increments that differ from the usual one by more than the repeats of both explain."""
    found = steps(points)
    if len(found) < 2:
        return []
    reference = median_step(found)
    odd = (Bend(step, reference, step.increment - reference.increment) for step in found)
    return [bend for bend in odd if abs(bend.excess) > bend.spread]


def why_no_bends(series: Series) -> Missing | None:
    """Return why the lines through the RSS runs cannot be judged; None where they can."""
    counts = {run.sessions for run in series.full("rss")}
    return Missing("two increments need three N") if len(counts) < 3 else None


def find_rss_bends(series: Series, phase: str | None) -> list[Bend]:
    """Return where the line through RSS at the end of the phase, or through the run's peak (None), is nonlinear."""
    return find_bends(session_cost.values_by_sessions(series.full("rss"), rss_quantity(phase)))


def find_peak_phase(runs: Sequence[Record]) -> str:
    """Return the phase in which the run with the most sessions has its peak RSS. `runs` are by increasing sessions."""
    return max(runs[-1].phases, key=lambda phase: phase.peak_rss_bytes).phase
