"""Runs one harness process, which may crash, hang or flood, and leaves nothing of it behind."""

import asyncio
import contextlib
import ctypes
import os
import signal
import time
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Callable
from datetime import UTC, datetime

import pages
from definitions import ROOT
from verdict import Ended, Outcome, judge

MIB = 1024 * 1024
OUTPUT_BYTES = 16 * MIB  # a memory run prints about 30 KB
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)


async def run(argv: list[str], variables: dict[str, str], limit_s: float) -> Outcome:
    """Runs `argv` in the root of the repository, for at most `limit_s` seconds, with no environment but `variables`.

    However it ends, also when cancelled, the process is gone afterwards, and so are the pages of its heap meter.
    A child that left its group (setsid) is on its own."""
    started_at, begin = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), time.monotonic_ns()
    try:
        ended = await communicate(argv, {"PATH": os.defpath, "LC_ALL": "C"} | variables, limit_s)
    except OSError as error:
        ended = Ended(stopped=f"cannot be started: {error.strerror}")
    return judge(ended, started_at, time.monotonic_ns() - begin)


async def communicate(argv: list[str], environment: dict[str, str], limit_s: float) -> Ended:
    with Output() as stdout, Output() as stderr:
        process = await asyncio.create_subprocess_exec(
            *argv,
            cwd=ROOT,
            env=environment,
            stdin=DEVNULL,
            stdout=stdout.entrance,
            stderr=stderr.entrance,
            start_new_session=True,  # Ctrl-C is the runner's to handle
            preexec_fn=dies_with(os.getpid()),
        )
        stopped = None
        try:
            for output in (stdout, stderr):
                output.follow(process)
            async with asyncio.timeout(limit_s):
                await process.wait()
        except TimeoutError:
            stopped = f"killed at the time limit of {limit_s:g} s"
        finally:
            await bury(process)
    if stdout.flooded or stderr.flooded:
        stopped = f"killed: it printed more than {OUTPUT_BYTES // MIB} MiB"
    return Ended(process.returncode, bytes(stdout.content), bytes(stderr.content), stopped)


class Output:
    """What a process prints, through a pipe of our own: asyncio would wait for the end of one of its pipes, and an
    orphan of the process may hold that open for as long as it likes."""

    def __init__(self) -> None:
        self.content, self.flooded = bytearray(), False
        self.exit, self.entrance = os.pipe()
        os.set_blocking(self.exit, False)

    def __enter__(self) -> "Output":
        return self

    def __exit__(self, *_: object) -> None:
        """Takes what is still in the pipe."""
        asyncio.get_running_loop().remove_reader(self.exit)
        while not self.flooded and self.take():
            pass
        for end in (self.exit, self.entrance):
            os.close(end)

    def follow(self, process: Process) -> None:
        """Reads as it comes; a flood ends the process."""

        def ready() -> None:
            self.take()
            if self.flooded:
                kill(process)

        asyncio.get_running_loop().add_reader(self.exit, ready)

    def take(self) -> bool:
        """One chunk; False when there is none."""
        try:
            chunk = os.read(self.exit, 65536)
        except BlockingIOError:
            return False
        self.content += chunk
        self.flooded |= len(self.content) > OUTPUT_BYTES
        return bool(chunk)


async def bury(process: Process) -> None:
    """Kills what still runs of its group, and removes the pages of the heap meter, its own and its children's."""
    kill(process)
    await process.wait()
    (pages.PAGES / f"heapmeter.{process.pid}").unlink(missing_ok=True)
    pages.sweep()


def kill(process: Process) -> None:
    """The process and its children, those too that outlive it in its group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def dies_with(runner: int) -> Callable[[], None]:
    """A runner that is killed takes its harnesses along: runs between fork and exec, and holds across exec.

    The signal follows the thread that forked; that is the main one, which lives as long as the runner."""

    def arrange() -> None:
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != runner:  # killed before the line above
            os._exit(1)

    return arrange
