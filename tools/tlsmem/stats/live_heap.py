"""Live heap by role and phase, as the table `heap` has it: what a session adds, what the process keeps besides, and
how much more the roles have live in two processes than in one.

The three classes have the same interface: `live(phase)`, `peak` and `peak_phase` are each a figure or Missing."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

from tlsmem.base import phase_names
from tlsmem.schema.roles import Process
from tlsmem.stats import allocator_statistics, bootstrap, process_tables, remainders, role_sums, session_cost
from tlsmem.stats.bootstrap import Interval
from tlsmem.stats.missing import Missing, map_present
from tlsmem.stats.remainders import Cause, HeapPair
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Series, SeriesFigures, Setting
from tlsmem.stats.session_cost import HeapCost, Quotient
from tlsmem.store.record import Record

TOTAL = "total"  # beside the roles: a pair, with all that the process holds for it
STAGES = ("sessions", "established", "reply")  # phases of the table; the peak is between the first two
NO_COST_WHEN_WINDOWED = Missing(
    "sessions are made window by window, so this phase has no cost per session; see the memory model"
)
NO_PAYLOAD = Missing("without its peer a session exchanges no payload")
PEAKS_APART = Missing("two processes may peak at different times")


class Remainder(NamedTuple):
    """Why sessions are not all alike, and the interval of the slope, in bytes, where repeats vary."""

    cause: Cause
    interval: Interval | None = None


class HeapFigure(NamedTuple):
    """Bytes and blocks per session; `remainder` where sessions are not all alike."""

    bytes: Quotient
    blocks: Quotient
    remainder: Remainder | None = None


class ProcessFigure(NamedTuple):
    """Bytes and blocks of a process, not of a session: those of the larger run less those of the smaller one."""

    bytes: int
    blocks: int
    sessions: tuple[int, int]  # of the smaller and the larger run


def roles_and_processes(setting: Setting) -> dict[str, Process]:
    """Return the process that holds each role; also of TOTAL where one process holds both ends."""
    return setting.processes | ({TOTAL: "both"} if setting.roles == "together" else {})


def why_no_heap_cost(series: Series) -> str:
    """Return why heap runs give no cost per session: there are none, or at one N only."""
    metered = series.runs("heap")
    if not metered:
        return allocator_statistics.unmetered_reason(series.runs("rss")) or series.reason("heap")
    return f"heap metered only at N = {metered[0].sessions:,}, and a slope needs two"


def why_no_phase_cost(runs: Iterable[Record], setting: Setting, phase: str) -> Missing | None:
    """Why these runs have no cost per session at the end of the phase; None where they have one."""
    if setting.window != "all" and phase_names.is_before_established(phase):
        return NO_COST_WHEN_WINDOWED
    if phase == "reply" and setting.roles.startswith("keep"):
        return NO_PAYLOAD
    if not all(phase in run.phase_names for run in runs):
        return missing_phase(phase)
    return None


def missing_phase(phase: str) -> Missing:
    """Return that runs did not reach the phase."""
    return Missing(f"these runs have no phase `{phase}`")


@dataclass(frozen=True)
class SessionHeap(SeriesFigures):
    """What one more session of the role adds to the live heap; of TOTAL, one more pair."""

    role: str

    @cached_property
    def pair(self) -> HeapPair:
        """The runs that costs are taken from, without process-wide tables; only where `why_none` is None."""
        found = self.series.heap_pair()
        assert found
        return process_tables.remove_tables(found)

    @cached_property
    def why_none(self) -> Missing | None:
        """Why there is no cost in any phase; None when there is one."""
        return None if self.series.heap_pair() else Missing(why_no_heap_cost(self.series))

    def live(self, phase: str) -> HeapFigure | Missing:
        """Return the cost at the end of the phase."""
        if self.why_none is not None:
            return self.why_none
        if (why := why_no_phase_cost(self.pair, self.setting, phase)) is not None:
            return why
        cost = session_cost.live_cost(*self.pair, self.role, phase)
        return HeapFigure(cost.bytes, cost.blocks, self.find_remainder(cost))

    def allocations(self, since: str, until: str) -> Quotient | Missing:
        """Return the blocks that a session allocates between the ends of two phases."""
        if self.why_none is not None:
            return self.why_none
        if (why := why_no_phase_cost(self.pair, self.setting, until)) is not None:
            return why
        return session_cost.allocations(*self.pair, self.role, since, until)

    @cached_property
    def peak_cost(self) -> HeapCost | Missing:
        """The cost at the peak of the phase that asks the most per session."""
        if self.why_none is not None:
            return self.why_none
        if self.setting.window != "all":
            return NO_COST_WHEN_WINDOWED
        return session_cost.peak_cost(*self.pair, self.role)

    @property
    def peak(self) -> HeapFigure | Missing:
        """The same as a figure, with why sessions are not all alike."""

        def explain(cost: HeapCost) -> HeapFigure:
            cause = remainders.find_peak_cause(self.pair, self.role, cost)
            return HeapFigure(cost.bytes, cost.blocks, Remainder(cause) if cause else None)

        return map_present(explain, self.peak_cost)

    @property
    def peak_phase(self) -> str | Missing:
        """The phase of that peak."""
        return map_present(lambda cost: cost.phase, self.peak_cost)

    def find_remainder(self, cost: HeapCost) -> Remainder | None:
        """Return why the cost is not a whole number of bytes and of blocks; None where it is."""
        cause = remainders.find_cause(self.pair, self.role, cost)
        if not cause:
            return None
        quantity = partial(live_bytes, role=self.role, phase=cost.phase)
        values = session_cost.values_by_sessions(self.series.runs("heap"), quantity)
        return Remainder(cause, bootstrap.slope_interval(values))


def live_bytes(run: Record, role: str, phase: str) -> int:
    """Return the role's live bytes at the end of the phase. Raises ValueError when the run did not reach it."""
    return session_cost.heap_of(session_cost.phase_of(run, phase), role).live_bytes


@dataclass(frozen=True)
class ProcessTables(SeriesFigures):
    """What the process keeps besides sessions: process-wide tables that grow with their number."""

    role: str

    @cached_property
    def pair(self) -> HeapPair:
        """The runs that sizes are taken from; only where `exists`."""
        found = self.series.heap_pair()
        assert found
        return found

    @property
    def exists(self) -> bool:
        """Whether the role has such tables."""
        found = self.series.heap_pair()
        return found is not None and self.role in process_tables.find_tables(found)

    @cached_property
    def sessions_alone(self) -> SessionHeap:
        """The heap of sessions, from which the tables were taken away."""
        return SessionHeap(self.series, self.role)

    def live(self, phase: str) -> ProcessFigure | Missing:
        """Return how much the tables grew from the smaller to the larger run, at the end of the phase."""
        if (why := why_no_phase_cost(self.pair, self.setting, phase)) is not None:
            return why
        pairs = (self.pair, self.sessions_alone.pair)
        return self.difference(*(session_cost.live_cost(*two, self.role, phase) for two in pairs))

    @property
    def peak(self) -> ProcessFigure | Missing:
        """The same at the peak of the phase in which sessions have theirs."""

        def add_tables(alone: HeapCost) -> ProcessFigure:
            return self.difference(session_cost.phase_peak_cost(*self.pair, self.role, alone.phase), alone)

        return map_present(add_tables, self.sessions_alone.peak_cost)

    @property
    def peak_phase(self) -> str | Missing:
        """The phase of that peak."""
        return self.sessions_alone.peak_phase

    def difference(self, whole: HeapCost, alone: HeapCost) -> ProcessFigure:
        """Return what is in `whole` and not in `alone`, the cost without tables."""
        few, many = self.pair
        size, blocks = whole.bytes.amount - alone.bytes.amount, whole.blocks.amount - alone.blocks.amount
        return ProcessFigure(size, blocks, (few.sessions, many.sessions))


@dataclass(frozen=True)
class SplitExcess:
    """How much more the roles have live in two processes than in one: nothing when the measurement is sound."""

    selection: Selection
    stack: str
    setting: Setting

    @property
    def exists(self) -> bool:
        """Whether the roles were measured both in two processes and in one."""
        return self.setting.roles == "split" and all(self.extra(phase) for phase in STAGES)

    def extra(self, phase: str) -> tuple[Quotient, Quotient] | None:
        """Return the extra bytes and blocks per pair at the end of the phase; None where one side is not measured."""
        return role_sums.extra_when_split(self.selection, self.stack, self.setting, phase)

    def live(self, phase: str) -> HeapFigure | Missing:
        """Return the extra bytes and blocks per pair at the end of the phase; only where it `exists`."""
        if (why := why_no_phase_cost((), self.setting, phase)) is not None:
            return why
        extra = self.extra(phase)
        return HeapFigure(*extra) if extra else missing_phase(phase)

    @property
    def peak(self) -> Missing:
        """Always missing."""
        return PEAKS_APART

    @property
    def peak_phase(self) -> Missing:
        """Always missing."""
        return PEAKS_APART
