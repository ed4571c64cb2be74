"""The memory model of a connection in its process, memory = fixed + N E + W H, fitted to recorded RSS.

E is the slope of RSS over connections in the state of the plan, with few handshakes at a time. E + H is the slope of
peak RSS with all handshakes concurrent, in the same configuration. A term that nobody recorded is None: none is derived
from live heap."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from tlsmem.config.suite_variants import LOW_MEMORY
from tlsmem.plan.configuration import Configuration
from tlsmem.schema.roles import ROLES
from tlsmem.schema.run_origins import MachinePath
from tlsmem.stats import memory_model, session_cost
from tlsmem.stats.configured_stack import AT_REST, IDLE, IN_USE
from tlsmem.stats.missing import keep_present, map_present
from tlsmem.stats.runtime_heap import bytes_per_session, heap_of_role
from tlsmem.stats.selection import Selection, select
from tlsmem.stats.series import Series, Setting
from tlsmem.store.record import Record

WHOLE = 16_384  # bytes of data in the largest record
SYSTEM = "system"
MEASURED = "measured"
SUMMED = "sum of a server and a client session, each measured in a process of its own"
BY_RATIO = "estimate from figures measured under glibc malloc and peak RSS under the two allocators"
LIVE = "measured in live runs of the server, whose own memory is in it"
RSS_CLOSED = session_cost.rss_at_end("closed")


class ModelRequest(NamedTuple):
    """Of what a model is wanted. `role`: client, server or both."""

    stack: str
    suite: str
    allocator: str
    role: str
    configuration: Configuration


class MachineIdentity(NamedTuple):
    """What figures of one machine have in common; its kernel may be another build."""

    cpu: str
    cpus: int
    path: MachinePath | None

    @staticmethod
    def from_record(run: Record) -> "MachineIdentity":
        return MachineIdentity(run.machine.cpu, run.machine.cpus, run.machine.path)


@dataclass(frozen=True)
class ConnectionModel:
    """Bytes of a connection in its process; a connection of role `both` has a client and a server session."""

    stack: str
    suite: str
    allocator: str
    role: str  # client, server or both
    how: str
    fixed: float
    connection: float  # E
    handshake: float | None  # H; None: not recorded
    widest: int  # connections up to which every term was measured
    configuration: Configuration
    machine: MachineIdentity
    has_record_buffer: bool = False  # a session in use has room for a full record; False: nothing recorded shows it
    handshake_retention: float = 1.0  # share of H that stays when handshakes are complete
    closed_retention: float = 1.0  # share of E + H that stays when sessions are freed
    origin: Path | None = None
    left_out: tuple[str, ...] = ()  # sentences: runs of the recording that cannot be compared with these
    live: float | None = None  # live heap of a connection in this state; None: not recorded
    in_use: float | None = None  # RSS in use of a connection; None: not recorded
    narrowest: int = 0  # connections from which on every term was measured

    @property
    def peak(self) -> float:
        return self.connection + (self.handshake or 0.0)

    @property
    def kept_handshake(self) -> float:
        """What a concurrent handshake leaves in the process; 0 where it is not recorded."""
        return (self.handshake or 0.0) * self.handshake_retention

    def record(self, assumed: float) -> tuple[float, str | None]:
        """Return what a full record in flight adds, at most; with a note where that is assumed."""
        if self.has_record_buffer and self.in_use is not None:
            return max(0.0, self.in_use - self.connection), None
        released = self.configuration.options == LOW_MEMORY
        why = "a session releases its own between records" if released else "no recording shows one in the session"
        return assumed, f"assumed: one buffer for a full record, because {why}"


@dataclass(frozen=True)
class Slope:
    """A line of RSS over connections: bytes per connection, bytes without any, connections of the largest run and of
    the smallest."""

    each: float
    fixed: float
    widest: int
    narrowest: int


def fit_slope(series: Series, quantity: Callable[[Record], int]) -> Slope | None:
    """Return the line through the medians of repeats; None without two numbers of sessions."""
    points = session_cost.medians(series.full("rss"), quantity)
    line = session_cost.fit_line(points) if points else None
    return Slope(2 * line.slope, line.intercept, max(points) // 2, min(points) // 2) if line else None


def slope_at(series: Series, phase: str) -> Slope | None:
    """Return the line of RSS at the end of the phase; None where the runs have no such phase or no line."""
    if not all(phase in run.phase_names for run in series.full("rss")):
        return None
    return fit_slope(series, session_cost.rss_at_end(phase))


def find_settings(selection: Selection, allocator: str, roles: str, data: str = "short") -> list[Setting]:
    """Return the settings of one stack in the controlled environment on all CPUs, the fewest handshakes first."""
    wanted = (roles, "lab", "all", None, data)
    found = [one for one in selection.settings if (one.roles, one.env, one.cpu, one.peer, one.data) == wanted]
    return [one for one in found if one.allocator.split(" ")[0] == allocator]


def find_series(
    selection: Selection, allocator: str, role: str, data: str = "short", narrow: bool = False
) -> Series | None:
    """Return the runs in which a process has the role: with few handshakes at a time, or with all concurrent."""
    for roles in ("together",) if role == "both" else ("split", f"keep-{role}"):
        for one in find_settings(selection, allocator, roles, data):
            if (one.window != "all") == narrow:
                return selection.series(selection.stacks[0], one, one.processes[role] if role in ROLES else "both")
    return None


def select_runs(runs: Sequence[Record], stack: str, *suites: str) -> Selection | None:
    """Return the comparable measured runs of memory of the stack in the suites; None where there are none."""
    found = [one for one in runs if (one.scenario, one.status) == ("memory", "measured") and one.suite in suites]
    return select(found, [stack], list(dict.fromkeys(one.suite for one in found))) if found else None


def fit_configuration(runs: Sequence[Record], wanted: ModelRequest) -> ConnectionModel | None:
    """Return the model of the role's process in the configuration; None where it was not recorded."""
    stack, suite, allocator, role, configuration = wanted
    selection = select_runs(runs, stack, configuration.variant(suite), configuration.full_variant(suite))
    narrow = find_series(selection, allocator, role, "full", narrow=True) if selection else None
    waiting = slope_at(narrow, configuration.phase) if narrow else None
    if not selection or not narrow or not waiting:
        return None
    in_use, closed = slope_at(narrow, IN_USE), fit_slope(narrow, RSS_CLOSED)
    known = ConnectionModel(
        stack,
        suite,
        allocator,
        role,
        MEASURED,
        waiting.fixed,
        waiting.each,
        None,
        waiting.widest,
        configuration,
        MachineIdentity.from_record(selection.records[-1]),
        narrowest=waiting.narrowest,
        live=live_heap_at(narrow, role, configuration.phase),
        in_use=in_use.each if in_use else None,
        has_record_buffer=releases_record_buffer(narrow, role),
        left_out=selection.left_out,
        closed_retention=share(closed.each, waiting.each) if closed else 1.0,
    )
    return add_handshakes(known, selection)


def add_handshakes(known: ConnectionModel, selection: Selection) -> ConnectionModel:
    """Return the model with H, and with what stays of it, from runs with all handshakes concurrent."""
    wide = [find_series(selection, known.allocator, known.role, data) for data in ("full", "short")]
    for series in filter(None, wide):
        peak = fit_slope(series, memory_model.handshake_peak_rss)
        after = slope_at(series, known.configuration.phase) or slope_at(series, AT_REST)
        closed = fit_slope(series, RSS_CLOSED)
        if peak and after and closed:
            beyond = max(0.0, peak.each - known.connection)
            return replace(
                known,
                handshake=beyond,
                handshake_retention=share(after.each - known.connection, beyond),
                closed_retention=share(closed.each, max(peak.each, after.each)),
            )
    return known


def share(part: float, whole: float) -> float:
    """Return a share between 0 and 1; 1 of nothing."""
    return min(1.0, max(0.0, part / whole)) if whole > 0 else 1.0


def live_heap_at(series: Series, role: str, phase: str) -> float | None:
    """Return the live heap of a connection at the end of the phase; None where it was not metered."""
    roles = ROLES if role == "both" else (role,)
    figures = [heap_of_role(series, one).live(phase) for one in roles]
    known = keep_present(map_present(bytes_per_session, one) for one in figures)
    return sum(known) if len(known) == len(roles) else None


def releases_record_buffer(series: Series, role: str) -> bool:
    """Return whether a session in use has room for a full record: it gave back that much when it was asked to."""
    before, after = (live_heap_at(series, role, phase) for phase in (IN_USE, IDLE))
    return bool(before and after and before - after >= WHOLE)
