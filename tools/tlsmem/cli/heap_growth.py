"""What grew since heap.py began to look: a table of programs and roles, the most growth first."""

from collections.abc import Iterable, Mapping

from tlsmem.run.heap_metrics import RoleCounts, role_counts
from tlsmem.run.heap_tree import MeteredProgram
from tlsmem.tables.table import Cell, Column, Table, integer_cell, missing_cell

MINUTE_S = 60
SETTLING_S = 1  # sooner, a rate says nothing
CAPTION = "Live bytes and blocks now, and what they grew by since the first look."
NO_CONNECTIONS = "there are no connections"


class Growth:
    """What each program held for each role when it was first looked at."""

    def __init__(self) -> None:
        self.first: dict[tuple[MeteredProgram, str], int] = {}

    def grown(self, programs: Iterable[MeteredProgram]) -> list[tuple[RoleCounts, int]]:
        """Return what runs with the bytes by which it grew, the most first."""
        rows = []
        for one in role_counts(programs):
            first = self.first.setdefault((one.program, one.role), one.counts.live_bytes)
            rows.append((one, one.counts.live_bytes - first))
        return sorted(rows, key=lambda row: -row[1])

    def line(self, seconds: float, programs: Iterable[MeteredProgram], connections: Mapping[int, int]) -> str:
        """Return one line for each, where there is no terminal."""
        known = "".join(f", {count:,} connections of port {port}" for port, count in connections.items())
        return "".join(
            f"heap: {seconds:.1f} s  {one.program.page.program}[{one.program.page.pid}] {one.role}: "
            f"live {one.counts.live_bytes:,} B in {one.counts.live_blocks:,} blocks, grew {grew:+,} B{known}\n"
            for one, grew in self.grown(programs)
        )

    def table(
        self, what: str, seconds: float, programs: Iterable[MeteredProgram], connections: Mapping[int, int]
    ) -> Table:
        """Return the table, with what is live for each connection where these are counted."""
        columns = [Column("program", "program", left=True), Column("pid", "pid"), Column("role", "role", left=True)]
        columns += [Column("live_bytes", "live B"), Column("live_blocks", "blocks")]
        columns += [Column("growth_bytes", "grew B"), Column("growth_per_minute", "B a minute")]
        columns += [Column("connection_bytes", "live B a connection")] * bool(connections)
        total = sum(connections.values())
        rows = [self.row(one, grew, seconds) for one, grew in self.grown(programs)]
        if connections:
            for row in rows:
                share = integer_cell(round(row[3].value / total)) if total else missing_cell(NO_CONNECTIONS)
                row.append(share)
        known = "".join(f" Port {port}: {count:,} connections." for port, count in connections.items())
        return Table("growth", f"Growth of the heap of {what} after {seconds:.1f} s", CAPTION + known, columns, rows)

    def row(self, one: RoleCounts, grew: int, seconds: float) -> list[Cell]:
        """Return the cells of a program's role."""
        page = one.program.page
        rate = round(grew * MINUTE_S / seconds) if seconds >= SETTLING_S else None
        cells = [Cell(page.program, page.program), Cell(str(page.pid), page.pid), Cell(one.role, one.role)]
        cells += [integer_cell(one.counts.live_bytes), integer_cell(one.counts.live_blocks), signed_cell(grew)]
        return [*cells, missing_cell("less than a second") if rate is None else signed_cell(rate)]


def signed_cell(number: int) -> Cell:
    """`+1,024`."""
    return Cell(f"{number:+,}", number)
