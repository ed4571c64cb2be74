"""Where a line of RSS is nonlinear: increments that differ from the usual one by more than repeats explain; and which
part of memory grew there: the first with at least half of the excess."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from statistics import median, median_low
from typing import NamedTuple

from tlsmem.stats import allocator_statistics, session_cost
from tlsmem.stats.allocator_statistics import LIVE_FIELDS
from tlsmem.stats.missing import Missing
from tlsmem.stats.repeats import ASSUMED_SPREAD
from tlsmem.stats.rss_line import rss_quantity
from tlsmem.stats.series import Series
from tlsmem.stats.session_cost import KIB, PhaseQuantity, quantity_at_end
from tlsmem.store.record import Phase, Record

LEAST_SHARE = 0.5  # of the excess
TABLE_OWNERS = ("client_context", "server_context", "harness")  # fields of a phase's heap
LARGE_BLOCKS = "hblkhd_bytes"  # of glibc: blocks that are a mapping each
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


class Growth(NamedTuple):
    """What a part of memory adds in a nonlinear step, in bytes per pair: a table all of it, other parts what exceeds
    the usual step."""

    part: str  # one of TABLE_OWNERS, or of the keys of PARTS
    bytes_per_pair: float
    pairs: int  # of the step

    @property
    def is_table(self) -> bool:
        """Whether it is a table in the live heap of a context or of the process."""
        return self.part in TABLE_OWNERS


def large_block_bytes(phase: Phase) -> int:
    """Return the bytes of glibc's blocks that are a mapping each; 0 without allocator statistics."""
    return phase.allocator["glibc"][LARGE_BLOCKS] if phase.allocator else 0


def has_large_blocks(phase: Phase) -> bool:
    """Return whether the phase has this figure."""
    return LARGE_BLOCKS in (phase.allocator or {}).get("glibc", {})


def has_live_bytes(phase: Phase) -> bool:
    """Return whether all allocators of the process have a figure of live memory."""
    return allocator_statistics.unknown_reason(LIVE_FIELDS, phase) is None


class Part(NamedTuple):
    """A part of resident memory, and whether a phase's figures tell it apart."""

    measure: PhaseQuantity
    is_known: Callable[[Phase], bool] = lambda phase: True


PARTS = {  # in the order in which they are tried
    "large_blocks": Part(large_block_bytes, has_large_blocks),
    "live": Part(allocator_statistics.live_bytes, has_live_bytes),
    "free": Part(lambda phase: phase.rss_anon_bytes - allocator_statistics.live_bytes(phase), has_live_bytes),
    "file": Part(lambda phase: phase.rss_file_bytes),
    "shmem": Part(lambda phase: phase.rss_shmem_bytes),
    "anonymous": Part(lambda phase: phase.rss_anon_bytes),
}


def find_growth(series: Series, bend: Bend, phase: str) -> Growth | None:
    """Return what grew, as far as the meters tell at the end of the phase; None where that is not known."""
    return find_grown_table(series.runs("heap"), bend, phase) or find_grown_part(series.full("rss"), bend, phase)


def find_grown_table(runs: list[Record], bend: Bend, phase: str) -> Growth | None:
    """Return the table that grew, by the heap runs; None where none did, or they lack an N of the step.

    What is live of a context or of the process is the same for any N, unless a table of theirs grew."""
    if not {bend.step.low, bend.step.high} <= {run.sessions for run in runs}:
        return None
    for owner in TABLE_OWNERS:
        added = increment(runs, quantity_at_end(partial(live_bytes, owner=owner), phase), bend.step)
        if added and added / bend.excess >= LEAST_SHARE:
            return Growth(owner, added, bend.step.pairs)
    return None


def live_bytes(phase: Phase, owner: str) -> int:
    """Return the live heap of a field of the phase's heap."""
    return session_cost.heap_of(phase, owner).live_bytes


def find_grown_part(runs: list[Record], bend: Bend, phase: str) -> Growth | None:
    """Return the part of RSS that grew, by the RSS runs of the bent line; None where no part has most of it."""
    for name, part in known_parts(runs, phase).items():
        quantity = quantity_at_end(part.measure, phase)
        excess = increment(runs, quantity, bend.step) - increment(runs, quantity, bend.usual)
        if excess / bend.excess >= LEAST_SHARE:
            return Growth(name, excess, bend.step.pairs)
    return None


def known_parts(runs: list[Record], phase: str) -> Mapping[str, Part]:
    """Return the parts that all runs tell apart at the end of the phase."""
    ends = [session_cost.phase_of(run, phase) for run in runs]
    return {name: part for name, part in PARTS.items() if all(map(part.is_known, ends))}


def increment(runs: list[Record], quantity: session_cost.Quantity, step: SessionStep) -> float:
    """Return the bytes per pair that the quantity adds in the step; both its N must have runs."""
    points = session_cost.medians(runs, quantity)
    return (points[step.high] - points[step.low]) / step.pairs
