"""The server behind a proxy that is measured: a process of ours in the run's network, in a memory cgroup of its own,
so that neither its memory nor the kernel's for its ends is the proxy's."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

from tlsmem.base.paths import PACKAGE
from tlsmem.live.cgroup import MemoryGroup
from tlsmem.live.child import start_child
from tlsmem.live.network import Network
from tlsmem.live.servers import BACKEND_PORT, FULL_BYTES, Server, ServerError


@contextlib.contextmanager
def run_backend(server: Server, network: Network) -> Iterator[None]:
    """Run it as long as the block runs, if the server needs one. Raises ServerError where it does not start."""
    if not server.has_backend:
        yield
        return
    with MemoryGroup("backend") as group:
        process = start_child(
            [*network.prefix, sys.executable, "-m", "tlsmem.live.backend_process", str(BACKEND_PORT), str(FULL_BYTES)],
            signal.SIGKILL,
            join=group.add,
            env=os.environ | {"PYTHONPATH": str(PACKAGE.parent)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert process.stdin and process.stdout
        try:
            if process.stdout.readline() != "listening\n":
                raise ServerError(f"the server behind {server.name} ended with {process.wait()}")
            yield
        finally:
            process.stdin.close()
            process.wait()
            process.stdout.close()
