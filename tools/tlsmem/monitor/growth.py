"""What grew since tls-memtest heap began to look, by program and role, and with the connections of a port."""

import contextlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tlsmem.monitor.tree import RUNNING, MeteredProgram, sum_live
from tlsmem.run.heap_page import ROLES
from tlsmem.tables.table import Cell, Heading, Table, integer_cell, missing_cell

MINUTE_S = 60
SETTLING_S = 1  # sooner, a rate says nothing
CAPTION = "Live bytes and blocks now, without those inherited at a fork, and what they grew by since the first look."
FEWEST = " For each connection: what grew since there were {fewest:,}, the fewest that were seen."
NO_MORE = "there are no more connections than at the fewest: only above these, growth is theirs"
ESTABLISHED = "01"  # as /proc/net/tcp has it
UNTAGGED, CONTEXTS = ROLES[0], ("client_context", "server_context")


class RoleLive(NamedTuple):
    """What a program has requested for a role and not freed, without what it inherited at a fork: `untagged` for all of
    a program that names no roles."""

    program: MeteredProgram
    role: str
    bytes: int
    blocks: int


class Fewest(NamedTuple):
    """A reading with the fewest connections: how many there were, what was live in all, and by program and role."""

    connections: int
    live_bytes: int
    roles: dict[tuple[MeteredProgram, str], int]


class ConnectionGrowth:
    """What connections add: live heap above the last reading with the fewest connections.

    What was live before them, certificates and other contexts, is not theirs. One thread may ask while another
    observes."""

    def __init__(self) -> None:
        self.fewest: Fewest | None = None

    def observe(self, programs: Iterable[MeteredProgram], connections: int) -> None:
        """Take a reading of the running programs, and how many connections there were."""
        if self.fewest is None or connections <= self.fewest.connections:
            programs = list(programs)
            roles = {(one.program, one.role): one.bytes for one in live_by_role(programs)}
            self.fewest = Fewest(connections, live_of_connections(programs), roles)

    def above(self, programs: Iterable[MeteredProgram], connections: int) -> tuple[int, int] | None:
        """Return live bytes and connections above those of the reading; None before there is one."""
        if self.fewest is None:
            return None
        return live_of_connections(programs) - self.fewest.live_bytes, connections - self.fewest.connections


def live_by_role(programs: Iterable[MeteredProgram]) -> Iterator[RoleLive]:
    """Yield what each running program has requested for each role, untagged first, without roles that never held a
    block."""
    for program in programs:
        if program.state == RUNNING:
            for role in ROLES[:-1]:  # the last is the total
                counts, inherited = program.page.roles[role], (0, 0)
                if role == UNTAGGED:
                    inherited = program.page.inherited_live
                if role == UNTAGGED or counts.cumulative_blocks:
                    yield RoleLive(program, role, counts.live_bytes - inherited[0], counts.live_blocks - inherited[1])


def live_of_connections(programs: Iterable[MeteredProgram]) -> int:
    """Return the live bytes of the running programs together, without those of roles that are contexts."""
    running = [program for program in programs if program.state == RUNNING]
    contexts = sum(one.bytes for one in live_by_role(running) if one.role in CONTEXTS)
    return sum_live(running).bytes - contexts


def count_connections(pid: int, port: int) -> int | None:
    """Return the established connections of a local port in the network namespace of the process; None where that
    cannot be read."""
    try:
        lines = Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]
    except OSError:
        return None
    with contextlib.suppress(OSError):  # a kernel without IPv6
        lines += Path(f"/proc/{pid}/net/tcp6").read_text().splitlines()[1:]
    return sum(is_established(line, port) for line in lines)


def is_established(line: str, port: int) -> bool:
    """Return whether a line of /proc/net/tcp is such a connection: `sl local_address rem_address st ...`."""
    fields = line.split()
    return len(fields) > 3 and fields[3] == ESTABLISHED and int(fields[1].rpartition(":")[2], 16) == port


def describe_connections(connections: dict[int, int]) -> str:
    """Return them as sentences, each with a space before it."""
    return "".join(f" Port {port}: {count:,} connections." for port, count in connections.items())


class Growth:
    """What each program held for each role when it was first looked at, and with the fewest connections."""

    def __init__(self, of_connections: ConnectionGrowth) -> None:
        self.first: dict[tuple[MeteredProgram, str], int] = {}
        self.of_connections = of_connections

    def grown(self, programs: Iterable[MeteredProgram]) -> list[tuple[RoleLive, int]]:
        """Return what runs with the bytes by which it grew, the most first."""
        rows = []
        for one in live_by_role(programs):
            first = self.first.setdefault((one.program, one.role), one.bytes)
            rows.append((one, one.bytes - first))
        return sorted(rows, key=lambda row: -row[1])

    def for_each(self, one: RoleLive, connections: int) -> float | None:
        """Return the bytes that a role of a program grew by for each connection; None where there are no more than at
        the fewest."""
        fewest = self.of_connections.fewest
        if fewest is None or connections <= fewest.connections:
            return None
        return (one.bytes - fewest.roles.get((one.program, one.role), 0)) / (connections - fewest.connections)

    def lines(self, seconds: float, programs: Iterable[MeteredProgram], connections: dict[int, int]) -> str:
        """Return one line for each, where there is no terminal."""
        return "".join(
            f"heap: {seconds:.1f} s  {one.program.page.program}[{one.program.page.pid}] {one.role}: "
            f"live {one.bytes:,} B in {one.blocks:,} blocks, grew {grew:+,} B{self.describe_each(one, connections)}\n"
            for one, grew in self.grown(programs)
        )

    def describe_each(self, one: RoleLive, connections: dict[int, int]) -> str:
        each = self.for_each(one, sum(connections.values()))
        return "" if each is None else f", {each:+,.0f} B a connection"

    def ndjson(self, seconds: float, programs: Iterable[MeteredProgram], connections: dict[int, int]) -> str:
        """Return an object for each, a line each."""
        total = sum(connections.values())
        objects = [
            {
                "record": "growth",
                "seconds": round(seconds, 3),
                "pid": one.program.page.pid,
                "program": one.program.page.program,
                "role": one.role,
                "live_bytes": one.bytes,
                "live_blocks": one.blocks,
                "growth_bytes": grew,
                "connection_bytes": self.for_each(one, total) if connections else None,
            }
            for one, grew in self.grown(programs)
        ]
        return "".join(json.dumps(one) + "\n" for one in objects)

    def table(
        self, what: str, seconds: float, programs: Iterable[MeteredProgram], connections: dict[int, int]
    ) -> Table:
        """Return the table, with growth for each connection where these are counted."""
        columns = [Heading("program", "program", left=True), Heading("pid", "pid"), Heading("role", "role", left=True)]
        columns += [Heading("live_bytes", "live B"), Heading("live_blocks", "blocks")]
        columns += [Heading("growth_bytes", "grew B"), Heading("growth_per_minute", "B a minute")]
        columns += [Heading("connection_bytes", "grew B a connection")] * bool(connections)
        rows = []
        for one, grew in self.grown(programs):
            rows.append(self.row(one, grew, seconds))
            if connections:
                each = self.for_each(one, sum(connections.values()))
                rows[-1].append(missing_cell(NO_MORE) if each is None else integer_cell(round(each)))
        caption = CAPTION + describe_connections(connections)
        if connections and self.of_connections.fewest:
            caption += FEWEST.format(fewest=self.of_connections.fewest.connections)
        return Table("growth", f"Growth of the heap of {what} after {seconds:.1f} s", caption, columns, rows)

    def row(self, one: RoleLive, grew: int, seconds: float) -> list[Cell]:
        """Return the cells of a program's role."""
        page = one.program.page
        rate = round(grew * MINUTE_S / seconds) if seconds >= SETTLING_S else None
        cells = [Cell(page.program, page.program), Cell(str(page.pid), page.pid), Cell(one.role, one.role)]
        cells += [integer_cell(one.bytes), integer_cell(one.blocks), signed_cell(grew)]
        return [*cells, missing_cell("less than a second") if rate is None else signed_cell(rate)]


def signed_cell(number: int) -> Cell:
    """`+1,024`."""
    return Cell(f"{number:+,}", number)
