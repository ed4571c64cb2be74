"""Programs of managed runtimes, of memtest/runtimes.toml, as the servers of live runs.

A program takes the options of the servers of this repository, answers commands on stdin (`RunningServer.ask`), and ends
with it."""

import re
import resource
import shutil
import subprocess
from glob import glob
from pathlib import Path

from tlsmem.config.runtimes import PROGRAMS, Runtime, runtimes
from tlsmem.live.servers import (
    FULL_BYTES,
    SPARE,
    Program,
    Server,
    ServerError,
    Setup,
    configure_own,
    digest,
    library_version,
    locate,
)

ANSWERS_S = 20.0  # within which a runtime says its version


def read_runtimes() -> dict[str, Server]:
    """Return all of them by name. Raises UserError when the file is wrong."""
    return {name: make_server(name, table) for name, table in runtimes().items()}


def make_server(name: str, table: Runtime) -> Server:
    """Return the server that a table describes."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return Server(
        name=name,
        program=table.program,
        package=table.package,
        version="",
        full_bytes=FULL_BYTES,
        largest=lambda descriptors: descriptors - SPARE,
        configured=table.largest,
        configure=lambda setup: configure(table, setup),
        prefix=("prlimit", f"--nofile={files}:{files}"),
        still_s=table.still_s,
        collects=True,
        answers=True,
        find=lambda: find_program(name, table),
    )


def configure(table: Runtime, setup: Setup) -> list[str]:
    """Copy the program's files into the folder of the run, and return its arguments."""
    for file in table.files:
        shutil.copyfile(PROGRAMS / file, setup.folder / file)
    return [*(word.format(folder=setup.folder) for word in table.arguments), *configure_own(setup)]


def find_program(name: str, table: Runtime) -> Program:
    """Return the runtime that is installed. Raises ServerError with a sentence where there is none, or where it does
    not tell its version."""
    path = locate(table.program)
    if not path:
        raise ServerError(f"{name}: {table.what} is not installed: apt install {table.package}")
    linked = sorted(glob(table.linked)) if table.linked else [path]
    if not linked:
        raise ServerError(f"{name}: {table.what} lacks {table.linked}: apt install {table.package}")
    said = subprocess.run(["ldd", linked[-1]], capture_output=True, text=True, check=False).stdout
    files = re.findall(r"libcrypto\.so\S* => (\S+)", said)
    library = library_version(Path(files[0])) if files else None
    return Program(path, ask_version(table, path), digest(Path(path)), library)


def ask_version(table: Runtime, path: str) -> str:
    """Return what a runtime says of its version. Raises ServerError where it says nothing of it."""
    command = " ".join([path, *table.asked])
    try:
        done = subprocess.run(
            [path, *table.asked],
            capture_output=True,
            text=True,
            check=False,
            timeout=ANSWERS_S,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ServerError(f"{command}: cannot be run: {getattr(error, 'strerror', None) or 'no answer'}") from None
    found = re.search(table.says, done.stdout + done.stderr, re.MULTILINE)
    if not found:
        raise ServerError(f"{command} says nothing of its version; memtest/runtimes.toml has `says`")
    return found[1]
