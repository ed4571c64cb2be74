"""One process of a harness, which may crash, hang or flood, and leaves nothing of itself behind; and what it prints."""

import asyncio
import contextlib
import ctypes
import os
import signal
import time
from asyncio.subprocess import DEVNULL
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from tlsmem.base.paths import ROOT
from tlsmem.run import heap_page

MIB = 1024 * 1024
OUTPUT_BYTES = 16 * MIB  # a memory run prints about 30 KB


class Output:
    """`content` is what was printed so far; what is still in the pipe is taken when the `with` ends."""

    def __init__(self) -> None:
        self.content, self.flooded = bytearray(), False
        self.exit, self.entrance = os.pipe()
        os.set_blocking(self.exit, False)

    def __enter__(self) -> "Output":
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.get_running_loop().remove_reader(self.exit)
        while not self.flooded and self.take():
            pass
        for end in (self.exit, self.entrance):
            os.close(end)

    def follow(self, on_flood: Callable[[], None]) -> None:
        """Reads as it comes."""

        def ready() -> None:
            self.take()
            if self.flooded:
                on_flood()

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


PR_SET_PDEATHSIG = 1
STOPPED, WAITING = ": it had been stopped by a signal", ": it waited for its peer"  # ends of reasons
LIBC = ctypes.CDLL(None)


@dataclass(frozen=True)
class ProcessResult:
    """How a process ended; `stopped` says why the runner had to end it."""

    status: int = 0
    stdout: bytes = b""
    stderr: bytes = b""
    stopped: str | None = None
    elapsed_ns: int = 0


class Process:
    """One that was started and may still run; see `started`."""

    def __init__(self, process: asyncio.subprocess.Process, stdout: Output, stderr: Output, begin_ns: int) -> None:
        self.process, self.stdout, self.stderr = process, stdout, stderr
        self.begin_ns, self.elapsed_ns = begin_ns, 0
        self.stopped: str | None = None
        for output in (stdout, stderr):
            output.follow(self.kill)

    async def wait(self, limit_s: float) -> None:
        """Until it has ended, by itself or by the time limit; its children end with it."""
        try:
            async with asyncio.timeout(limit_s):
                await self.process.wait()
        except TimeoutError:
            await self.stop(f"killed at the time limit of {limit_s:g} s{standing(self.process.pid)}")
        self.elapsed_ns = time.monotonic_ns() - self.begin_ns
        self.kill()

    async def stop(self, reason: str) -> None:
        self.stopped = reason
        self.kill()
        await self.process.wait()

    def kill(self) -> None:
        """The process and its children, those too that outlive it in its group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    async def bury(self) -> None:
        """Kills what still runs of its group, and removes the pages of the heap meter, its own and its children's."""
        self.kill()
        await self.process.wait()
        (heap_page.PAGES_FOLDER / f"heapmeter.{self.process.pid}").unlink(missing_ok=True)
        heap_page.remove_stale_pages()

    @property
    def failed(self) -> bool:
        return self.process.returncode != 0

    def ended(self) -> ProcessResult:
        """Once `started` is left: then all that it printed is there."""
        flooded = self.stdout.flooded or self.stderr.flooded
        stopped = f"killed: it printed more than {OUTPUT_BYTES // MIB} MiB" if flooded else self.stopped
        printed = bytes(self.stdout.content), bytes(self.stderr.content)
        assert self.process.returncode is not None  # it is gone
        return ProcessResult(self.process.returncode, *printed, stopped, self.elapsed_ns)


def standing(pid: int) -> str:
    """Why it stands still, as the end of a sentence; nothing where the kernel does not tell or it is at work."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        place = Path(f"/proc/{pid}/wchan").read_text()
    except OSError:
        return ""
    return STOPPED if state in "Tt" else WAITING if place.startswith("unix_stream_") else ""  # of the barrier


@contextlib.asynccontextmanager
async def start_process(
    argv: list[str], variables: dict[str, str], inherited: Iterable[int] = ()
) -> AsyncIterator[Process]:
    """`argv` in the root of the repository, with no environment but `variables` and no descriptors but `inherited`.

    However the block is left, also when cancelled, the process is gone afterwards, and so are the pages of its heap
    meter. A child that left its group (setsid) is on its own. Raises OSError when it cannot be started."""
    with Output() as stdout, Output() as stderr:
        made = await asyncio.create_subprocess_exec(
            *argv,
            cwd=ROOT,
            env={"PATH": os.defpath, "LC_ALL": "C"} | variables,
            stdin=DEVNULL,
            stdout=stdout.entrance,
            stderr=stderr.entrance,
            pass_fds=tuple(inherited),
            start_new_session=True,  # Ctrl-C is the runner's to handle
            preexec_fn=die_with_runner(os.getpid()),
        )
        process = Process(made, stdout, stderr, time.monotonic_ns())
        try:
            yield process
        finally:
            await process.bury()


def die_with_runner(runner: int, last_signal: signal.Signals = signal.SIGKILL) -> Callable[[], None]:
    """A runner that is killed takes its harnesses along, by `last_signal`: runs between fork and exec, and holds across
    exec.

    The signal follows the thread that forked; that is the main one, which lives as long as the runner."""

    def arrange() -> None:
        LIBC.prctl(PR_SET_PDEATHSIG, last_signal)
        if os.getppid() != runner:  # killed before the line above
            os._exit(1)

    return arrange
