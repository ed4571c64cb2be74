"""The process of the clients, as a live run sees it: commands in, answers out."""

import contextlib
import json
import os
import subprocess
import sys
from types import TracebackType
from typing import Any

from tlsmem.base.paths import ROOT
from tlsmem.live.cgroup import MemoryGroup
from tlsmem.live.network import Network
from tlsmem.live.servers import ServerError


class Clients:
    """`with Clients(network, group) as clients`; `clients.call("connect", count=10)`."""

    def __init__(self, network: Network, group: MemoryGroup) -> None:
        self.network, self.group = network, group

    def __enter__(self) -> "Clients":
        words = [*self.network.prefix, sys.executable, "-m", "tlsmem.live.client_process"]
        self.process = subprocess.Popen(
            words,
            env=os.environ | {"PYTHONPATH": str(ROOT / "tools")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: self.group.add(os.getpid()),
        )
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self.process.stdin and self.process.stdout
        if error:
            self.process.kill()
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def call(self, command: str, **arguments: Any) -> Any:
        """Let the clients do something and return their answer. Raises ServerError with their sentence."""
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
