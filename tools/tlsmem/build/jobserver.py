"""A GNU make jobserver: all builds of this process share one token a CPU, so no CPU is idle while one has work left.

A build takes a token before it starts and gives it back when it ends. Its own jobs take the others: make and cargo by
file descriptors, which every release of them knows; ninja, from 1.13 on, by the FIFO's path.
"""

import os
import select
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from tlsmem.build import shared_resources

NINJA_WITH_JOBSERVER = (1, 13)
JOBS_WORD = "-j{jobs}"  # in a stack's steps; left out where a command takes part


class Jobserver:
    """`with jobserver.token():` run a command with the environment of `variables` and `descriptors` passed on."""

    def __init__(self, tokens: int) -> None:
        folder = Path(tempfile.mkdtemp(prefix="memtest-jobs."))
        self.tokens, self.holder, fifo = tokens, threading.local(), folder / "tokens"
        os.mkfifo(fifo)
        self.path = f"/proc/{os.getpid()}/fd/{{}}"
        self.passed = os.open(fifo, os.O_RDWR)
        self.own = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)  # a description of its own: make waits on the other
        shutil.rmtree(folder)
        os.write(self.own, b"+" * tokens)

    @property
    def descriptors(self) -> tuple[int, ...]:
        return (self.passed,)

    def variables(self, program: str) -> dict[str, str]:
        """The environment by which a program finds the tokens."""
        by_path = Path(program).name == "ninja"
        place = f"fifo:{self.path.format(self.passed)}" if by_path else f"{self.passed},{self.passed}"
        return {"MAKEFLAGS": f" -j{self.tokens} --jobserver-auth={place}"}

    @contextmanager
    def token(self) -> Iterator[None]:
        """Waits for one, unless this thread holds one; raises BuildStopped when all builds are to end meanwhile."""
        if getattr(self.holder, "holds", False):
            yield
            return
        while not (taken := self.take()):
            select.select([self.own], [], [], 0.2)
            if shared_resources.stop_requested.is_set():
                raise shared_resources.BuildStopped
        self.holder.holds = True
        try:
            yield
        finally:
            self.holder.holds = False
            os.write(self.own, taken)

    def take(self) -> bytes:
        try:
            return os.read(self.own, 1)
        except BlockingIOError:
            return b""


creation = threading.Lock()


def jobserver() -> Jobserver:
    """That of this process."""
    with creation:
        return make_jobserver()


@cache
def make_jobserver() -> Jobserver:
    return Jobserver(shared_resources.count_cpus())


@cache
def ninja() -> str:
    """The one of the virtual environment, which takes part, or the system's."""
    own = Path(sys.executable).with_name("ninja")
    return str(own) if own.is_file() else "ninja"


@cache
def takes_part(program: str) -> bool:
    """Whether a program shares the tokens, which it does not where it is given a number of jobs."""
    if Path(program).name != "ninja":
        return True
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
        return tuple(map(int, said.split(".")[:2])) >= NINJA_WITH_JOBSERVER
    except (OSError, subprocess.CalledProcessError, ValueError):
        return False
