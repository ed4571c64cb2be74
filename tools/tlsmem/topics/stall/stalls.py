"""What a session holds whose peer stopped on the way: bytes beyond those for a peer that is connected and silent.

Live heap is the heap meter's. Of a stack with a runtime of its own it is what that says after a collection, with the
goroutines' stacks, of the whole process: the peers are bytes, so all that grows belongs to the sessions that wait."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from tlsmem.config.stall_points import stall_points
from tlsmem.schema.harness_output import Meter, Role
from tlsmem.stats.allocator_statistics import have_runtime_statistics, runtime_live_bytes, unmetered_reason
from tlsmem.stats.comparability import machine_identity, sort_by_start
from tlsmem.stats.live_heap import live_bytes
from tlsmem.stats.missing import Missing, map_present, replace_missing
from tlsmem.stats.process_tables import is_table, remaining_heap
from tlsmem.stats.runtime_parts import STACKS, runtime_statistics
from tlsmem.stats.session_cost import heap_of, phase_of
from tlsmem.store.record import Record

SCENARIO = "stall"
SILENT_POINTS = ("silent", "silent-server")
AMPLIFICATION_WARNING = 100  # bytes held for each byte received, above which a report warns


@dataclass(frozen=True)
class Stall:
    """The runs of one stack and suite at one point, by meter: of each the one with the most sessions."""

    stack: str
    suite: str
    point: str
    runs: dict[Meter, Record] = field(hash=False, compare=False)

    @property
    def refusal(self) -> str | None:
        """Why the stack is not at this point; None where it is."""
        first = next(iter(self.runs.values()))
        return None if any(run.status == "measured" for run in self.runs.values()) else first.reason

    def measured(self, *meters: Meter) -> Record | Missing:
        """Return the run under the first of the meters that has one."""
        found = (self.runs[meter] for meter in meters if meter in self.runs)
        run = next((one for one in found if one.status == "measured"), None)
        rss = [self.runs["rss"]] if "rss" in self.runs else []
        return run or Missing(self.refusal or unmetered_reason(rss) or f"no {meters[0]} run")

    @property
    def runtime_run(self) -> Record | None:
        """The RSS run of a stack whose runtime says what is live, which no heap meter sees; None of other stacks."""
        run = self.runs.get("rss")
        return run if run and have_runtime_statistics([run]) else None

    @property
    def role(self) -> Role:
        """Whose sessions wait."""
        return stall_points()[self.point].waits

    @property
    def received_bytes(self) -> Fraction | Missing:
        """That a session was sent until its peer stopped."""
        return map_present(
            lambda run: Fraction(phase_of(run, "stalled").received_bytes or 0, pairs(run)),
            self.measured("heap", "sites", "rss"),
        )

    def live_bytes(self, before: str, after: str) -> Fraction | Missing:
        """Bytes of live heap that a session gained from the end of one phase to the end of another."""
        if run := self.runtime_run:
            first, last = (runtime_live_bytes(phase_of(run, name)) for name in (before, after))
            return Fraction(last - first, pairs(run))
        return map_present(
            lambda run: Fraction(heap_growth(run, self.role, before, after), pairs(run)), self.measured("heap", "sites")
        )

    @property
    def stack_bytes(self) -> Fraction | Missing:
        """What of a session's live bytes at the point is its goroutine's stack."""
        run = self.runtime_run
        if run is None:
            return Missing("its sessions have no stacks of their own")
        first, last = (runtime_statistics(phase_of(run, name))[STACKS] for name in ("contexts", "stalled"))
        return Fraction(last - first, pairs(run))

    @property
    def silent_bytes(self) -> Fraction | Missing:
        """Live heap of a session whose peer is connected and has sent nothing, without tables of the process."""
        return self.live_bytes("contexts", "connected") - self.table_bytes

    @property
    def pinned_bytes(self) -> Fraction | Missing:
        """Live heap beyond that, once the peer has stopped at the point."""
        return self.live_bytes("connected", "stalled")

    @property
    def call_peak_bytes(self) -> Fraction | Missing:
        """The most live heap of a session inside a call, beyond a silent peer: what it is given back before the call
        returns counts too. Of sessions that stop one after the other the last has the highest peak, if they hold
        anything; else the first."""
        if self.runtime_run:
            return Missing("its runtime says what is live between calls only")

        def peak(run: Record) -> int:
            return heap_of(phase_of(run, "stalled"), self.role).peak_bytes - live_bytes(run, self.role, "connected")

        return last_of_peak(peak, self.measured("heap", "sites"), self.pinned_bytes)

    @property
    def call_peak_rss_bytes(self) -> Fraction | Missing:
        """The same of the process's resident memory, with that of real peers."""

        def peak(run: Record) -> int:
            return phase_of(run, "stalled").peak_rss_bytes - phase_of(run, "connected").rss_bytes

        return last_of_peak(peak, self.measured("rss"), self.pinned_rss_bytes)

    @property
    def total_bytes(self) -> Fraction | Missing:
        """Live heap of a session at the point."""
        return self.live_bytes("contexts", "stalled") - self.table_bytes

    @property
    def kept_bytes(self) -> Fraction | Missing:
        """Live heap that closing the session does not give back, without tables of the process."""
        return self.live_bytes("contexts", "closed") - self.table_bytes

    @property
    def table_bytes(self) -> Fraction:
        """The share of a session in what is live after all are closed, where that is a table that doubled."""

        def share(run: Record) -> Fraction:
            left = remaining_heap(run, self.role)
            return Fraction(left.bytes, pairs(run)) if is_table(left, pairs(run)) else Fraction(0)

        return replace_missing(map_present(share, self.measured("heap", "sites")), Fraction(0))

    @property
    def pinned_rss_bytes(self) -> Fraction | Missing:
        """RSS beyond that for silent peers."""

        def growth(run: Record) -> Fraction:
            return Fraction(phase_of(run, "stalled").rss_bytes - phase_of(run, "connected").rss_bytes, pairs(run))

        return map_present(growth, self.measured("rss"))

    @property
    def amplification(self) -> Fraction | Missing:
        """Bytes held beyond a silent peer, for each byte received."""
        received = map_present(lambda size: size or Missing("nothing was sent"), self.received_bytes)
        return self.pinned_bytes / received


def last_of_peak(
    peak: Callable[[Record], int], run: Record | Missing, pinned: Fraction | Missing
) -> Fraction | Missing:
    """Return what the last session adds to the peak of a run, whose earlier sessions pin so much each."""
    return map_present(lambda run, pinned: peak(run) - (pairs(run) - 1) * max(pinned, Fraction(0)), run, pinned)


def pairs(run: Record) -> int:
    """Return how many sessions wait: half, for the peers that they wait for count as the others."""
    return run.sessions // 2


def heap_growth(run: Record, role: Role, before: str, after: str) -> int:
    """Return the bytes of live heap that a role gained between the ends of two phases."""
    return live_bytes(run, role, after) - live_bytes(run, role, before)


def find_stalls(records: Iterable[Record]) -> list[Stall]:
    """Return the stalls of a recording: by point as the scenario lists them, then as they were recorded."""
    found: dict[tuple[str, str, str], dict[Meter, Record]] = {}
    for run in sort_by_start(one for one in records if one.scenario == SCENARIO and one.status != "failed"):
        runs = found.setdefault((point_of(run), run.stack, run.suite), {})
        if run.meter not in runs or run.sessions >= runs[run.meter].sessions:
            runs[run.meter] = run
    points = list(stall_points())
    ordered = sorted(found.items(), key=lambda one: points.index(one[0][0]))
    return [Stall(stack, suite, point, runs) for (point, stack, suite), runs in ordered]


def point_of(run: Record) -> str:
    """Return where the peers of a run stopped."""
    return next(word.partition("=")[2] for word in run.argv if word.startswith("point="))


def place_of(run: Record) -> tuple[str, str, str]:
    """Return the stack, suite and point of a run."""
    return run.stack, run.suite, point_of(run)


def newest_of_each_stack(recordings: Iterable[Sequence[Record]]) -> list[Record]:
    """Return the scenario's runs of each stack, suite and point in the first of the recordings that has any.

    All are of one machine: that of the first such run. A recording without silent peers, as one of the register of
    advisories, counts only where no other is there."""
    stalled = [[run for run in records if run.scenario == SCENARIO] for records in recordings]
    stalled = [runs for runs in stalled if any(point_of(run) in SILENT_POINTS for run in runs)] or stalled
    machine = next((machine_identity(runs[0].machine) for runs in stalled if runs), None)
    kept: list[Record] = []
    for runs in stalled:
        known = {place_of(run) for run in kept}
        kept += [run for run in runs if place_of(run) not in known and machine_identity(run.machine) == machine]
    return kept
