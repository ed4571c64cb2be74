"""What a connection costs its process: memory = fixed + N E + W H, of a server, a client, or both (a proxy).

Measured: E is the slope over N while few shake hands at once, E + H that while all do. Where only the latter was
recorded E is estimated, and the law says so. configured_model.py has the same of connections as servers run them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tlsmem.config.suite_variants import LOW_MEMORY
from tlsmem.plan.configuration import Configuration
from tlsmem.schema.harness_output import Role
from tlsmem.schema.records import Record
from tlsmem.stats import memory_model, session_cost
from tlsmem.stats.selection import Selection, select
from tlsmem.stats.series import Series, Setting

DERIVED_RECORD = "derived: live heap of a session that was used, less E; RSS in use is not recorded"
WHOLE = 16_384  # bytes of data in the largest record
SYSTEM = "system"
MEASURED = "measured"
BY_HEAP = "estimate: E + H is the slope of peak RSS, E the live heap of an established session"
BY_RSS = "estimate: E + H is the slope of peak RSS, E that of RSS when all are established"
BY_RATIO = "estimate: the law under the system's allocator, times the quotient of peak RSS under either"
QUOTIENT = "quotient: one N was recorded, so these are totals by sessions and no slopes; fixed is in them"


@dataclass(frozen=True)
class ConnectionModel:
    """Bytes of a connection in its process; one that is `both` has a client and a server session."""

    stack: str
    suite: str
    allocator: str
    role: str  # client, server or both
    how: str
    fixed: float
    kept: float  # E
    handshake: float | None  # H; None: not recorded
    used: float | None  # live heap once 1 KiB went each way; None: no heap runs
    grows: float  # live heap that this is more than before
    whole_record: bool | None  # it then holds a buffer for a whole record; None: no call stacks say so
    widest: int  # connections up to which every term was measured
    held_shaking: float = 1.0  # of H: what stays when handshakes are complete
    held_closed: float = 1.0  # of E + H: what stays when sessions are freed
    origin: Path | None = None
    machine: tuple = ()
    left_out: tuple[str, ...] = ()  # sentences: runs of the recording that do not belong to these
    configuration: Configuration | None = None  # None: at rest, not yet used, without tickets
    live: float | None = None  # live heap of a connection in this configuration and state; None: not recorded
    in_use: float | None = None  # E once every connection was used; None: not recorded

    @property
    def peak(self) -> float:
        return self.kept + (self.handshake or 0.0)

    def record(self, assumed: float) -> tuple[float, str | None]:
        """What a full record in flight adds, at most; with a note where that was not measured."""
        if self.whole_record and self.in_use is not None:
            return max(0.0, self.in_use - self.kept), None
        if self.whole_record and self.used is not None:
            return max(0.0, self.used - self.kept), DERIVED_RECORD
        note = f"assumed: one buffer for a whole record; {self.why_no_buffer}"
        return max(0.0, self.grows) + assumed, note

    @property
    def why_no_buffer(self) -> str:
        """Why a record in flight needs a buffer beside what the session holds."""
        if self.configuration and self.configuration.options == LOW_MEMORY:
            return "a session releases its own between records"
        if self.configuration:
            return "nothing recorded says that a session holds one"
        if self.whole_record is None:
            return "no call stacks of its sessions are recorded"
        return "none was found in a session"


@dataclass(frozen=True)
class Slope:
    """Bytes a connection, bytes at none, connections of the largest run; of one N a quotient."""

    each: float
    fixed: float
    widest: int
    quotient: bool = False


def fit_slope(series: Series, quantity: Callable[[Record], int], sessions_each: int) -> Slope | None:
    """A connection has so many of a run's sessions."""
    points = session_cost.medians(series.full("rss"), quantity)
    if not points:
        return None
    widest = max(points)
    line = session_cost.fit_line(points)
    if not line:
        return Slope(sessions_each * points[widest] / widest, 0, widest // sessions_each, quotient=True)
    return Slope(sessions_each * line.slope, line.intercept, widest // sessions_each)


def find_settings(selection: Selection, allocator: str, roles: str, data: str = "short") -> list[Setting]:
    """In the laboratory, of one stack, on all of the CPU; the narrowest window first."""
    wanted = (roles, "lab", "all", None, data)
    found = [one for one in selection.settings if (one.roles, one.env, one.cpu, one.peer, one.data) == wanted]
    return [one for one in found if one.allocator.split(" ")[0] == allocator]


def find_series(selection: Selection, allocator: str, roles: str, role: str, narrow: bool = False) -> Series | None:
    """With all in the handshake at once, or with the narrowest window; None where there is no such run."""
    for one in find_settings(selection, allocator, roles):
        if (one.window == "all") != narrow:
            return selection.series(selection.stacks[0], one, role if roles == "split" else "both")
    return None


RSS_AT_ESTABLISHED = session_cost.rss_at_end("established")


def fit_role(selection: Selection, role: Role, estimated: bool = False) -> tuple[ConnectionModel, Series] | None:
    """Of a process that holds one role, under the system's allocator; None where no such process was recorded.
    `estimated`: as if all had always been in the handshake at once."""
    wide = find_series(selection, SYSTEM, "split", role)
    peak = fit_slope(wide, memory_model.handshake_peak_rss, 2) if wide else None
    if not peak:
        return None
    narrow = None if estimated else find_series(selection, SYSTEM, f"keep-{role}", role, narrow=True)
    kept = fit_slope(narrow, memory_model.handshake_peak_rss, 2) if narrow else None
    return blank(selection, role, peak, kept, fit_slope(wide, RSS_AT_ESTABLISHED, 2), (role,)), wide


def fit_pair(selection: Selection) -> tuple[ConnectionModel, Series] | None:
    """Of a process that holds both ends."""
    wide = find_series(selection, SYSTEM, "together", "both")
    peak = fit_slope(wide, memory_model.handshake_peak_rss, 2) if wide else None
    if not peak:
        return None
    found = blank(selection, "both", peak, None, fit_slope(wide, RSS_AT_ESTABLISHED, 2), ("client", "server"))
    windows = find_settings(selection, SYSTEM, "together")
    runs = [run for one in windows for run in selection.series(selection.stacks[0], one).runs("rss")]
    fitted, *_ = memory_model.split_fit_and_check(runs)
    measured = memory_model.fit_memory_model(
        [(run.sessions, memory_model.pairs_at_once(run), memory_model.handshake_peak_rss(run)) for run in fitted]
    )
    if measured and len(windows) > 1:
        terms: dict[str, Any] = {
            "fixed": measured.fixed,
            "kept": 2 * measured.kept,
            "handshake": max(0.0, measured.handshake),
        }
        found = replace(found, how=MEASURED, **terms)
    return found, wide


def blank(
    selection: Selection, role: str, peak: Slope, kept: Slope | None, established: Slope, roles: Sequence[Role]
) -> ConnectionModel:
    """`kept` is of few handshakes at once; without it E is estimated."""
    before, after = (live_heap(selection, roles, phase) for phase in ("established", "reply"))
    if kept and not kept.quotient and not peak.quotient:
        each, how, widest = kept.each, MEASURED, min(peak.widest, kept.widest)
    else:
        each = min(established.each, before or established.each)
        how, widest = QUOTIENT if peak.quotient else BY_HEAP if each == before else BY_RSS, peak.widest
    run = selection.records[-1]
    named = (selection.stacks[0], run.suite, SYSTEM, role, how, peak.fixed, each, max(0.0, peak.each - each))
    grows = max(0.0, after - before) if after and before else 0.0
    return ConnectionModel(
        *named, after, grows, keeps_whole_record(selection, roles), widest, machine=machine_identity(run), live=before
    )


def machine_identity(run: Record) -> tuple:
    """What two figures of one machine have in common; its kernel may be another build."""
    return run.machine.cpu, run.machine.cpus, run.machine.path


def live_heap(selection: Selection, roles: Sequence[Role], phase: str) -> float | None:
    """Live heap of a connection at the end of the phase; None without heap runs, or where these do not say."""
    total = 0.0
    for role in roles:
        kinds = [find_series(selection, SYSTEM, kind, role) for kind in ("split", "together")]
        pairs = [pair for one in kinds if one and (pair := one.heap_pair())]
        if not pairs or getattr(session_cost.phase_of(pairs[0][1], phase).heap, role).live_bytes == 0:
            return None
        found = session_cost.live_cost(*pairs[0], role, phase).bytes
        total += found.amount / found.sessions
    return total


def keeps_whole_record(selection: Selection, roles: Sequence[Role]) -> bool | None:
    """Whether sessions of a sites run hold a block for a whole record once they have exchanged data; None without."""
    runs = [run for run in selection.records if run.meter == "sites"]
    return all(any(holds(run, role) for run in runs) for role in roles) if runs else None


def holds(run: Record, role: Role) -> bool:
    phases = [one for one in run.phases if one.phase == "reply" and one.sites]
    sizes = [
        site.bytes // site.blocks for one in phases for site in one.sites.live if site.role == role and site.blocks
    ]
    return any(size >= WHOLE for size in sizes)


def select_runs(runs: Sequence[Record], stack: str, suite: str) -> Selection | None:
    """The comparable runs of memory; None where there are none. What was not measured is not in it."""
    found = [one for one in runs if one.scenario == "memory" and one.suite == suite and one.status == "measured"]
    return select(found, [stack], [suite]) if found else None
