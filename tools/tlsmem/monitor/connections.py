"""The connections of a port, and what live heap they add."""

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tlsmem.monitor.sums import sum_live
from tlsmem.monitor.tree import RUNNING, MeteredProgram
from tlsmem.run.heap_page import ROLES

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
