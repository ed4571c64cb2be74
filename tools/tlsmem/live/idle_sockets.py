"""What idle TCP connections cost the kernel at each end: sockets in memory cgroups of their own, and the slabs."""

import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import starmap
from pathlib import Path
from typing import NamedTuple

from tlsmem.base.paths import PACKAGE
from tlsmem.live.cgroup import MemoryGroup
from tlsmem.live.clients import Clients
from tlsmem.live.network import Network
from tlsmem.live.servers import PORTS, ServerError
from tlsmem.tables.table import Cell, Column, Table

SLABS = Path("/proc/slabinfo")
FIRST = 200  # connections that are made before, so that what the kernel makes once is there
SETTLE_S = 1.0
SPARE = 200  # descriptors
SHOWN = 4  # bytes: less is in the row of others
ENDS = "{connections:,} loopback connections without data, each end in an epoll set, Linux {kernel}, {machine}."


class IdleSockets(NamedTuple):
    """Bytes per connection. `slabs` are of both ends, by cache, in whole pages."""

    server_bytes: float
    client_bytes: float
    slabs: dict[str, float]


class Reading(NamedTuple):
    """What the kernel holds at one moment."""

    server: int
    client: int
    slabs: dict[str, int]


@contextmanager
def run_server(network: Network, group: MemoryGroup) -> Iterator[None]:
    """Run the server of this repository that holds what it accepts."""
    process = subprocess.Popen(
        [*network.prefix, sys.executable, "-m", "tlsmem.live.idle_server", str(PORTS.plain)],
        env=os.environ | {"PYTHONPATH": str(PACKAGE.parent)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: group.add(os.getpid()),
    )
    assert process.stdin and process.stdout
    try:
        if process.stdout.readline() != "listening\n":
            raise ServerError(f"the server of idle connections ended with {process.wait()}")
        yield
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()


def measure_idle_sockets(connections: int) -> IdleSockets:
    """Open so many connections and read what they add. Raises ServerError with a sentence."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard != resource.RLIM_INFINITY and connections + FIRST + SPARE > hard:
        raise ServerError(
            f"{connections:,} connections are more than the limit of {hard:,} open files allows; "
            f"the largest number that fits is {hard - FIRST - SPARE:,}"
        )
    with (
        Network() as network,
        MemoryGroup("server") as server,
        MemoryGroup("client") as client,
        run_server(network, server),
        Clients(network, client, connections + FIRST) as clients,
    ):
        descriptors = clients.share + SPARE
        clients.call("configure", port=PORTS.plain, root=None, protocol="", limit_s=60, descriptors=descriptors)
        clients.connect(0, FIRST)
        before = read(server, client)
        clients.connect(FIRST, FIRST + connections)
        after = read(server, client)
    return IdleSockets(
        (after.server - before.server) / connections,
        (after.client - before.client) / connections,
        {name: (size - before.slabs.get(name, 0)) / connections for name, size in after.slabs.items()},
    )


def read(server: MemoryGroup, client: MemoryGroup) -> Reading:
    """Return what the kernel holds, a moment later."""
    time.sleep(SETTLE_S)
    held = (group.read() for group in (server, client))
    ends = [one.kernel_bytes + one.tcp_bytes for one in held]
    return Reading(ends[0], ends[1], read_slabs())


def read_slabs() -> dict[str, int]:
    """Return the bytes of the pages of each cache of the kernel, of all processes. Raises ServerError where only root
    may read them."""
    try:
        lines = [line.split() for line in SLABS.read_text().splitlines()[2:]]
    except OSError as error:
        raise ServerError(f"{SLABS}: {error.strerror}") from None
    return {words[0]: int(words[14]) * int(words[5]) * resource.getpagesize() for words in lines}


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
