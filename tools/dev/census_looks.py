"""What the census says of a program in each state, compared with known values."""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from census_servers import Client, Running, TlsServer, start
from tlsmem.base.errors import UserError
from tlsmem.census.census import ProcessCensus, take_census
from tlsmem.census.sessions import SessionGroup, add_up_sockets
from tlsmem.census.sockets import SocketState, count_established
from tlsmem.live.network import Network
from tlsmem.live.running_server import read_status
from tlsmem.monitor.process import preload_value
from tlsmem.run.heap_page import OpenPage
from tlsmem.stats.missing import Missing

ARRIVED_S, STILL_S = 10.0, 0.4  # for connections to be there, or gone; and for the server to come to rest
SHARE = re.compile(r"^Pss_Anon: +(\d+) kB", re.MULTILINE)
CLOSED = "all closed"
BEFORE_SILENT = 3  # so many steps open sessions and close them
BEFORE_HELLO = 4  # so many steps send no hello that stops


class Step(NamedTuple):
    """What the client does, and how many sessions and connections there are then, of so many that were opened."""

    state: str
    verbs: tuple[tuple[str, Callable[[int], int]], ...]
    count: Callable[[int, bool], int]  # of N, and whether the server makes a session for a silent peer
    connections: Callable[[int], int]


def all_of(n: int) -> int:
    return n


def half(n: int) -> int:
    return n // 2


def rest(n: int) -> int:
    return n - n // 2


def none(_: int) -> int:
    return 0


STEPS = (
    Step("all open", (("open", all_of),), lambda n, _: n, all_of),
    Step("half closed", (("close", half),), lambda n, _: rest(n), rest),
    Step(CLOSED, (("close", rest),), lambda _n, _s: 0, none),
    Step("peer silent", (("silent", half),), lambda n, has_silent: half(n) if has_silent else 0, half),
    Step("half a hello", (("close", half), ("part", half)), lambda n, _: half(n), half),
    Step("hello only", (("close", half), ("hello", half)), lambda n, _: half(n), half),
)


@dataclass(frozen=True)
class Look:
    """One census. Bytes: of all processes of the program; `own_bio_bytes`: those of `tls_bytes` that the program keeps
    in BIOs of its own; `touched_bytes`: by how many RSS, page tables and Pss_Anon grew while it was looked at;
    `metered`: live bytes a session by the heap meter; `of_library`: chunks a session that the library allocated, by
    call stack."""

    program: str
    library: str
    state: str
    true: int
    counted: int
    tls_bytes: int
    own_bio_bytes: int | Missing
    anon_bytes: int
    parts_bytes: int
    touched_bytes: int
    seconds: float
    metered: float | Missing
    of_library: float | Missing
    with_socket: int | Missing

    @property
    def is_counted(self) -> bool:
        return abs(self.counted - self.true) <= self.true / 100


def look_at_server(
    server: TlsServer, network: Network, n: int, of_library: Mapping[str, float | Missing]
) -> Iterator[Look]:
    """Yield a look in each state; `of_library`: bytes a session by state. Raises UserError where it cannot be started
    or counted."""
    metered = read_meter(server, network, n)
    with start(server, network) as running, Client(network) as client:
        client.ask("open", 1)
        client.ask("close", 1)
        for step in list_steps(server):
            do_step(step, client, running, n)
            true = step.count(n, server.has_silent)
            each = metered[step.state] if true else Missing("there is no session")
            yield take_look(server.title, step.state, true, running.pids, each, of_library[step.state])


def look_at_client(
    server: TlsServer, network: Network, n: int, title: str, of_library: Mapping[str, float | Missing]
) -> Iterator[Look]:
    """Yield a look at the client itself in the states in which it has sessions of its own."""
    metered = read_meter(server, network, n, of_client=True)
    with start(server, network) as running, Client(network) as client:
        client.ask("open", 1)
        client.ask("close", 1)
        for step in list_steps(server, True):
            do_step(step, client, running, n)
            true = step.count(n, True)
            yield take_look(title, step.state, true, [client.process.pid], metered[step.state], of_library[step.state])


def list_steps(server: TlsServer, of_client: bool = False) -> Sequence[Step]:
    """Return what is done with a server; of its client, the steps in which that has sessions of its own."""
    if of_client:
        return STEPS[:BEFORE_SILENT]
    return STEPS[:BEFORE_HELLO] if server.waits_for_one else STEPS


def do_step(step: Step, client: Client, running: Running, n: int) -> None:
    for verb, count in step.verbs:
        client.ask(verb, count(n))
    until, expected = time.monotonic() + ARRIVED_S, step.connections(n)
    if running.is_proxy and step in STEPS[:BEFORE_SILENT]:
        expected *= 2  # it has one to the server behind it for each session
    while count_connections(running.pids) != expected and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(STILL_S)


def count_connections(pids: Sequence[int]) -> int:
    return sum(count_established(pid) or 0 for pid in pids)


def take_look(
    program: str, state: str, true: int, pids: Sequence[int], metered: float | Missing, of_library: float | Missing
) -> Look:
    before = wait_until_still(pids)
    began = time.monotonic()
    found, _ = take_census(pids)
    groups = [group for process in found for one in process.libraries for group in one.groups]
    seconds = time.monotonic() - began
    touched = sum(map(read_sizes, pids)) - before
    titles = dict.fromkeys(one.library.title for process in found for one in process.libraries)
    return Look(
        program=program,
        library=", ".join(titles),
        state=state,
        true=true,
        counted=sum(one.sessions for one in found),
        tls_bytes=sum(group.bytes for group in groups),
        own_bio_bytes=add_up_own_bios(groups),
        anon_bytes=sum(one.rss.anon_bytes for one in found),
        parts_bytes=sum(one.rss.anon_bytes - one.rss.unexplained_bytes for one in found),
        touched_bytes=touched,
        seconds=seconds,
        metered=metered,
        of_library=of_library,
        with_socket=count_open(found),
    )


def add_up_own_bios(groups: Sequence[SessionGroup]) -> int | Missing:
    sizes = [group.own_bio_bytes for group in groups]
    if None in sizes:
        return Missing("its file does not say what a BIO is")
    return sum(filter(None, sizes))


def count_open(found: Sequence[ProcessCensus]) -> int | Missing:
    """Return how many sessions have their socket open, if it is told of all."""
    counts = add_up_sockets(group for process in found for one in process.libraries for group in one.groups)
    if counts[SocketState.UNKNOWN]:
        return Missing("its sessions read through memory BIOs, or BIOs of its own")
    return counts[SocketState.OPEN]


def wait_until_still(pids: Sequence[int]) -> int:
    """Return what read_sizes() gives of all, in bytes, once they have not changed for a while: collectors work on by
    themselves."""
    until, since, last = time.monotonic() + ARRIVED_S, time.monotonic(), sum(map(read_sizes, pids))
    while time.monotonic() < min(until, since + STILL_S):
        time.sleep(0.05)
        now = sum(map(read_sizes, pids))
        if now != last:
            since, last = time.monotonic(), now
    return last


def read_sizes(pid: int) -> int:
    """Return RSS, page tables and the proportional share in anonymous memory of a process, in bytes: that grows where
    pages that it shares since a fork become its own, and RSS does not."""
    status = read_status(pid)
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return status["VmRSS"] + status["VmPTE"] + 1024 * int(SHARE.search(rollup)[1])  # type: ignore[index]


def read_meter(server: TlsServer, network: Network, n: int, of_client: bool = False) -> dict[str, float | Missing]:
    """Return live bytes a session in each state by the heap meter: what the server, or its client, holds beyond what it
    holds once all have closed, so what it made once and keeps is not in it."""
    live: dict[str, int] = {}
    steps = list_steps(server, of_client)
    own = {"LD_PRELOAD": preload_value()} if of_client else {}
    try:
        with start(server, network, is_metered=not of_client) as running, Client(network, own) as client:
            client.ask("open", 1)
            client.ask("close", 1)
            for step in steps:
                do_step(step, client, running, n)
                pids = [client.process.pid] if of_client else running.pids
                live[step.state] = sum(map(read_live_bytes, pids))
    except UserError as error:
        return {step.state: Missing(f"under the heap meter: {error}") for step in steps}
    each: dict[str, float | Missing] = {}
    for step in steps:
        count = step.connections(n)
        each[step.state] = (live[step.state] - live[CLOSED]) / count if count else Missing("there is no session")
    return each


def read_live_bytes(pid: int) -> int:
    """Raises UserError where the process is not under the meter."""
    try:
        page = OpenPage(pid)
    except (OSError, ValueError):
        name = Path(f"/proc/{pid}/comm").read_text().strip()
        raise UserError(f"{name} has a process that is not counted") from None
    try:
        return page.read().total.live_bytes
    finally:
        page.close()
