"""A raw recording of heaptrack made into a profile, by heaptrack's own interpreter, which gives its addresses names.

Under the setarch of the harness, where heaptrack itself would run it, that of heaptrack 1.4 gives many of a library
names of others: it reads the libraries where its own lie, at the very same addresses. So here its own are random."""

import asyncio
import contextlib
import os
import re
import signal
import tempfile
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

from backports import zstd

from tlsmem.base.paths import ROOT
from tlsmem.profile.capture.portable_paths import make_portable
from tlsmem.profile.capture.profilers import find_interpreter
from tlsmem.profile.compressed_file import TornFile, read_chunks
from tlsmem.profile.errors import CaptureFailed, CaptureTimeout
from tlsmem.run.process import die_with_runner
from tlsmem.run.validate import describe_exit

STRING = re.compile(rb"\ns [0-9a-f]+ (.*)")  # with its length in bytes
CHUNK = 1 << 18
LEVEL = 9


async def interpret(about: str, raw: Path, file: Path, limit_s: float) -> None:
    """Into `file`, by zstd. Raises CaptureFailed with a sentence about `about` when it comes to none within the
    limit."""
    try:
        async with asyncio.timeout(limit_s), run_interpreter() as process:
            assert process.stdin and process.stdout  # pipes
            feeding = asyncio.create_task(feed(process.stdin, raw))
            with zstd.open(file, "wb", level=LEVEL) as to:
                async for lines in read_whole_lines(process.stdout):
                    to.write(make_paths_relative(lines))
            await feeding
            status = await process.wait()
    except TimeoutError:
        raise CaptureTimeout(f"{about}: heaptrack's interpreter: killed at the time limit") from None
    except TornFile:
        raise CaptureFailed(f"{about}: its raw recording is cut off") from None
    if status:
        raise CaptureFailed(f"{about}: heaptrack's interpreter: {describe_exit(status)}")


@asynccontextmanager
async def run_interpreter() -> AsyncIterator[asyncio.subprocess.Process]:
    """It is gone when the block is left. It asks no server for names: it has none of our environment."""
    with tempfile.TemporaryFile() as statistics, broken_pipes():
        process = await asyncio.create_subprocess_exec(
            find_interpreter(),
            cwd=ROOT,
            env={"PATH": os.defpath, "LC_ALL": "C"},
            stdin=PIPE,
            stdout=PIPE,
            stderr=statistics,
            start_new_session=True,
            preexec_fn=die_with_runner(os.getpid()),
        )
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


@contextlib.contextmanager
def broken_pipes() -> Iterator[None]:
    """Are errors here, also in a script that dies of them: the interpreter may be gone before it has read all."""
    before = signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGPIPE, before)


async def feed(to: asyncio.StreamWriter, raw: Path) -> None:
    """Raises TornFile where the recording is cut off or damaged. An interpreter that is gone is told by its status."""
    with contextlib.closing(to), contextlib.suppress(ConnectionError):
        for chunk in read_chunks(raw):
            to.write(chunk)
            await to.drain()


async def read_whole_lines(output: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """Many at a time."""
    rest = b""
    while chunk := await output.read(CHUNK):
        lines, newline, rest = (rest + chunk).rpartition(b"\n")
        yield lines + newline
    yield rest


def make_paths_relative(lines: bytes) -> bytes:
    """Strings that name places of this machine have other lengths without them."""
    return STRING.sub(shorter, b"\n" + lines)[1:]


def shorter(string: re.Match[bytes]) -> bytes:
    text = make_portable(string[1], ROOT)
    return b"\ns %x %b" % (len(text), text)
