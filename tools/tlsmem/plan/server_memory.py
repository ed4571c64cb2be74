"""What a server holds beside the sessions of its TLS library: its process, and its own part of a connection.

Both are RSS of live runs that memtest/servers.toml names. The process is RSS before the first connection, all its
processes added up. Its own part of a connection is the slope of RSS over connections, with 100 handshakes at a time,
less the RSS of a session of the same stack in the harness."""

import math
import statistics
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tlsmem.base.paths import ROOT
from tlsmem.config.libraries import library_key
from tlsmem.config.servers import Server, servers
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

WINDOW = 100  # handshakes at a time, as in the harness's runs of RSS in use
PHASES = {"at-rest": "established", "in-use": "idle"}  # of live runs, by the state of a plan


class ServerMemory(NamedTuple):
    """Bytes of RSS. `process`: without connections and without a connection table. `entry`: of an entry of that table.
    `entries`: its entries per connection. `at_rest` and `in_use`: of a connection, beside TLS."""

    process: int
    entry: float
    entries: Fraction
    at_rest: int
    in_use: int
    run: LiveRecord
    recording: str

    def own(self, at_rest: bool) -> int:
        """Return what the server holds for a connection beside TLS, with its entry in the connection table."""
        return self.table + (self.at_rest if at_rest else self.in_use)

    @property
    def table(self) -> int:
        """What the connection table needs for a connection."""
        return math.ceil(self.entry * self.entries)

    @property
    def source(self) -> str:
        """Say what was measured: `nginx/1.22.1 on OpenSSL 3.0.19, data/2026-11-24-amd-epyc-p0457-live`."""
        library = f" on {self.library}" if self.library else ""
        return f"{short_version(self.run.reported)}{library}, {self.recording}"

    @property
    def library(self) -> str:
        """The TLS library of the server that was measured, with its version; empty where it is built in."""
        return " ".join(self.run.tls_library.split()[:2]) if self.run.tls_library else ""


@cache
def measure_server(name: str) -> ServerMemory | None:
    """Return what a server of servers.toml holds beside TLS; None where no live runs of it are recorded.

    Raises ValueError with a sentence where the recording that servers.toml names has not the runs for it."""
    server = servers()[name]
    if not server.live:
        return None
    file = locate(ROOT / server.live.recording / FOLDER / f"{name}{PLAIN}")
    runs = group_live(load_live_file(file)) if file.exists() else []
    found = [
        one for one in runs if one.transport == "tls" and not one.hollow and one.window == WINDOW and not one.stack
    ]
    if not found or len({run.connections for run in found[0].measured("rss")}) < 2:
        raise ValueError(
            f"memtest/servers.toml: [{name}]: live: {server.live.recording} has no runs of RSS over TLS with {WINDOW} "
            f"handshakes at a time and two numbers of connections; `make live SERVER={name} WINDOW={WINDOW}` makes some"
        )
    series = found[0]
    each, process = fit_process(name, series)
    at_rest, in_use = (own_bytes(series, phase, model_session(server, name, state)) for state, phase in PHASES.items())
    return ServerMemory(
        round(process), each, server.table, at_rest, in_use, series.measured("rss")[-1], server.live.recording
    )


def fit_process(name: str, series: LiveSeries) -> tuple[float, float]:
    """Return RSS without connections: of an entry of the connection table, and of the rest.

    Without such a table, RSS does not depend on the number of connections; it is the median."""
    entries = SERVERS[name].table_entries
    points = {run.connections: base_bytes(run) for run in series.measured("rss")}
    if not entries:
        return 0.0, statistics.median(points.values())
    line = fit_line({entries(connections): size for connections, size in points.items()})
    assert line  # there are several numbers of connections
    return line.slope, line.intercept


def predict_rss(name: str, run: LiveRecord, state: str) -> float:
    """Return the RSS that a plan has for a live run: with its connections, its handshakes at a time, and the connection
    table that it was configured with. Raises ValueError where the session is not recorded."""
    measured, entries = measure_server(name), SERVERS[name].table_entries
    assert measured  # of a server with live runs
    session = model_session(servers()[name], name, state)
    own = measured.at_rest if state == "at-rest" else measured.in_use
    table = measured.entry * entries(run.connections) if entries else 0.0
    handshakes = run.window * (session.handshake or 0.0) * session.handshake_retention
    return measured.process + table + run.connections * (session.connection + own) + handshakes


def measured_rss(run: LiveRecord, state: str) -> int:
    """Return the RSS of a live run with its connections in a state."""
    return resident_bytes(next(phase for phase in run.phases if phase.phase == PHASES[state]))


def is_measured_with(server: Server | None, stack: str) -> bool:
    """Return whether the live runs of a server are with the library of this stack, of whatever release."""
    return bool(server and server.live and library_key(stack) == library_key(server.live.stack))


@cache
def measure_handshake_excess(name: str) -> int | None:
    """Return the RSS that a server keeps for each concurrent handshake beyond what a plan has, in bytes: from the runs
    with most connections and all handshakes at once, the largest. None where there are none, or it keeps no more."""
    runs = [run for _, run in find_live_runs(name) if run.window == run.connections]
    widest = max((run.connections for run in runs), default=0)
    found = [
        (measured_rss(run, "in-use") - predict_rss(name, run, "in-use")) / run.window
        for run in runs
        if run.connections == widest
    ]
    return round(max(found)) if found and max(found) > 0 else None


def find_live_runs(name: str) -> list[tuple[Path, LiveRecord]]:
    """Return the runs of a server that a plan predicts, in all committed recordings: RSS over TLS, in one worker."""
    return [
        (path, run)
        for path in recordings.find_live_recordings()
        for file in [locate(path / FOLDER / f"{name}{PLAIN}")]
        if file.exists()
        for one in group_live(load_live_file(file))
        if one.transport == "tls" and not one.hollow and not one.stack
        for run in one.measured("rss")
    ]


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


def model_session(server: Server, name: str, state: str) -> ConnectionModel:
    """Return the session of the live runs as the harness measured it. Raises ValueError where it is not recorded."""
    assert server.live
    stack, suite = server.live.stack, server.live.suite
    wanted = ModelRequest(stack, suite, SYSTEM, "server", configure(name, state, stack))
    return find_model.choose_model(wanted, recordings.find_recordings(None))
