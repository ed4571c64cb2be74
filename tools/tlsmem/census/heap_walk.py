"""heapwalk while it walks through the heap of one process, and then answers which chunks lead to which."""

import os
import struct
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, BinaryIO, Self

import numpy as np
import numpy.typing as npt

from tlsmem.base.errors import UserError, raise_user_errors
from tlsmem.monitor.rss_parts import OUTDATED, RssParts, parse, parse_lines, start_heapwalk

QUESTION = struct.Struct("=QIIQ")  # memtest/heapwalk.h: struct question
PROCESS_ENDED = 3  # heapwalk's exit status, where there is no answer because the process has ended
POINTER = np.dtype([("source", np.uint32), ("target", np.uint32), ("words", np.uint32)])
CHUNK = np.dtype(  # above the 48 bits of an address are the marks
    {
        "names": ["place", "marks", "units", "resident_units"],
        "formats": [np.uint64, np.uint16, np.uint32, np.uint32],
        "offsets": [0, 6, 8, 12],
    }
)

Words = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int64]
Pointers = tuple[Places, Places, Places]  # from which chunk, to which, and where in the first, in words


class HeapWalk:
    """A walk through the heap of one process: `line`, what heapwalk printed of it, and `chunks` in use, in the order of
    their addresses. It reads the process until it is closed."""

    def __init__(self, title: str, words: Sequence[str], rules: str, files: Sequence[int] = ()) -> None:
        """Walk through what these words of heapwalk name, with open files by number, and mark chunks by rules.

        Raises UserError where there is no heap that can be divided, and where heapwalk is not built, or is of another
        version."""
        self.title = title
        with raise_user_errors(f"{title}: a file in memory for its chunks"):
            listing = os.memfd_create("chunks")  # the kernel may refuse it: vm.memfd_noexec
        with os.fdopen(listing, "rb") as file:
            self.process = start_heapwalk(
                ["--chunks", f"{listing}:{rules}", "--ask", *words],
                stdin=subprocess.PIPE,
                pass_fds=[listing, *files],
            )
            try:
                self.line = self.read_line(title, int(words[-1]))
                self.chunks = self.read_chunks(title, file)
            except BaseException:
                self.close()
                raise

    def read_line(self, title: str, pid: int) -> dict[str, Any]:
        """Return how the memory is divided, once it is. Raises UserError where it is not."""
        assert self.process.stdout
        lines = parse_lines(self.process.stdout.readline())
        if not lines:
            raise UserError(f"{title}: heapwalk ended early")
        if lines[0]["pid"] != pid:  # an older one takes the words of options for processes
            raise UserError(OUTDATED)
        if "refused" in lines[0]:
            raise UserError(f"{title}: {lines[0]['refused']}")
        if undivided := parse(lines[0]).undivided:
            raise UserError(f"{title}: its heap cannot be counted: {undivided}")
        return lines[0]

    @staticmethod
    def read_chunks(title: str, file: BinaryIO) -> npt.NDArray[Any]:
        """Return what heapwalk has written. Raises UserError where that is not all."""
        size = file.seek(0, os.SEEK_END)
        listed = np.memmap(file, np.uint8, "r") if size else np.zeros(0, np.uint8)
        if size < 8 or size != 8 + CHUNK.itemsize * int(listed[:8].view(np.int64)[0]):
            raise UserError(f"{title}: heapwalk did not list all chunks; is there enough memory?")
        return listed[8:].view(CHUNK)

    @property
    def rss(self) -> RssParts:
        """By kind of memory."""
        return parse(self.line)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End heapwalk."""
        assert self.process.stdin and self.process.stdout
        self.process.kill()  # it has nothing to finish
        with suppress(BrokenPipeError):  # it has ended before, with a question unread
            self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()

    def ask(
        self, chunks: Places, lead_bytes: int, distances: Sequence[int] = (), wants_pointers: bool = True
    ) -> tuple[Pointers, Words]:
        """Return the pointers in these chunks to the beginnings of blocks in other chunks, and the words at these
        distances in bytes from the beginning of each block, multiples of 8: a row for each distance; 0 where a block
        ends before. A block begins `lead_bytes` behind the header of its chunk. `chunks` are numbers in order, each
        once.

        Raises OSError once the process has ended, and UserError where heapwalk has."""
        assert self.process.stdin and self.process.stdout
        question = QUESTION.pack(lead_bytes, len(chunks), len(distances), wants_pointers)
        numbers = np.concatenate([chunks, np.array(distances, np.int64)]).astype(np.uint32)
        with suppress(BrokenPipeError):  # why it has ended is told below
            self.process.stdin.write(question + numbers.tobytes())
            self.process.stdin.flush()
        count = int(np.frombuffer(self.read(8), np.uint64)[0])
        pointers = np.frombuffer(self.read(count * POINTER.itemsize), POINTER)
        words = np.frombuffer(self.read(8 * len(distances) * len(chunks)), np.uint64)
        sources, targets, places = (pointers[name].astype(np.int64) for name in POINTER.names or ())
        return (sources, targets, places), words.reshape(len(distances), len(chunks))

    def read(self, size: int) -> bytes:
        """Return so many bytes of an answer."""
        assert self.process.stdout
        content = self.process.stdout.read(size)
        if len(content) == size:
            return content
        if self.process.wait() == PROCESS_ENDED:
            raise ProcessLookupError("the process has ended")
        raise UserError(f"{self.title}: heapwalk ended early; is there enough memory?")
