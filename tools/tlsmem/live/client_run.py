"""A live run of a client: a program of a managed runtime that connects to the Go server of this repository.

The program is started, read and collected as a server is, and told on stdin what to do: `connect tls 100` opens so many
connections at once, verified; `ask small` and `ask full` send a request on each, one after the other, and wait for the
answer; `close` closes all."""

import time

from tlsmem.live.cgroup import MemoryGroup
from tlsmem.live.live_run import WARM_UP, LiveRun, Timeline, close_and_repeat
from tlsmem.live.network import Network
from tlsmem.live.running_server import RunningServer
from tlsmem.live.servers import GO_SERVER, Program, Server, find_program

LIMIT_S = 120.0  # for a command


class MeasuringClient:
    """A program and its peer, taken from phase to phase."""

    def __init__(
        self, run: LiveRun, client: RunningServer, groups: tuple[MemoryGroup, MemoryGroup], timeline: Timeline
    ) -> None:
        self.run, self.client, self.groups, self.timeline = run, client, groups, timeline
        self.open = 0
        self.negotiated: dict[str, str] | None = None

    def end_phase(self, name: str) -> None:
        """Wait until the program is at rest, and read."""
        self.timeline.end_phase(name, self.client, self.groups, self.open)

    def connect(self, count: int) -> None:
        """Open so many connections, verified over TLS, a window at a time."""
        window = count if self.run.transport == "plain" else self.run.window
        for begin in range(0, count, window):
            some = min(window, count - begin)
            answer = self.client.ask(f"connect {self.run.transport} {some}", LIMIT_S)
            self.negotiated = answer or None
            self.open += some

    def close(self) -> None:
        self.client.ask("close", LIMIT_S)
        self.open = 0

    def measure(self) -> None:
        """All phases, in order."""
        self.connect(min(WARM_UP, self.run.connections))
        self.client.ask("ask small", LIMIT_S)
        self.client.ask("ask full", LIMIT_S)
        self.close()
        self.client.collect()
        self.end_phase("started")
        self.connect(self.run.connections)
        self.end_phase("established")
        self.client.ask("ask small", LIMIT_S)
        self.end_phase("one request")
        self.client.ask("ask full", LIMIT_S)
        self.end_phase("full records")
        time.sleep(self.run.idle_s)
        self.end_phase("idle")
        self.client.collect()
        self.end_phase("collected")
        close_and_repeat(self)


def measure_client(run: LiveRun, client: Server, program: Program, timeline: Timeline) -> dict[str, str] | None:
    """Make a run of a client, as `live_run.measure` does of a server.

    Return what was negotiated; None without TLS. Raises ServerError with a sentence."""
    peer = find_program(GO_SERVER)
    with (
        Network() as network,
        MemoryGroup("server") as served,
        MemoryGroup("client") as own,
        RunningServer(GO_SERVER, peer, "rss", run.connections, run.protocol, network, served),
        RunningServer(client, program, run.meter, run.connections, run.protocol, network, own) as started,
        timeline.watch(started, own),
    ):
        measuring = MeasuringClient(run, started, (own, served), timeline)
        measuring.measure()
        return measuring.negotiated
