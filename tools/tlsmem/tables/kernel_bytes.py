"""Kernel memory of an idle TCP connection: each end apart, and the slabs of both.

A column is one entry of its table's columns: what it takes of a row, and how that is written."""

import platform
from itertools import starmap
from typing import NamedTuple

from tlsmem.live.idle_sockets import IdleSockets
from tlsmem.tables.table import Cell, Column, Table

SHOWN = 4  # bytes: less is in the row of others
ENDS = "{connections:,} loopback connections without data, each end in an epoll set, Linux {kernel}, {machine}."


class SizeRow(NamedTuple):
    """An end, or a cache of the kernel."""

    name: str
    bytes_per_connection: float


def size_column() -> Column:
    return Column(
        "bytes",
        "bytes a connection",
        value=lambda row: row.bytes_per_connection,
        form=lambda size: Cell(f"{size:,.0f}", round(size, 1)),
    )


def end_table(connections: int, found: IdleSockets) -> Table:
    """A row for each end."""
    caption = ENDS.format(connections=connections, kernel=platform.release(), machine=platform.machine())
    caption += " What the kernel charges to the memory cgroup of each process."
    columns = [Column("end", "end", left=True, value=lambda row: row.name), size_column()]
    made = Table("kernel", "Kernel memory of an idle TCP connection", caption, columns)
    made.add_rows([SizeRow("server", found.server_bytes), SizeRow("client", found.client_bytes)])
    return made


def slab_table(found: IdleSockets) -> Table:
    """Bytes by slab, the largest first; the small ones in one row."""
    caption = "Whole pages of slabs that a connection adds, both ends together, whoever is charged for them."
    columns = [Column("slab", "slab", left=True, value=lambda row: row.name), size_column()]
    made = Table("slabs", "What it consists of", caption, columns)
    large = {name: size for name, size in found.slabs.items() if abs(size) >= SHOWN}
    rows = dict(sorted(large.items(), key=lambda one: -one[1]))
    every = sum(found.slabs.values())
    rows |= {"others": every - sum(large.values()), "all": every}
    made.add_rows(starmap(SizeRow, rows.items()))
    return made
