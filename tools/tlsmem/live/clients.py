"""The clients of a live run, as it sees them: as many processes as the limit on open files asks for, which share the
connections in their order; commands in, answers out."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from types import TracebackType
from typing import Any

from tlsmem.base.paths import PACKAGE
from tlsmem.live.cgroup import MemoryGroup
from tlsmem.live.child import start_child
from tlsmem.live.network import Network
from tlsmem.live.servers import ServerError

SHARE = 19_000  # connections of one process at most: it has some 28,000 ports at a source address
STOP_S = 20.0  # for a process to end once its stdin has


class ClientProcess:
    """One process; `call("connect", count=10)`."""

    def __init__(self, number: int, network: Network, group: MemoryGroup) -> None:
        self.process = start_child(
            [*network.prefix, sys.executable, "-m", "tlsmem.live.client_process", f"127.0.{1 + number}.1"],
            signal.SIGKILL,
            join=group.add,
            env=os.environ | {"PYTHONPATH": str(PACKAGE.parent)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def stop(self, kill: bool) -> None:
        """End it by the end of its stdin, or at once."""
        assert self.process.stdin and self.process.stdout
        if kill:
            self.process.kill()
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()

    def call(self, command: str, **arguments: object) -> Any:
        """Let the process do something and return its answer. Raises ServerError with its sentence."""
        assert self.process.stdin and self.process.stdout
        with contextlib.suppress(BrokenPipeError):  # it has ended, as what it does not say tells
            print(json.dumps([command, arguments]), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise ServerError(f"the clients ended with {self.process.wait()} at {command}")
        answer = json.loads(line)
        if "failed" in answer:
            raise ServerError(answer["failed"])
        return answer["done"]


class Clients:
    """`with Clients(network, group, count) as clients`: for so many connections, in one process or several."""

    def __init__(self, network: Network, group: MemoryGroup, connections: int) -> None:
        self.network, self.group = network, group
        self.count = count_processes(connections)
        self.share = -(-connections // self.count)
        self.processes: list[ClientProcess] = []

    def __enter__(self) -> "Clients":
        try:
            for number in range(self.count):
                self.processes.append(ClientProcess(number, self.network, self.group))
        except BaseException:
            self.stop(kill=True)
            raise
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop(kill=error is not None)

    def stop(self, kill: bool) -> None:
        for one in self.processes:
            one.stop(kill)

    def call(self, command: str, **arguments: object) -> None:
        """Let each process do something with all its connections, one process after the other."""
        for one in self.processes:
            one.call(command, **arguments)

    def connect(self, begin: int, end: int) -> None:
        """Open these connections."""
        for one, first, last in self.split(begin, end):
            one.call("connect", count=last - first)

    def begin_handshakes(self, begin: int, end: int) -> None:
        """Begin those of these connections, and wait until the server has answered each."""
        for one, first, last in self.split(begin, end):
            one.call("begin_handshakes", begin=first, end=last)

    def finish_handshakes(self, begin: int, end: int) -> dict[str, str]:
        """Complete them. Return what was negotiated, alike of all."""
        found: list[dict[str, str]] = [
            one.call("finish_handshakes", begin=first, end=last) for one, first, last in self.split(begin, end)
        ]
        if any(one != found[0] for one in found):
            raise ServerError(f"connections of one run negotiated different things: {found}")
        return found[0]

    def greet(self, begin: int, end: int) -> None:
        """Say what the protocol begins with on these connections."""
        for one, first, last in self.split(begin, end):
            one.call("greet", begin=first, end=last)

    def split(self, begin: int, end: int) -> Iterator[tuple[ClientProcess, int, int]]:
        """Yield each process that has some of these connections, and which of its own they are."""
        for number, one in enumerate(self.processes):
            first = number * self.share
            low, high = max(begin, first), min(end, first + self.share)
            if low < high:
                yield one, low - first, high - first


def count_processes(connections: int) -> int:
    """Return how many client processes so many connections take."""
    return -(-connections // SHARE)
