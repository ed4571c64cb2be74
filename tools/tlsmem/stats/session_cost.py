"""What a session costs: exact quotients of live heap, lines through RSS, the C10K figure.

Records come in measured, of one stack, suite and setting. Sizes are bytes unless a name says otherwise."""

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tlsmem.schema.harness_output import Process
from tlsmem.schema.records import Phase, Record

KIB = 1024
MIB = 1024 * KIB
C10K = 10_000  # sessions

Quantity = Callable[[Record], int]


@dataclass(frozen=True)
class Quotient:
    """A difference of two counts over a number of sessions, kept in whole numbers."""

    amount: int
    sessions: int

    @property
    def integer_part(self) -> int:
        """Towards zero, so that the remainder has the sign of the amount."""
        return abs(self.amount) // self.sessions * (1 if self.amount >= 0 else -1)

    @property
    def remainder(self) -> int:
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
    """Of one process; it may be left out where the run had one only. ValueError with a sentence else: the figures of
    two processes are never mixed."""
    if process is not None:
        return record.of_process(process).phases
    if record.has_phases_apart:
        there = dict.fromkeys(phase.process for phase in record.phases)
        raise ValueError(f"{record.describe()} had processes of its own for {' and '.join(there)}: say which")
    return record.phases


def phase_of(record: Record, name: str, process: Process | None = None) -> Phase:
    """ValueError with a sentence when the run did not reach the phase, or as phases_of has it."""
    for phase in phases_of(record, process):
        if phase.phase == name:
            return phase
    raise ValueError(f"{record.describe()} has no phase `{name}`")


def heap_phases(small: Record, large: Record, name: str, role: str) -> tuple:
    return tuple(getattr(phase_of(record, name).heap, role) for record in (small, large))


def cost_per_session(small: Record, large: Record, before: int, after: int) -> Quotient:
    """N sessions are N/2 client sessions, N/2 server sessions, N/2 pairs: one divisor for every role."""
    return Quotient(after - before, large.sessions // 2 - small.sessions // 2)


def live_cost(small: Record, large: Record, role: str, phase: str) -> HeapCost:
    """What the end of the phase keeps."""
    before, after = heap_phases(small, large, phase, role)
    live_bytes = cost_per_session(small, large, before.live_bytes, after.live_bytes)
    return HeapCost(phase, live_bytes, cost_per_session(small, large, before.live_blocks, after.live_blocks))


def phase_peak_cost(small: Record, large: Record, role: str, phase: str) -> HeapCost:
    """The most that was live inside a phase, with the blocks live at that moment."""
    before, after = heap_phases(small, large, phase, role)
    peak_bytes = cost_per_session(small, large, before.peak_bytes, after.peak_bytes)
    return HeapCost(phase, peak_bytes, cost_per_session(small, large, before.peak_blocks, after.peak_blocks))


def peak_cost(small: Record, large: Record, role: str) -> HeapCost:
    """The phase that asks the most per session, the first of equals.

    Not the phase with the largest peak: at few sessions that may be one in which a single step passes much memory
    through its hands, which is paid once however many sessions there are."""
    costs = [phase_peak_cost(small, large, role, phase.phase) for phase in phases_of(large)]
    return max(costs, key=lambda cost: cost.bytes.amount)


def peak_rss(record: Record) -> int:
    """Peak of the run."""
    return max(phase.peak_rss_bytes for phase in phases_of(record))


def rss_at_end(phase: str) -> Quantity:
    return lambda record: phase_of(record, phase).rss_bytes


def values_by_sessions(runs: Iterable[Record], quantity: Quantity) -> dict[int, list[int]]:
    """Sessions to the values of all repeats, by increasing sessions."""
    values: dict[int, list[int]] = {}
    for run in sorted(runs, key=lambda run: run.sessions):
        values.setdefault(run.sessions, []).append(quantity(run))
    return values


def medians(runs: Iterable[Record], quantity: Quantity) -> dict[int, float]:
    """Sessions to the median over repeats, by increasing sessions."""
    return {sessions: statistics.median(values) for sessions, values in values_by_sessions(runs, quantity).items()}


@dataclass(frozen=True)
class Line:
    """bytes = intercept + slope x sessions. With two points only it is a quotient: nothing says that it is straight."""

    slope: float
    intercept: float
    residual: float  # the largest, in bytes, with its sign
    residual_share: float  # the same, as a share of the value it is off
    increments: tuple[float, ...]  # bytes per session between neighbouring numbers of sessions
    points: int

    @property
    def is_quotient(self) -> bool:
        return self.points < 3

    def value_at(self, sessions: int) -> float:
        return self.intercept + self.slope * sessions


def fit_line(points: dict[int, float]) -> Line | None:
    """Least squares; None for fewer than two numbers of sessions, since a total divided by N is not a slope."""
    if len(points) < 2:
        return None
    slope, intercept = statistics.linear_regression(list(points), list(points.values()))
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
    """(largest - smallest) / median; None for fewer than two values, or around nought."""
    if len(values) < 2 or not statistics.median(values):
        return None
    return (max(values) - min(values)) / statistics.median(values)


def slope_spread(runs: Sequence[Record], quantity: Quantity) -> float | None:
    """How far the slopes of the single repeats lie apart, over the repeats that have every number of sessions."""
    everything = {run.sessions for run in runs}
    slopes = []
    for repeat in sorted({run.repeat for run in runs}):
        points = medians((run for run in runs if run.repeat == repeat), quantity)
        fit = fit_line(points) if set(points) == everything else None
        slopes += [fit.slope] if fit else []
    return relative_range(slopes)


def c10k(points: dict[int, float]) -> tuple[float, bool] | None:
    """Peak RSS at 10,000 sessions, and whether it was measured (else it is the line's); None when neither is there."""
    if C10K in points:
        return points[C10K], True
    fit = fit_line(points)
    return (fit.value_at(C10K), False) if fit else None


def above_contexts(
    runs: Sequence[Record], quantity: Callable[[Phase], int], origin: Callable[[Phase], int]
) -> dict[str, float]:
    """Bytes per session by phase, beyond the origin's value at the end of `contexts`; the median of repeats of one N.

    Of one N alone, so not a slope: it is for the shape of a run."""
    values: dict[str, list[float]] = {}
    for run in runs:
        base = origin(phase_of(run, "contexts"))
        for phase in phases_of(run)[1:]:
            values.setdefault(phase.phase, []).append((quantity(phase) - base) / run.sessions)
    return {phase: statistics.median(found) for phase, found in values.items()}
