"""Programs of managed runtimes, of memtest/runtimes.toml, as the servers of live runs.

A program takes the options of the servers of this repository, answers commands on stdin (`RunningServer.ask`), and ends
with it."""

import operator
import os
import re
import resource
import shutil
import subprocess
from collections.abc import Sequence
from functools import partial
from glob import glob
from pathlib import Path

from tlsmem.base.paths import ROOT
from tlsmem.build import commands, stamps
from tlsmem.config.choices import CLIENT
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

BUILT = ROOT / "build/runtimes"
VERSION = re.compile(r"\d+(\.\d+)*")
ANSWERS_S = 20.0  # within which a runtime says its version


def read_runtimes() -> dict[str, Server]:
    """Return all of them by name, servers and clients. Raises UserError when the file is wrong."""
    found: dict[str, Server] = {}
    for name, table in runtimes().items():
        found[name] = server = make_server(name, table)
        if table.is_client:
            found[name + CLIENT] = server._replace(
                name=name + CLIENT,
                role="client",
                configure=partial(configure_client, name, table),
            )
    return found


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
        configure=lambda setup: configure(name, table, setup),
        prefix=("prlimit", f"--nofile={files}:{files}"),
        still_s=table.still_s,
        collects=True,
        answers=True,
        starts_collected=True,
        find=lambda: find_program(name, table),
    )


def configure(name: str, table: Runtime, setup: Setup) -> list[str]:
    """Copy the program's files into the folder of the run, and return its arguments."""
    for file in table.files:
        shutil.copyfile(PROGRAMS / file, setup.folder / Path(file).name)
    return [*fill(name, table.arguments, setup.folder), *configure_own(setup)]


def configure_client(name: str, table: Runtime, setup: Setup) -> list[str]:
    """Do the same for a program as a client."""
    return [*configure(name, table, setup), "-role", "client"]


def fill(name: str, words: Sequence[str], folder: Path) -> list[str]:
    """Return the words of a table with what is filled in."""
    return [word.format(folder=folder, programs=PROGRAMS, built=BUILT / name) for word in words]


def find_program(name: str, table: Runtime) -> Program:
    """Return the runtime that is installed. Raises ServerError with a sentence where there is none, or where it does
    not tell its version, and BuildFailed with the last words of a command that does not make its program."""
    if table.machine and table.machine != os.uname().machine:
        raise ServerError(f"{name}: {table.what} is pinned for {table.machine}, and this is {os.uname().machine}")
    path = locate(table.program)
    if not path:
        raise ServerError(f"{name}: {table.what} is not installed: apt install {table.package}")
    linked = sorted(glob(table.linked)) if table.linked else [path]
    if not linked:
        raise ServerError(f"{name}: {table.what} lacks {table.linked}: apt install {table.package}")
    said = subprocess.run(["ldd", linked[-1]], capture_output=True, text=True, check=False).stdout
    files = re.findall(r"libcrypto\.so\S* => (\S+)", said)
    library = library_version(Path(files[0])) if files else None
    found = Program(path, ask_version(name, table, path), digest(Path(path)), library)
    build(name, table, found)
    return found


def build(name: str, table: Runtime, program: Program) -> None:
    """Run the commands that make a program, where what they are made of has changed. Raises ServerError and
    BuildFailed with a sentence."""
    if not table.build:
        return
    made_of: dict[str, object] = {
        "files": {file: digest(PROGRAMS / file) for file in table.files},
        "commands": table.build,
        "runtime": program.reported,
    }
    folder, stamp = BUILT / name, BUILT / f"{name}.stamp"
    if stamps.is_current(stamp, made_of) and folder.is_dir():
        return
    stamp.unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for number, words in enumerate(table.build):
        if not shutil.which(words[0]):
            package = table.builders.get(words[0], table.package)
            raise ServerError(f"{name}: its program is built by {words[0]}: apt install {package}")
        step = f"{name}: {' '.join(words[:1])}"
        commands.run(fill(name, words, folder), BUILT / f"{name}.log", step, ROOT, None)
        if table.jars and number == 0:
            check_jars(name, PROGRAMS / table.jars, folder / "lib")
    stamps.write_stamp(stamp, made_of)


def check_jars(name: str, pinned: Path, folder: Path) -> None:
    """Raise ServerError where a folder has other jars than those with these checksums."""
    expected = {file: sum for sum, file in (line.split() for line in pinned.read_text().splitlines())}
    found = {jar.name: digest(jar) for jar in folder.iterdir()}
    wrong = sorted(jar for jar in expected | found if expected.get(jar) != found.get(jar))
    if wrong:
        shutil.rmtree(folder)
        raise ServerError(
            f"{name}: {wrong[0]} is not what memtest/runtimes/{pinned.relative_to(PROGRAMS)} pins by its SHA-256; "
            "nothing was built"
        )


def ask_version(name: str, table: Runtime, path: str) -> str:
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
    found = re.search(table.says, done.stdout + done.stderr, re.MULTILINE)  # java's goes to stderr
    if not found:
        raise ServerError(f"{command} says nothing of its version; memtest/runtimes.toml has `says`")
    check_version(name, table, found[1])
    return ", ".join([found[1], *table.libraries])


def check_version(name: str, table: Runtime, reported: str) -> None:
    """Raise ServerError where a program does not run on this version of its runtime."""
    number = VERSION.search(reported)
    for limit, beyond, is_beyond in zip(table.versions, ("older", "newer"), (operator.lt, operator.gt), strict=False):
        known = split_version(limit)
        if number and is_beyond(split_version(number[0])[: len(known)], known):
            raise ServerError(
                f"{name}: {reported} is {beyond} than {limit}, which is the {beyond[:-2]}est that its program runs on"
            )


def split_version(text: str) -> list[int]:
    """Return the numbers of a version."""
    return list(map(int, text.split(".")))
