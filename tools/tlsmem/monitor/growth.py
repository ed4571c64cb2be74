"""What grew since tls-memtest heap began to look: a table of programs and roles, the most growth first."""

import json
from collections.abc import Iterable

from tlsmem.monitor.connections import ConnectionGrowth, RoleLive, describe_connections, live_by_role
from tlsmem.monitor.tree import MeteredProgram
from tlsmem.tables.table import Cell, Heading, Table, integer_cell, missing_cell

MINUTE_S = 60
SETTLING_S = 1  # sooner, a rate says nothing
CAPTION = "Live bytes and blocks now, without those inherited at a fork, and what they grew by since the first look."
FEWEST = " For each connection: what grew since there were {fewest:,}, the fewest that were seen."
NO_MORE = "there are no more connections than at the fewest: only above these, growth is theirs"


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
