"""The truth of the column of bytes: what a TLS library allocates for a session, by the call stack of each block.

heaptrack records the stacks of a server in one process. Blocks with a frame of the library are the library's, whoever
frees them; what the program allocates for itself is not in it."""

import asyncio
import re
import tempfile
import time
from pathlib import Path

from census_looks import CLOSED, do_step, list_steps
from census_servers import Client, TlsServer, start
from tlsmem.base.errors import UserError
from tlsmem.live.configuration_run import find_preload
from tlsmem.live.network import Network
from tlsmem.live.servers import ServerError
from tlsmem.profile.capture.heaptrack_interpreter import interpret
from tlsmem.profile.errors import CaptureFailed, Unreadable
from tlsmem.profile.frames import Frame
from tlsmem.profile.heap_profile import END
from tlsmem.profile.open_profile import open_profile
from tlsmem.stats.missing import Missing

LIBRARIES = re.compile(r"/lib(ssl|crypto|gnutls|nettle|hogweed|gmp)\.so")
FUNCTIONS = re.compile(r"(SSL|ssl3|ssl|tls|CRYPTO|BIO|EVP|X509)_[A-Za-z0-9_]+$")  # of a library linked into a program
INTERPRET_S, WRITTEN_S = 120.0, 30.0


def read_library_bytes(server: TlsServer, network: Network, n: int) -> dict[str, float | Missing]:
    """Return the live bytes of the library a session in each state, beyond what is live once all have closed."""
    if server.root:
        return {step.state: Missing("heaptrack is not in that system") for step in list_steps(server)}
    live: dict[str, int] = {}
    try:
        with tempfile.TemporaryDirectory(prefix="memtest-census-") as folder:
            raw = Path(folder, "raw")
            alone = server._replace(configure=server.configure_alone or server.configure)
            variables = {"LD_PRELOAD": str(find_preload()), "DUMP_HEAPTRACK_OUTPUT": str(raw)}
            with start(alone, network, variables) as running, Client(network) as client:
                client.ask("open", 1)
                client.ask("close", 1)
                for step in list_steps(server):
                    do_step(step, client, running, n)
                    wait_until_written(raw)
                    live[step.state] = sum_library_bytes(raw, Path(folder))
    except (UserError, ServerError, CaptureFailed, Unreadable, OSError) as error:
        return {step.state: Missing(str(error)) for step in list_steps(server)}
    each: dict[str, float | Missing] = {}
    for step in list_steps(server):
        count = step.count(n, server.has_silent)
        each[step.state] = (live[step.state] - live[CLOSED]) / count if count else Missing("there is no session")
    return each


def wait_until_written(raw: Path) -> None:
    """heaptrack writes when its buffer is full, which its clock alone fills in 3 to 6 s: what was in it is written with
    the second one at the latest."""
    until, sizes = time.monotonic() + WRITTEN_S, {raw.stat().st_size}
    while len(sizes) < 3:
        if time.monotonic() > until:
            raise UserError(f"it wrote nothing within {WRITTEN_S:.0f} s")
        time.sleep(0.1)
        sizes.add(raw.stat().st_size)


def sum_library_bytes(raw: Path, folder: Path) -> int:
    """Return what a recording that still grows has as live so far, of blocks that the library allocated."""
    whole, file = folder / "whole", folder / "heaptrack.zst"
    whole.write_bytes(raw.read_bytes().rpartition(b"\n")[0] + b"\n")
    asyncio.run(interpret("the census's check", whole, file, INTERPRET_S))
    profile = open_profile(file)
    return sum(
        held.bytes for stack, held in profile.live(END).items() if any(map(is_of_library, profile.stacks.frames(stack)))
    )


def is_of_library(frame: Frame) -> bool:
    return bool(LIBRARIES.search(frame.module or "") or FUNCTIONS.match(frame.function or ""))
