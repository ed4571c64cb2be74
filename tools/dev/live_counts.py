"""What check_live.py counts: live heap of servers on libraries, by the heap meter and by massif.

massif writes what is live when libmarks.so, which is loaded beside it, gets a signal: also in processes that were
forked, about which valgrind 3.19 cannot be asked otherwise."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tlsmem.live import live_run
from tlsmem.live.cgroup import MemoryGroup
from tlsmem.live.clients import Clients
from tlsmem.live.live_run import LiveRun, Measuring, Timeline
from tlsmem.live.network import Network
from tlsmem.live.running_server import RunningServer
from tlsmem.live.servers import SERVERS, Program, Server, choose_stack, find_program
from tlsmem.schema.live_records import LiveMeter
from tlsmem.tables import render
from tlsmem.tables.table import Column, Table, integer_cell

WINDOW = 10  # handshakes at a time: under valgrind each takes a tenth of a second
STATES = ("established", "one request", "full records", "idle", "closed")
LIVE = re.compile(r"^mem_heap_B=(\d+)$", re.MULTILINE)


class CountedRow(NamedTuple):
    """Live bytes that connections have added in a state, by both counters."""

    build: str
    transport: str
    connections: int
    state: str
    meter: int
    massif: int

    @property
    def differs(self) -> int:
        return self.massif - self.meter


COLUMNS = (
    Column("build", "server", left=True, value=lambda row: row.build),
    Column("transport", "transport", left=True, value=lambda row: row.transport),
    Column("connections", "connections", value=lambda row: row.connections, form=integer_cell),
    Column("state", "state", left=True, value=lambda row: row.state),
    Column("meter_bytes", "heap meter", value=lambda row: row.meter, form=integer_cell),
    Column("massif_bytes", "massif", value=lambda row: row.massif, form=integer_cell),
    Column("difference_bytes", "difference", value=lambda row: row.differs, form=integer_cell),
)


class Counting(Measuring):
    """A run whose phases end with what is live in the server: by the heap meter, or by massif."""

    live_bytes: dict[str, int]

    def end_phase(self, name: str) -> None:
        """Read it. Raises ServerError where massif does not answer."""
        super().end_phase(name)
        if self.run.meter == "sites":
            self.server.take_snapshot(name)
            self.live_bytes[name] = sum(map(read_massif, self.server.snapshots[name].values()))
        else:
            live = self.timeline.phases[-1].server.live_bytes
            assert live is not None  # under the meter
            self.live_bytes[name] = live

    def name_call_sites(self, name: str) -> None:
        """Call sites are not asked for."""


def read_massif(file: Path) -> int:
    """Return the bytes that are requested and not freed in the process of a snapshot."""
    return int(LIVE.findall(file.read_text())[-1])


def count_live(server: Server, program: Program, one: LiveRun) -> dict[str, int]:
    """Return live bytes of the server at the end of each phase."""
    with (
        Network() as network,
        MemoryGroup("server") as held,
        MemoryGroup("client") as own,
        RunningServer(server, program, one.meter, one.connections, one.protocol, network, held) as started,
        Clients(network, own, one.connections) as clients,
    ):
        counting = Counting(one, started, clients, (held, own), Timeline())
        counting.live_bytes = {}
        counting.measure()
        return counting.live_bytes


def compare(server: Server, connections: int) -> Iterator[CountedRow]:
    """Yield the states of both transports. Raises UserError."""
    program = find_program(server)
    build = f"{server.name} on {server.stack}" if server.stack else server.name
    for transport in ("plain", "tls"):
        found: dict[LiveMeter, dict[str, int]] = {}
        meters: tuple[LiveMeter, LiveMeter] = ("heap", "sites")
        for meter in meters:
            one = LiveRun(
                *(server.name, transport, meter, connections, WINDOW),
                waves=0,
                idle_s=1.0,
                settle_s=1.0,
                stack=server.stack,
            )
            print(f"check-live: {str(one).replace(' sites', ' massif')}", file=sys.stderr)
            found[meter] = count_live(server, program, one)
        for state in STATES:
            if state in found["heap"]:
                by_meter, by_massif = (found[name][state] - found[name]["started"] for name in meters)
                yield CountedRow(build, transport, connections, state, by_meter, by_massif)


def count(pairs: list[tuple[str, str]], numbers: list[int]) -> int:
    """Print a row for each state of each server on a stack; return the exit status."""
    live_run.LIMIT_S *= 5  # valgrind is slow
    table = Table("check-live", "Live heap by two counters", "Bytes beyond those without connections.", list(COLUMNS))
    servers = [choose_stack(SERVERS[name], stack) for name, stack in pairs]
    rows = [row for server in servers for number in numbers for row in compare(server, number)]
    table.add_rows(rows)
    render.print_all([table], None)
    wrong = [row for row in rows if row.differs]
    print(f"check-live: {len(rows) - len(wrong)} of {len(rows)} figures are equal to the byte")
    return 1 if wrong else 0
