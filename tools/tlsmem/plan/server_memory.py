"""What a server holds beside the sessions of its TLS library: its process, and its own part of a connection.

Both are RSS of live runs: of the server built on the library of the plan, where such runs are recorded, else of the
server as it is packaged. The process is RSS before the first connection, all its processes added up. Its own part of a
connection is the slope of RSS over connections, with 100 handshakes at a time, less the RSS of a session of the same
stack in the harness. Of several recordings that with most connections
counts, then the newest; one that was named comes first."""

import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tlsmem.config.choices import PLAN_SUITE
from tlsmem.config.libraries import library_key
from tlsmem.config.servers import servers
from tlsmem.live.live_run import WARM_UP
from tlsmem.live.servers import SERVERS
from tlsmem.plan import find_model
from tlsmem.plan.configuration import configure
from tlsmem.plan.connection_model import SYSTEM, ConnectionModel, ModelRequest
from tlsmem.schema.live_records import FOLDER, LivePhase, LiveRecord, load_live_file
from tlsmem.schema.recording_files import PLAIN, locate
from tlsmem.stats.live_costs import BASE, LiveSeries, group_live, short_version
from tlsmem.stats.missing import Missing
from tlsmem.stats.session_cost import fit_line
from tlsmem.store import recordings

NOTABLE_SHARE = Fraction(5, 100)  # of a connection
WINDOW = 100  # handshakes at a time, as in the harness's runs of RSS in use
PROTOCOL = "TLSv1.3"
PHASES = {"at-rest": "established", "in-use": "idle"}  # of live runs, by the state of a plan
SUITES = {"TLS_AES_128_GCM_SHA256": "tls13-rsa-aes128", "TLS_AES_256_GCM_SHA384": "tls13-rsa-aes256"}  # by cipher
KEEPING = ("nginx", "haproxy")  # servers whose concurrent handshakes are compared with the library's


class LeftOut(NamedTuple):
    """Runs that nothing is fitted to, because a prediction is held against them: those of a recording with so many
    connections."""

    recording: Path
    connections: int


class ServerMemory(NamedTuple):
    """Bytes of RSS. `process`: without connections and without a connection table. `entry`: of an entry of that table.
    `entries`: its entries per connection. `beside`: of a connection, beside TLS, by the state of a plan, with 100
    handshakes at a time. `one_by_one`: what one handshake at a time leaves beyond that; only where it is more than 5 %
    of a connection. `reused`: what the handshakes that the process has had left in it, which connections use, by state.
    `stack`: of the sessions of the live runs. `runs`: those that it was fitted to, fewest connections first."""

    process: int
    entry: float
    entries: Fraction
    beside: dict[str, int]
    one_by_one: dict[str, int]
    reused: dict[str, int]
    stack: str
    runs: tuple[LiveRecord, ...]
    recording: Path

    def own(self, at_rest: bool) -> int:
        """Return what the server holds for a connection beside TLS, with its entry in the connection table: after the
        handshakes that leave most, 100 or one at a time."""
        state = "at-rest" if at_rest else "in-use"
        return self.table + self.beside[state] + self.one_by_one.get(state, 0)

    @property
    def run(self) -> LiveRecord:
        """The run with most connections."""
        return self.runs[-1]

    @property
    def table(self) -> int:
        """What the connection table needs for a connection."""
        return math.ceil(self.entry * self.entries)

    @property
    def is_built(self) -> bool:
        """Whether the server was built on its stack, from source; else it ran as it is packaged."""
        return bool(self.run.stack)

    @property
    def title(self) -> str:
        """The server and its library: `nginx/1.22.1 on OpenSSL 3.0.19`."""
        return short_version(self.run.reported) + (f" on {self.library}" if self.library else "")

    @property
    def source(self) -> str:
        """Say what was measured: `nginx/1.22.1 on OpenSSL 3.0.19, data/2026-11-24-amd-epyc-p0457-live`."""
        return f"{self.title}, {recordings.display_name(self.recording)}"

    @property
    def library(self) -> str:
        """The TLS library of the server that was measured, with its version; empty where it is built in."""
        return " ".join(self.run.tls_library.split()[:2]) if self.run.tls_library else ""


@cache
def measure_server(
    name: str, stack: str | None = None, among: tuple[Path, ...] | None = None, left_out: LeftOut | None = None
) -> ServerMemory | None:
    """Return what a server of servers.toml holds beside TLS: built on the stack, where that is recorded, else as it is
    packaged. None where neither is.

    `among`: recordings, the newest first; None: the committed ones."""
    built = fit_server(name, stack, among, left_out) if stack else None
    return built or fit_server(name, None, among, left_out)


@cache
def fit_server(
    name: str, stack: str | None, among: tuple[Path, ...] | None = None, left_out: LeftOut | None = None
) -> ServerMemory | None:
    """Return the same of this build alone; None where it has not the runs. `stack`: None, as it is packaged."""
    server = servers()[name]
    sessions = stack or server.packaged
    found = find_fitted(name, stack, among, left_out)
    if not sessions or not found:
        return None
    path, series = found
    each, process = fit_process(name, series)
    models = {state: model_session(name, sessions, find_suite(series.runs), state) for state in PHASES}
    beside = {state: own_bytes(series, phase, models[state]) for state, phase in PHASES.items()}
    one_by_one = dict[str, int]()
    narrow = None if has_garbage(series.runs) else find_window(series, 1, path, among, left_out)
    if narrow:
        for state, phase in PHASES.items():
            more = own_bytes(narrow, phase, models[state]) - beside[state]
            if more > NOTABLE_SHARE * (models[state].connection + beside[state]):
                one_by_one[state] = more
    runs = tuple(series.measured("rss"))
    reused = {state: round(WARM_UP * one.kept_handshake) for state, one in models.items()}
    return ServerMemory(round(process), each, server.table, beside, one_by_one, reused, sessions, runs, path)


def find_window(
    series: LiveSeries, window: int | None, recording: Path, among: Sequence[Path] | None, left_out: LeftOut | None
) -> LiveSeries | None:
    """Return the runs of the same build with so many handshakes at a time, of two numbers of connections: those of the
    same recording, else of the newest that has them. `window`: None for all of them."""
    found = sorted(list_live_series(series.server, among, left_out), key=lambda one: one[0] != recording)
    return next(
        (
            one
            for _, one in found
            if (one.window, one.build) == (window, series.build)
            if len({run.connections for run in one.measured("rss")}) > 1
        ),
        None,
    )


def has_garbage(runs: Iterable[LiveRecord]) -> bool:
    """Return whether a garbage collector decides on RSS, so the order of handshakes does not."""
    known = list(runs)
    is_go = any((run.tls_library or "").startswith("go1.") for run in known)  # as Caddy
    return is_go or any(phase.phase == "collected" for run in known for phase in run.phases)


def find_suite(runs: Sequence[LiveRecord]) -> str:
    """Return the suite of the harness with the cipher that live runs negotiated."""
    ciphers = sorted({run.negotiated["cipher"] for run in runs if run.negotiated})
    return next((SUITES[one] for one in ciphers if one in SUITES), PLAN_SUITE)


def find_fitted(
    name: str, stack: str | None, among: Sequence[Path] | None, left_out: LeftOut | None = None
) -> tuple[Path, LiveSeries] | None:
    """Return the series that a plan is fitted to: two numbers of connections, 100 handshakes at a time; of servers that
    do not take so many at a time, the most that they were measured with. A recording that was named comes first, then
    the one with most connections, which leaves least to extrapolate, then the newest."""
    committed = set(recordings.find_live_recordings())
    found = [
        (path, series)
        for path, series in list_live_series(name, among, left_out)
        if series.stack == stack and series.window and series.window <= WINDOW
        if series.window == WINDOW or name not in SERVERS
        if len({run.connections for run in series.measured("rss")}) > 1
    ]
    return max(found, key=lambda one: rank_series(one[0], one[1], one[0] in committed), default=None)


def rank_series(path: Path, series: LiveSeries, is_committed: bool) -> tuple[int | str, ...]:
    """Return what orders series: the best is the largest. Names of committed recordings begin with their dates."""
    most = max(run.connections for run in series.measured("rss"))
    return (series.window or 0, not is_committed, most, path.name)


def list_live_series(
    name: str, among: Sequence[Path] | None = None, left_out: LeftOut | None = None
) -> Iterator[tuple[Path, LiveSeries]]:
    """Yield the series of a server over TLS 1.3, the newest recording first."""
    for path in recordings.find_live_recordings() if among is None else among:
        for one in load_series(path, name):
            if left_out and path == left_out.recording:
                one = replace(one, runs=tuple(run for run in one.runs if run.connections != left_out.connections))
            yield path, one


def load_series(recording: Path, name: str) -> list[LiveSeries]:
    """Return the series of a server over TLS 1.3 in a recording."""
    return [
        one
        for one in group_runs(recording, name)
        if one.transport == "tls" and not one.hollow
        if {run.negotiated["protocol"] for run in one.runs if run.negotiated} == {PROTOCOL}
    ]


def list_plain_series(recording: Path, name: str) -> list[LiveSeries]:
    """Return the series of a server without TLS in a recording."""
    return [one for one in group_runs(recording, name) if one.transport == "plain"]


@cache
def group_runs(recording: Path, name: str) -> tuple[LiveSeries, ...]:
    """Return the series of a server in a recording, without kernel TLS; a program may also be a client there."""
    file = locate(recording / FOLDER / f"{name}{PLAIN}")
    runs = load_live_file(file) if file.exists() else []
    return tuple(group_live(run for run in runs if not run.ktls and run.role == "server"))


def fit_process(name: str, series: LiveSeries) -> tuple[float, float]:
    """Return RSS without connections: of an entry of the connection table, and of the rest.

    Without such a table, RSS does not depend on the number of connections; it is the median."""
    entries = SERVERS[name].table_entries if name in SERVERS else None
    points = {run.connections: base_bytes(run) for run in series.measured("rss")}
    if not entries:
        return 0.0, statistics.median(points.values())
    line = fit_line({entries(connections): size for connections, size in points.items()})
    assert line  # there are several numbers of connections
    return line.slope, line.intercept


def predict_rss(
    name: str, run: LiveRecord, state: str, recording: Path, among: tuple[Path, ...] | None = None
) -> float | None:
    """Return the RSS that a plan has for a live run of a recording.

    It is not fitted to runs of this recording with as many connections. None where others do not suffice."""
    left_out = LeftOut(recording, run.connections)
    measured = fit_server(name, run.stack, among, left_out)
    if not measured:
        return None
    excess = measure_handshake_excess(name, run.stack, among, left_out) or 0
    session = model_session(name, measured.stack, find_suite([run]), state)
    return add_terms(measured, session, run.connections, run.window, excess)


def add_terms(
    measured: ServerMemory, session: ConnectionModel, connections: int, window: int, excess: int = 0
) -> float:
    """Return the RSS that a plan has for a live run: with its connections, its handshakes at a time, and the connection
    table that it is configured with.

    `excess`: what the server keeps of each concurrent handshake beyond the library."""
    entries = SERVERS[measured.run.server].table_entries if measured.run.server in SERVERS else None
    state = "at-rest" if session.configuration.is_at_rest else "in-use"
    own = measured.beside[state] + (measured.one_by_one.get(state, 0) if window <= WARM_UP else 0)
    table = measured.entry * entries(connections) if entries else 0.0
    of_handshakes = window * session.kept_handshake - measured.reused[state] + (window - WARM_UP) * excess
    return measured.process + table + max(0.0, connections * (session.connection + own) + of_handshakes)


def measured_rss(run: LiveRecord, state: str) -> int:
    """Return the RSS of a live run with its connections in a state."""
    return resident_bytes(next(phase for phase in run.phases if phase.phase == PHASES[state]))


def is_measured_with(measured: ServerMemory | None, stack: str) -> bool:
    """Return whether the live runs of a server are with the library of this stack, of whatever release."""
    return bool(measured and library_key(stack) == library_key(measured.stack))


@cache
def measure_handshake_excess(
    name: str, stack: str | None = None, among: tuple[Path, ...] | None = None, left_out: LeftOut | None = None
) -> int | None:
    """Return the RSS that a server keeps for each concurrent handshake beyond what a plan has, in bytes: from the runs
    with most connections and all handshakes at once, the largest. None where there are none, or it keeps no more.

    `stack`: that it was built on; None, as it is packaged."""
    measured = fit_server(name, stack, among, left_out) if name in KEEPING else None
    if not measured:
        return None
    runs = [run for _, run in find_live_runs(name, stack, among, left_out) if run.window == run.connections > WARM_UP]
    widest = max((run.connections for run in runs), default=0)
    found = [
        (measured_rss(run, "in-use") - add_terms(measured, session, run.connections, run.window))
        / (run.window - WARM_UP)
        for run in runs
        if run.connections == widest
        for session in [model_session(name, measured.stack, find_suite([run]), "in-use")]
    ]
    return round(max(found)) if found and max(found) > 0 else None


def find_live_runs(
    name: str, stack: str | None = None, among: Sequence[Path] | None = None, left_out: LeftOut | None = None
) -> list[tuple[Path, LiveRecord]]:
    """Return the runs of a build of a server that a plan predicts: RSS over TLS, in one worker."""
    return [
        (path, run)
        for path, one in list_live_series(name, among, left_out)
        if one.stack == stack
        for run in one.measured("rss")
    ]


def list_builds(name: str, among: Sequence[Path] | None = None) -> list[str | None]:
    """Return the stacks that a server was built on and measured; None stands for the server as it is packaged."""
    return list(dict.fromkeys(series.stack for _, series in list_live_series(name, among)))


def list_recorded(among: Sequence[Path] | None = None) -> list[str]:
    """Return the servers that have live runs: those of servers.toml first, in its order."""
    places = recordings.find_live_recordings() if among is None else among
    files = (file.name.partition(PLAIN)[0] for path in places for file in sorted((path / FOLDER).glob(f"*{PLAIN}*")))
    there = dict.fromkeys(files)
    return [*(name for name in servers() if name in there), *(name for name in there if name not in servers())]


@cache
def has_sessions(name: str, stack: str | None) -> bool:
    """Return whether plans set a session of the harness apart in this build of a server. `stack`: None, as packaged."""
    sessions = (stack or servers()[name].packaged) if name in servers() else None
    return bool(sessions) and any(sessions in recordings.stacks(path) for path in recordings.find_recordings(None))


def base_bytes(run: LiveRecord) -> float:
    """Return RSS before the first connection."""
    return float(resident_bytes(next(phase for phase in run.phases if phase.phase == BASE)))


def resident_bytes(phase: LivePhase) -> int:
    """Return RSS of the server's processes, added up."""
    return phase.server.rss_bytes


def own_bytes(series: LiveSeries, phase: str, session: ConnectionModel) -> int:
    """Return what a connection adds to RSS beyond a session."""
    line = series.line(phase, resident_bytes)
    assert not isinstance(line, Missing)  # as above
    return max(0, round(line.slope - session.connection))


@cache
def model_session(name: str, stack: str, suite: str, state: str) -> ConnectionModel:
    """Return the session of the live runs as the harness measured it. Raises ValueError where it is not recorded."""
    wanted = ModelRequest(stack, suite, SYSTEM, "server", configure(name, state, stack))
    return find_model.choose_model(wanted, recordings.find_recordings(None))
