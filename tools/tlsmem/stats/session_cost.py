"""What a session costs: exact quotients of live heap, lines through RSS, the C10K figure; exact
slopes, whose sums close without rounding.

All records must be measured runs of one stack in one setting. Sizes are bytes unless a name says otherwise."""

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from tlsmem.schema.roles import Process, Role
from tlsmem.store.record import HeapCounts, Phase, Record

ESTABLISHED = "established"
PhaseQuantity = Callable[[Phase], int]
DIGITS = 12  # of a slope that count
KIB = 1024
MIB = 1024 * KIB
C10K = 10_000  # sessions

Quantity = Callable[[Record], int]


@dataclass(frozen=True)
class Quotient:
    """A difference of two counts over a number of sessions, in whole numbers, so that it is exact."""

    amount: int
    sessions: int

    @property
    def integer_part(self) -> int:
        """The quotient, rounded towards zero, so that the remainder has the sign of the amount."""
        return abs(self.amount) // self.sessions * (1 if self.amount >= 0 else -1)

    @property
    def remainder(self) -> int:
        """What is left of the amount; 0 where all sessions are alike."""
        return self.amount - self.integer_part * self.sessions

    def __str__(self) -> str:
        if not self.remainder:
            return f"{self.integer_part:,}"
        sign = "+" if self.remainder > 0 else "-"
        return f"{self.integer_part:,} {sign} {abs(self.remainder):,}/{self.sessions:,}"


@dataclass(frozen=True)
class HeapCost:
    """Live heap that one more session of a role (of `total`: one more pair) adds, in a phase."""

    phase: str
    bytes: Quotient
    blocks: Quotient


def phases_of(record: Record, process: Process | None = None) -> list[Phase]:
    """Return the phases of one process of the run; the process may be left out where the run had only one.

    Raises ValueError with a sentence when the run had no such process, or had two and none is named: the figures of two
    processes are never mixed."""
    if process is not None:
        return record.select_process(process).phases
    if record.has_phases_apart:
        there = dict.fromkeys(phase.process for phase in record.phases)
        raise ValueError(f"{record.describe()} has a process for each of {' and '.join(there)}; name one of them")
    return record.phases


def phase_of(record: Record, name: str, process: Process | None = None) -> Phase:
    """Return the phase of this name. Raises ValueError when the run did not reach it, and as phases_of does."""
    run = record.select_process(process) if process else record
    phases = phases_of(run)
    if name not in run.phase_names:
        raise ValueError(f"{record.describe()} has no phase `{name}`")
    return phases[run.phase_names.index(name)]


def heap_of(phase: Phase, role: str) -> HeapCounts:
    """Return the counts of a role, or another field of Heaps such as `total`, of a phase under the heap meter."""
    counts: HeapCounts = getattr(phase.heap, role)
    return counts


def heap_phases(small: Record, large: Record, name: str, role: str) -> tuple[HeapCounts, HeapCounts]:
    """Return the role's counts of a phase in both runs. Raises ValueError as phase_of does."""
    return heap_of(phase_of(small, name), role), heap_of(phase_of(large, name), role)


def cost_per_session(small: Record, large: Record, before: int, after: int) -> Quotient:
    """Return the difference of two counts, of the small and the large run, per session of a role, or per pair.

    N sessions are N/2 client sessions, N/2 server sessions and N/2 pairs, so all have the same divisor."""
    return Quotient(after - before, large.sessions // 2 - small.sessions // 2)


def live_cost(small: Record, large: Record, role: str, phase: str) -> HeapCost:
    """Return what one more session of the role has live at the end of the phase."""
    before, after = heap_phases(small, large, phase, role)
    live_bytes = cost_per_session(small, large, before.live_bytes, after.live_bytes)
    return HeapCost(phase, live_bytes, cost_per_session(small, large, before.live_blocks, after.live_blocks))


def phase_peak_cost(small: Record, large: Record, role: str, phase: str) -> HeapCost:
    """Return what one more session adds to the role's peak of live bytes in the phase, and the blocks at that peak."""
    before, after = heap_phases(small, large, phase, role)
    peak_bytes = cost_per_session(small, large, before.peak_bytes, after.peak_bytes)
    return HeapCost(phase, peak_bytes, cost_per_session(small, large, before.peak_blocks, after.peak_blocks))


def peak_cost(small: Record, large: Record, role: str) -> HeapCost:
    """Return the cost at the peak of the phase that adds the most bytes per session, the first of equals.

    That need not be the phase with the largest peak: with few sessions, one step may need much temporary memory, which
    is paid once however many sessions there are."""
    costs = [phase_peak_cost(small, large, role, phase.phase) for phase in phases_of(large)]
    return max(costs, key=lambda cost: cost.bytes.amount)


@dataclass(frozen=True)
class SessionPeak:
    """Peak of live heap in a phase: of one session alone, and what one more of many adds to that of all, in bytes."""

    phase: str
    alone: int
    one_more: Quotient | None  # None in a run of one pair


def session_peaks(record: Record, role: Role) -> list[SessionPeak]:
    """Return the peaks of a session of the role above `contexts`, phase by phase, from one sites run.

    The session is that of the chosen pair; one more of many is what each of the others adds, so it is a slope from one
    pair to all. Empty where the record has no call stacks at peaks. Raises ValueError as phases_of does."""
    own: Process = role if record.has_phases_apart else "both"
    phases = [phase for phase in phases_of(record, own) if phase.sites and phase.sites.peak_bytes]
    if not phases:
        return []
    before, others = heap_of(phases[0], role).live_bytes, record.sessions // 2 - 1

    def peak(phase: Phase) -> SessionPeak:
        assert phase.sites and phase.sites.peak_bytes
        alone: int = getattr(phase.sites.peak_bytes, role)
        more = heap_of(phase, role).peak_bytes - before - alone
        return SessionPeak(phase.phase, alone, Quotient(more, others) if others else None)

    return [peak(phase) for phase in phases if phase.phase != phases[0].phase]


def allocations(small: Record, large: Record, role: str, since: str, until: str) -> Quotient:
    """Return how many blocks one more session of the role allocates between the ends of two phases, freed or not."""

    def count(record: Record) -> int:
        begin, end = (heap_of(phase_of(record, name), role).cumulative_blocks for name in (since, until))
        return end - begin

    return cost_per_session(small, large, count(small), count(large))


def peak_rss(record: Record) -> int:
    """Return the peak RSS of the run's process, in bytes. Raises ValueError as phases_of does."""
    return max(phase.peak_rss_bytes for phase in phases_of(record))


def rss_at_end(phase: str) -> Quantity:
    """Return the quantity RSS at the end of the phase, in bytes."""
    return lambda record: phase_of(record, phase).rss_bytes


def values_by_sessions(runs: Iterable[Record], quantity: Quantity) -> dict[int, list[int]]:
    """Return the values of all repeats by number of sessions, which increases."""
    values: dict[int, list[int]] = {}
    for run in sorted(runs, key=lambda run: run.sessions):
        values.setdefault(run.sessions, []).append(quantity(run))
    return values


def medians(runs: Iterable[Record], quantity: Quantity) -> dict[int, float]:
    """Return the median over repeats by number of sessions, which increases."""
    return {sessions: statistics.median(values) for sessions, values in values_by_sessions(runs, quantity).items()}


@dataclass(frozen=True)
class Line:
    """A fit of bytes = intercept + slope x sessions. Of two points it is a quotient: it need not be straight."""

    slope: float
    intercept: float
    residual: float  # the largest, in bytes, with its sign
    residual_share: float  # the same, as a share of the value it is off
    increments: tuple[float, ...]  # bytes per session between neighbouring numbers of sessions
    points: int

    @property
    def is_quotient(self) -> bool:
        """Whether two points only make the line."""
        return self.points < 3

    def value_at(self, sessions: int) -> float:
        """Return the bytes of the line at this number of sessions."""
        return self.intercept + self.slope * sessions


def fit_line(points: dict[int, float]) -> Line | None:
    """Return the least-squares line through bytes by number of sessions.

    None for fewer than two numbers of sessions, since a total divided by N is not a slope."""
    if len(points) < 2:
        return None
    # Python 3.12 adds up otherwise, so the last digits of a slope differ: without them, all versions print the same.
    slope = float(f"{statistics.linear_regression(list(points), list(points.values())).slope:.{DIGITS}g}")
    intercept = statistics.fmean(points.values()) - slope * statistics.fmean(points)
    residuals = {sessions: value - (intercept + slope * sessions) for sessions, value in points.items()}
    worst = max(residuals, key=lambda sessions: abs(residuals[sessions]))
    return Line(
        slope=slope,
        intercept=intercept,
        residual=residuals[worst],
        residual_share=residuals[worst] / points[worst] if points[worst] else 0.0,
        increments=tuple((high - low) / (m - n) for (n, low), (m, high) in pairwise(sorted(points.items()))),
        points=len(points),
    )


def relative_range(values: Sequence[float]) -> float | None:
    """Return (largest - smallest) / median; None for fewer than two values, or where the median is 0."""
    if len(values) < 2 or not statistics.median(values):
        return None
    return (max(values) - min(values)) / statistics.median(values)


def slope_spread(runs: Sequence[Record], quantity: Quantity) -> float | None:
    """Return the relative range of the repeats' slopes, over the repeats that have every number of sessions.

    None as in relative_range."""
    everything = {run.sessions for run in runs}
    slopes = []
    for repeat in sorted({run.repeat for run in runs}):
        points = medians((run for run in runs if run.repeat == repeat), quantity)
        fit = fit_line(points) if set(points) == everything else None
        slopes += [fit.slope] if fit else []
    return relative_range(slopes)


def c10k(points: dict[int, float]) -> tuple[float, bool] | None:
    """Return the bytes at 10,000 sessions, and whether they were measured (else they are the line's).

    `points` has bytes by number of sessions; None where it has neither 10,000 sessions nor a line."""
    if C10K in points:
        return points[C10K], True
    fit = fit_line(points)
    return (fit.value_at(C10K), False) if fit else None


def above_contexts(
    runs: Sequence[Record], quantity: Callable[[Phase], int], origin: Callable[[Phase], int]
) -> dict[str, float]:
    """Return bytes per session by phase, above the origin's value at the end of `contexts`: the median of the repeats.

    All runs have the same N, so these are no slopes; they show the shape of a run."""
    values: dict[str, list[float]] = {}
    for run in runs:
        base = origin(phase_of(run, "contexts"))
        for phase in phases_of(run)[1:]:
            values.setdefault(phase.phase, []).append((quantity(phase) - base) / run.sessions)
    return {phase: statistics.median(found) for phase, found in values.items()}


def slope_per_pair(runs: Iterable[Record], quantity: Quantity) -> Fraction | None:
    """The least-squares slope through the means over repeats, exactly; None for fewer than two numbers of sessions.

    Means, not medians: only of means the slope of a sum is the sum of the slopes."""
    points = {
        Fraction(n, 2): Fraction(sum(values), len(values)) for n, values in values_by_sessions(runs, quantity).items()
    }
    if len(points) < 2:
        return None
    middle = sum(points, Fraction()) / len(points)
    moment = sum(((pairs - middle) * value for pairs, value in points.items()), Fraction())
    return moment / sum(((pairs - middle) * (pairs - middle) for pairs in points), Fraction())


def quantity_at_end(measure: PhaseQuantity, phase: str = ESTABLISHED) -> Quantity:
    """Return the quantity of a run that `measure` returns for its phase of this name, in the unit of `measure`."""
    return lambda record: measure(phase_of(record, phase))
