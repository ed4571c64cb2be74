"""The truth of the column of bytes: what a TLS library allocates for a session, by the call stack of each block.

heaptrack records the stacks of a server in one process. Blocks that a function of the library allocated are the
library's, whoever frees them. What the program allocates for itself is not, not even in functions that the library
calls, such as those of a BIO. What the library makes for each thread, its generators and its queue of errors, is no
session's."""

import asyncio
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from census_looks import CLOSED, do_step, list_steps, wait_until_still
from census_servers import Client, TlsServer, start
from tlsmem.base.errors import UserError
from tlsmem.census.live_heap import chunk_bytes
from tlsmem.live.configuration_run import find_preload
from tlsmem.live.network import Network
from tlsmem.live.servers import ServerError
from tlsmem.profile.capture.heaptrack_interpreter import interpret
from tlsmem.profile.errors import CaptureFailed, Unreadable
from tlsmem.profile.frames import Frame
from tlsmem.profile.heap_profile import END, LiveHeap
from tlsmem.profile.open_profile import open_profile
from tlsmem.stats.missing import Missing

LIBRARIES = re.compile(r"/lib(ssl|crypto|gnutls|nettle|hogweed|gmp|tasn1|p11-kit)\.so")
FUNCTIONS = re.compile(r"(SSL|ssl3|ssl|tls|CRYPTO|BIO|EVP|X509)_[A-Za-z0-9_]+$")  # of a library linked into a program
MODULE = re.compile(rb"^(?P<kind>[mx]) [0-9a-f]+ (?P<path>/\S+)", re.MULTILINE)  # with the length of its path
CPP = "::"  # in a name of C++, in which no TLS library that is counted is written
OF_THREADS = re.compile(r"RAND_(priv_)?bytes(_ex)?$|RAND_get0_(public|private)$|(OSSL_)?ERR_[A-Za-z0-9_]+$")
INTERPRET_S, WRITTEN_S = 120.0, 30.0


def read_library_bytes(
    server: TlsServer, network: Network, n: int, of_client: bool = False
) -> dict[str, float | Missing]:
    """Return what the library holds a session in each state, the server's or its client's, beyond what is there once
    all have closed: bytes of malloc's chunks."""
    live: dict[str, int] = {}
    steps = list_steps(server, of_client)
    try:
        with tempfile.TemporaryDirectory(prefix="memtest-census-") as name:
            folder = Path(name)
            folder.chmod(0o755)  # a worker that gave its rights up loads what is here
            raw = folder / "raw"
            variables = {**load_heaptrack(folder), "DUMP_HEAPTRACK_OUTPUT": str(raw)}
            alone = server._replace(configure=server.configure_alone or server.configure)
            of_server, own = ({}, variables) if of_client else (variables, {})
            with start(alone, network, of_server) as running, Client(network, own) as client:
                client.ask("open", 1)
                client.ask("close", 1)
                for step in steps:
                    do_step(step, client, running, n)
                    wait_until_still(running.pids)  # under heaptrack, handshakes take long
                    wait_until_written(raw)
                    live[step.state] = sum_library_bytes(raw, folder, server)
    except (UserError, ServerError, CaptureFailed, Unreadable, OSError, subprocess.CalledProcessError) as error:
        return {step.state: Missing(str(error)) for step in steps}
    each: dict[str, float | Missing] = {}
    for step in steps:
        count = step.count(n, server.has_silent)
        each[step.state] = (live[step.state] - live[CLOSED]) / count if count else Missing("there is no session")
    return each


def load_heaptrack(folder: Path) -> dict[str, str]:
    """Return the variables with which a program of any system loads heaptrack's library: from a folder, with the one
    that it needs and another system may lack."""
    preload = find_preload()
    needed = subprocess.run(["ldd", preload], capture_output=True, text=True, check=True).stdout
    for library in [str(preload), *re.findall(r"=> (\S*/libunwind\.so\S*)", needed)]:
        shutil.copy(library, folder)
    return {"LD_PRELOAD": str(folder / preload.name), "LD_LIBRARY_PATH": str(folder)}


def wait_until_written(raw: Path) -> None:
    """heaptrack writes when its buffer is full, which its clock alone fills in 3 to 6 s: what was in it is written with
    the second one at the latest."""
    until, sizes = time.monotonic() + WRITTEN_S, {raw.stat().st_size}
    while len(sizes) < 3:
        if time.monotonic() > until:
            raise UserError(f"it wrote nothing within {WRITTEN_S:.0f} s")
        time.sleep(0.1)
        sizes.add(raw.stat().st_size)


def sum_library_bytes(raw: Path, folder: Path, server: TlsServer) -> int:
    """Return the chunks that a recording that still grows has as live so far, of blocks that the library allocated, in
    bytes."""
    whole, file = folder / "whole", folder / "heaptrack.zst"
    lines = raw.read_bytes().rpartition(b"\n")[0] + b"\n"
    root = server.root.encode()
    whole.write_bytes(MODULE.sub(lambda line: place_module(line, root), lines) if root else lines)
    asyncio.run(interpret("the census's check", whole, file, INTERPRET_S))
    profile = open_profile(file)
    return sum(
        add_headers(held)
        for stack, held in profile.live(END).items()
        if is_of_library(profile.stacks.callers(stack), server.gives_memory)
    )


def add_headers(held: LiveHeap) -> int:
    """Return the sizes of malloc's chunks, of blocks of one call site: those of a session have one size each."""
    return held.blocks * chunk_bytes(round(held.bytes / held.blocks)) if held.blocks else 0


def place_module(line: re.Match[bytes], root: bytes) -> bytes:
    """Return the beginning of a line on a module, with the path that its file has here."""
    path = root + line["path"] if Path((root + line["path"]).decode()).is_file() else line["path"]
    return b"%s %x %s" % (line["kind"], len(path), path)


def is_of_library(callers: Sequence[Frame], is_given: bool) -> bool:
    """Return whether a function of the library allocated a block, for a session. `callers`: innermost first;
    `is_given`: the library's blocks are from functions of the program."""
    names = [frame.function or "" for frame in callers]
    if not names or any(map(OF_THREADS.match, names)):
        return False
    modules = [bool(LIBRARIES.search(frame.module or "")) for frame in callers]
    if any(modules):
        return is_given or modules[0]
    return CPP not in names[0] and any(map(FUNCTIONS.match, names))
