"""What made figures of real servers wrong: each in a small server of our own that does nothing else. As root."""

import os
import sys
from pathlib import Path

import pytest

from tlsmem.live.live_run import LiveRun, Timeline, measure
from tlsmem.live.packaged import become
from tlsmem.live.servers import Ports, Program, Server, ServerError
from tlsmem.monitor.program_file import METER_IS_CLOSED_BY
from tlsmem.schema.live_records import LivePhase
from tlsmem.stats import live_costs

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces and memory cgroups need root"),
]
MIB = 2**20
CONNECTIONS = 5
PORTS = Ports(8080, 8080)
# It allocates 16 MiB, and then answers PING, each connection in a process of its own.
FORKS = """
import os, signal, socket, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
held = [bytearray(65536) for _ in range(256)]
listener = socket.create_server(("127.0.0.1", 8080))
while True:
    connection = listener.accept()[0]
    if not os.fork():
        listener.close()
        own = bytearray(100_000)
        while connection.recv(100):
            connection.sendall(b"+PONG\\r\\n")
        os._exit(0)
    connection.close()
"""
# It takes 64 MiB for the first request after a start or a pause, and gives them back 2 s later.
TIMER = """
import mmap, select, socket, time
listener = socket.create_server(("127.0.0.1", 8080))
open_now, held = {listener.fileno(): listener}, None
poll = select.poll()
poll.register(listener, select.POLLIN)
while True:
    events = poll.poll(2000)
    if not events and held:
        held = held.close()
    for number, _ in events:
        if number == listener.fileno():
            connection = listener.accept()[0]
            open_now[connection.fileno()] = connection
            poll.register(connection, select.POLLIN)
        elif open_now[number].recv(100):
            if not held:
                held = mmap.mmap(-1, 64 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
                for at in range(0, 64 << 20, 4096):
                    held[at] = 1
            open_now[number].sendall(b"+PONG\\r\\n")
        else:
            poll.unregister(number)
            open_now.pop(number).close()
"""


# It requests 1 MiB for each connection, and writes none of it, as servers with large buffers do.
UNWRITTEN = """
import ctypes, select, socket
malloc = ctypes.CDLL(None).malloc
malloc.argtypes, malloc.restype = [ctypes.c_size_t], ctypes.c_void_p
listener = socket.create_server(("127.0.0.1", 8080))
open_now = {listener.fileno(): listener}
poll = select.poll()
poll.register(listener, select.POLLIN)
while True:
    for number, _ in poll.poll():
        if number == listener.fileno():
            connection = listener.accept()[0]
            open_now[connection.fileno()] = connection
            poll.register(connection, select.POLLIN)
            malloc(1 << 20)
        elif open_now[number].recv(100):
            open_now[number].sendall(b"+PONG\\r\\n")
        else:
            poll.unregister(number)
            open_now.pop(number).close()
"""


def take(script: str, meter: str, **changes) -> dict[str, LivePhase]:
    """Return the phases of a run of plain connections, by name."""
    return {phase.phase: phase for phase in take_timeline(script, meter, **changes).phases}


def take_timeline(script: str, meter: str, **changes) -> Timeline:
    """Return what a run of plain connections has found."""
    server = Server(
        name="script",
        program=sys.executable,
        package="",
        version="-V",
        full_bytes=None,
        largest=lambda descriptors: descriptors,
        configure=lambda setup: ["-S", write_script(setup.folder, script)],
        ports=PORTS,
        client={"protocol": "redis"},
    )._replace(**changes)
    run = LiveRun("script", "plain", meter, CONNECTIONS, CONNECTIONS, waves=0, idle_s=0.0, settle_s=0.0)
    timeline = Timeline()
    measure(run, server, Program("/usr/bin/python3", "", "0" * 64, None), timeline)
    return timeline


def write_script(folder: Path, script: str) -> str:
    (folder / "script.py").write_text(script)
    return str(folder / "script.py")


def live_bytes(phases: dict[str, LivePhase], name: str) -> int:
    found = live_costs.live_bytes(phases[name])
    assert found is not None
    return found


def test_what_is_inherited_at_a_fork_counts_once():
    phases = take(FORKS, "heap")
    assert phases["one request"].server.processes == 1 + CONNECTIONS
    each = (live_bytes(phases, "one request") - live_bytes(phases, "started")) / CONNECTIONS
    assert 100_000 <= each < MIB
    assert live_bytes(phases, "started") > 16 * MIB


@pytest.mark.skipif(
    METER_IS_CLOSED_BY is not None, reason=f"nobody may not read the meter: {METER_IS_CLOSED_BY} is closed"
)
def test_a_server_that_is_started_as_another_user_is_under_the_meter():
    phases = take(FORKS, "heap", prefix=become("nobody"))
    assert live_bytes(phases, "started") > 16 * MIB


def test_memory_that_a_timer_gives_back_is_waited_for():
    """With the usual 0.3 s, what its timer has yet to free counts."""
    phases = take(TIMER, "rss", still_s=3.0)
    assert all(phase.server.rss_anon_bytes < 32 * MIB for phase in phases.values())


def test_pages_that_are_never_written_are_live_and_not_resident():
    heap, rss = take(UNWRITTEN, "heap"), take(UNWRITTEN, "rss")
    added = live_bytes(heap, "established") - live_bytes(heap, "started")
    assert MIB <= added / CONNECTIONS < MIB + 65536
    resident = rss["established"].server.rss_anon_bytes - rss["started"].server.rss_anon_bytes
    assert resident / CONNECTIONS < 65536
    malloc = rss["established"].malloc
    assert malloc and malloc.chunk_bytes - malloc.chunk_resident_bytes > CONNECTIONS * (MIB - 65536)


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("raise SystemExit('no room')", "script ended with 1: no room"),
        (FORKS.replace("if not os.fork():", "if sys.exit('too many'):"), "script ended with 1: too many"),
        (FORKS.replace("+PONG", "-LOADING"), "the server answered b'-LOADING"),
    ],
    ids=["before it listens", "while clients connect", "another answer"],
)
def test_a_server_that_ends_or_answers_otherwise_is_a_sentence(script, sentence):
    with pytest.raises(ServerError, match=sentence):
        take(script, "rss")
