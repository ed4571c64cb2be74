"""Kernel memory of an idle TCP connection: loopback connections, both ends in an epoll set, against the slabs.

Pages of slabs, not only objects, from /proc/slabinfo, which only root may read."""

import argparse
import platform
import resource
import select
import socket
import sys
import time
from itertools import starmap
from pathlib import Path
from typing import NamedTuple

from tlsmem.tables import render
from tlsmem.tables.table import Cell, Column, Table

SLABS = Path("/proc/slabinfo")
PORTS = 20_000  # connections from one address: Linux has some 28,000 ports for them
FIRST = 200  # connections that are made before, so that caches are there
SHOWN = 4  # bytes: less is in the row of others
SETTLE_S = 1.0


def slabs() -> dict[str, int]:
    """Bytes of the pages of each cache."""
    lines = [line.split() for line in SLABS.read_text().splitlines()[2:]]
    return {words[0]: int(words[14]) * int(words[5]) * resource.getpagesize() for words in lines}


class Connections:
    """Loopback connections with both ends in one epoll set."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.poll = select.epoll()
        self.ends: list[socket.socket] = []

    def add(self, count: int) -> None:
        """Make so many connections more. Raises OSError where there are not enough files or ports."""
        for _ in range(count):
            source = f"127.0.{1 + len(self.ends) // 2 // PORTS}.1"
            client = socket.create_connection(self.listener.getsockname(), source_address=(source, 0))
            for end in (client, self.listener.accept()[0]):
                end.setblocking(False)
                self.poll.register(end, select.EPOLLIN)
                self.ends.append(end)


def measure_connection_bytes(pairs: int) -> dict[str, float]:
    """Bytes of a connection by cache. OSError where it may not be read, or the system has not so many files."""
    limit = 2 * (pairs + FIRST) + 64
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, max(limit, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
    made = Connections()
    made.add(FIRST)
    time.sleep(SETTLE_S)
    before = slabs()
    made.add(pairs)
    time.sleep(SETTLE_S)
    return {name: (size - before.get(name, 0)) / (2 * pairs) for name, size in slabs().items()}


class SlabRow(NamedTuple):
    """A cache of the kernel."""

    name: str
    bytes_per_connection: float


COLUMNS = (
    Column("slab", "slab", left=True, value=lambda row: row.name),
    Column(
        "bytes",
        "bytes a connection",
        value=lambda row: row.bytes_per_connection,
        form=lambda size: Cell(f"{size:,.0f}", round(size, 1)),
    ),
)


def table(pairs: int, found: dict[str, float]) -> Table:
    """Bytes by slab, the largest first; the small ones in one row."""
    caption = f"{2 * pairs:,} ends of {pairs:,} loopback connections, Linux {platform.release()}, {platform.machine()}."
    made = Table("kernel", "Kernel memory of an idle TCP connection", caption, [*COLUMNS])
    large = {name: size for name, size in found.items() if abs(size) >= SHOWN}
    rows = dict(sorted(large.items(), key=lambda one: -one[1]))
    rows |= {"others": sum(found.values()) - sum(large.values()), "all": sum(found.values())}
    made.add_rows(starmap(SlabRow, rows.items()))
    return made


def run(given: argparse.Namespace) -> None:
    """Print the table; exits with a sentence where /proc/slabinfo cannot be read."""
    try:
        render.print_all([table(given.pairs, measure_connection_bytes(given.pairs))], given.format)
    except (OSError, ValueError) as error:
        sys.exit(
            f"kernel_bytes: {error}; run it as root (for /proc/slabinfo), with two open files allowed for each pair"
        )
