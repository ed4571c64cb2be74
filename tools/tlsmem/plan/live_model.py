"""The memory model of a server from its live runs alone: where the plan has no session of its library to set apart.

A connection is then the whole slope of RSS over connections: the session, and what the server holds beside it. Of
servers whose processes grow in number, as PostgreSQL's do, only anonymous memory grows: pages of files and of memory
that processes share would count once in each."""

import math
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tlsmem.config.live_servers import live_servers
from tlsmem.config.runtimes import runtimes
from tlsmem.config.servers import Server, servers
from tlsmem.live.live_run import WARM_UP
from tlsmem.plan.configuration import STATES, Configuration, MeasuredServer
from tlsmem.plan.connection_model import LIVE, SYSTEM, ConnectionModel, MachineIdentity, share
from tlsmem.plan.server_memory import (
    PHASES,
    LeftOut,
    find_fitted,
    find_suite,
    find_window,
    fit_process,
    list_plain_series,
)
from tlsmem.schema.live_records import LivePhase, LiveRecord
from tlsmem.stats.live_costs import BASE, LiveSeries, Reading, live_bytes, name_program, server_kernel_bytes
from tlsmem.stats.missing import Missing
from tlsmem.stats.session_cost import Line
from tlsmem.store.recordings import display_name


class LiveFit(NamedTuple):
    """What live runs of a server give, in bytes. `process`: RSS before the first connection. `first`: what the first
    connections add to it once, without what concurrent handshakes left, by the state of a plan: where the line of RSS
    over connections begins, less the process. It is less than 0 where they use memory that was there, and more than 0
    where they enlarge a heap. `table`: what a connection needs of its connection table. `growth`: RSS beyond the
    process, over connections, by state. `handshake`: of one more concurrent handshake, by state. `plain`: a connection
    without TLS. `kernel`: of a connection. The last two by state too; Missing where they were not measured."""

    name: str
    process: float
    first: dict[str, float]
    table: int
    growth: dict[str, Line]
    handshake: dict[str, float]
    plain: dict[str, float | Missing]
    kernel: dict[str, float | Missing]
    is_handshake_measured: bool  # with all handshakes concurrent; else from what those at a time left
    series: LiveSeries
    recording: Path

    @property
    def run(self) -> LiveRecord:
        """The run with most connections."""
        return self.series.measured("rss")[-1]

    @property
    def title(self) -> str:
        """The server and its library: `mosquitto version 2.0.11 on OpenSSL 3.0.19`."""
        library = " ".join(self.run.tls_library.split()[:2]) if self.run.tls_library else ""
        return name_program(self.run) + (f" on {library}" if library else "")

    @property
    def source(self) -> str:
        """Say what was measured, and where it is recorded."""
        return f"{self.title}, {display_name(self.recording)}"

    def knows(self, window: int) -> bool:
        """Return whether it tells what so many concurrent handshakes leave."""
        has_handshakes = self.is_handshake_measured or all(self.handshake.values())
        return has_handshakes or window <= (self.series.window or 0)

    def predict(self, connections: int, window: int, state: str) -> float:
        """Return the RSS of a run of the same build; `window`: handshakes at a time."""
        added = connections * (self.growth[state].slope + self.table) + (window - WARM_UP) * self.handshake[state]
        return self.process + max(0.0, self.first[state] + added)

    def model(self, state: str) -> ConnectionModel:
        """Return the model of its connections in a state."""
        runs, growth = self.series.measured("rss"), self.growth[state]
        phase = PHASES[state]
        heap = self.series.increments(phase, live_bytes)
        return ConnectionModel(
            self.run.stack or self.name,
            find_suite(runs),
            SYSTEM,
            "server",
            LIVE,
            self.process,
            growth.slope,
            self.handshake[state] if self.is_handshake_measured or self.handshake[state] else None,
            self.run.connections,
            Configuration(phase=STATES[state], server=describe_server(self.name)),
            identify_machine(self.run),
            origin=self.recording,
            narrowest=runs[0].connections,
            live=float(heap[max(heap)]) if heap else None,
            in_use=self.growth["in-use"].slope,
            closed_retention=share_after_closing(self.series, phase),
        )


def advise_handshakes(name: str) -> str:
    """Return the command that records what concurrent handshakes of a server leave."""
    return f"tools/tls-memtest measure live --server {name} --window 100,all"


def identify_machine(run: LiveRecord) -> MachineIdentity:
    """Return what figures of the run's machine have in common."""
    return MachineIdentity(run.machine.cpu, run.machine.cpus, run.machine.path)


def describe_server(name: str) -> Server | MeasuredServer:
    """Return the server of this name, in whatever file of memtest it is."""
    if name in servers():
        return servers()[name]
    known = live_servers() | runtimes()
    return MeasuredServer(known[name].what if name in known else name)


@cache
def fit_live(
    name: str, stack: str | None, among: tuple[Path, ...] | None = None, left_out: LeftOut | None = None
) -> LiveFit | None:
    """Return what the live runs of a server give that find_fitted() chooses; None where it has not two numbers of
    connections over TLS.

    `stack`: that it was built on; None, as it is packaged."""
    found = find_fitted(name, stack, among, left_out)
    if not found:
        return None
    path, series = found
    reading = growth_reading(series)
    growth = {state: series.line(phase, reading) for state, phase in PHASES.items()}
    known = {state: line for state, line in growth.items() if not isinstance(line, Missing)}
    if len(known) < len(PHASES):
        return None
    entry, base = fit_process(name, series)
    entries = servers()[name].table if name in servers() else 0
    plain = next((one for one in list_plain_series(path, name) if one.build == series.build), None)
    wide = find_window(series, None, path, among, left_out)
    measured = {
        state: max(0.0, line.slope - known[state].slope)
        for state, phase in PHASES.items()
        if wide and not isinstance(line := wide.line(phase, reading), Missing)
    }
    more = (series.window or 0) - WARM_UP  # handshakes at a time than the process had had before
    # The heaps of runtimes grow by steps: what the first connections left is no handshake's.
    left = {state: 0.0 if name in runtimes() else max(0.0, line.intercept) for state, line in known.items()}
    handshake = {state: measured.get(state, left[state] / max(1, more)) for state in known}
    return LiveFit(
        name,
        base,
        {state: line.intercept - more * handshake[state] for state, line in known.items()},
        math.ceil(entry * entries),
        known,
        handshake,
        {state: slope_of(plain, phase, reading) for state, phase in PHASES.items()},
        {state: slope_of(series, phase, server_kernel_bytes) for state, phase in PHASES.items()},
        bool(measured),
        series,
        path,
    )


def slope_of(series: LiveSeries | None, phase: str, reading: Reading) -> float | Missing:
    """Return the slope over connections; Missing where it was not measured."""
    line = series.line(phase, reading) if series else Missing("plain connections were not measured")
    return line if isinstance(line, Missing) else line.slope


def share_after_closing(series: LiveSeries, phase: str) -> float:
    """Return which share of what connections added in a phase stays when all are closed: of the run with most."""
    read, run = growth_reading(series), series.measured("rss")[-1]
    sizes = {one.phase: read(one) for one in run.phases}
    before, grown, closed = sizes.get(BASE), sizes.get(phase), sizes.get("closed")
    if before is None or grown is None or closed is None:
        return 1.0
    return share(closed - before, grown - before)


def growth_reading(series: LiveSeries) -> Reading:
    """Return how to read what connections add: RSS, or where they add processes, anonymous memory."""
    counts = {phase.server.processes for run in series.runs for phase in run.phases}
    return read_anonymous if len(counts) > 1 else read_resident


def read_resident(phase: LivePhase) -> int:
    return phase.server.rss_bytes


def read_anonymous(phase: LivePhase) -> int:
    return phase.server.rss_anon_bytes


def measured_bytes(fit: LiveFit, run: LiveRecord, state: str) -> int:
    """Return the RSS of a run in a state, read as the fit reads it: RSS before the first connection, and what grew."""
    reading, phases = growth_reading(fit.series), {phase.phase: phase for phase in run.phases}
    base = phases[BASE]
    return base.server.rss_bytes + (reading(phases[PHASES[state]]) or 0) - (reading(base) or 0)
