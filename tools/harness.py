"""Runs one harness process, which may crash, hang or flood, and leaves nothing of it behind."""

import asyncio
import contextlib
import ctypes
import os
import signal
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from definitions import ROOT
from verdict import Ended, Outcome, judge

OUTPUT_BYTES = 16 * 1024 * 1024  # a memory run prints about 30 KB
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)


async def run(argv: list[str], variables: dict[str, str], limit_s: float) -> Outcome:
    """Runs `argv` in the root of the repository, for at most `limit_s` seconds, with no environment but `variables`.

    However it ends, also when cancelled, the process is gone afterwards, and so is its heap meter's page."""
    started_at, begin = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), time.monotonic_ns()
    try:
        ended = await communicate(argv, {"PATH": os.defpath, "LC_ALL": "C"} | variables, limit_s)
    except OSError as error:
        ended = Ended(stopped=f"cannot be started: {error.strerror}")
    return judge(ended, started_at, time.monotonic_ns() - begin)


async def communicate(argv: list[str], environment: dict[str, str], limit_s: float) -> Ended:
    process = await asyncio.create_subprocess_exec(
        *argv,
        cwd=ROOT,
        env=environment,
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=PIPE,
        start_new_session=True,  # Ctrl-C is the runner's to handle
        preexec_fn=dies_with(os.getpid()),
    )
    stdout, stderr, stopped = bytearray(), bytearray(), None
    try:
        async with asyncio.timeout(limit_s):
            await asyncio.gather(drain(process.stdout, stdout), drain(process.stderr, stderr))
            await process.wait()
    except TimeoutError:
        stopped = f"killed at the time limit of {limit_s:g} s"
    except OverflowError:
        stopped = f"killed after more than {OUTPUT_BYTES:,} bytes of output"
    finally:
        await bury(process)
    return Ended(process.returncode, bytes(stdout), bytes(stderr), stopped)


async def drain(stream: asyncio.StreamReader, into: bytearray) -> None:
    """OverflowError when the process floods its pipe."""
    while chunk := await stream.read(65536):
        into += chunk
        if len(into) > OUTPUT_BYTES:
            raise OverflowError


async def bury(process: Process) -> None:
    """Kills what still runs, children of a script included, and removes the heap meter's page."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    Path(f"/dev/shm/heapmeter.{process.pid}").unlink(missing_ok=True)


def dies_with(runner: int) -> Callable[[], None]:
    """A runner that is killed takes its harnesses along: runs between fork and exec, and holds across exec.

    The signal follows the thread that forked; that is the main one, which lives as long as the runner."""

    def arrange() -> None:
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != runner:  # killed before the line above
            os._exit(1)

    return arrange
