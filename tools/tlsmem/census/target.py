"""A process from outside: the files that are mapped into it, and its memory.

Of a running process all is read from outside: nothing is loaded into it, it is not stopped, and nothing of it is
executed. A core, in core_file.py, gives the same."""

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from tlsmem.base.errors import Usage
from tlsmem.census.heap_walk import HeapWalk, Places, Words

PAGE = 4096
WHOLE_LINE = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S{4}) [0-9a-f]+ ([0-9a-f]+):([0-9a-f]+) (\d+) *(.*)", re.ASCII)
SWAPPED = re.compile(r"^VmSwap:\s+(\d+) kB", re.MULTILINE)
GONE = " (deleted)"
ELF_32 = b"\x7fELF\x01"  # with which a 32-bit program begins
PRESENT = (1 << 63) | (1 << 62)  # in memory, or swapped out: reading such a page maps no new one
THREAD_GROUP = re.compile(r"^Tgid:\s+(\d+)", re.MULTILINE)  # in /proc/PID/status
NEAR_PAGES = 3  # that many between others are read with them
NEAR_ENTRIES = 32  # of pages that are so near the entries of pagemap are read together
BATCH_PAGES = 512  # read at once: the buffer stays in the processor's cache


class Range(NamedTuple):
    """Addresses of a mapping, the end excluded."""

    start: int
    end: int
    is_code: bool


@dataclass(frozen=True)
class MappedFile:
    """A file as it is mapped: by device and inode, as another one may have its path by now."""

    path: str
    device: int
    inode: int
    ranges: tuple[Range, ...]

    @property
    def name(self) -> str:
        return self.path.removesuffix(GONE).rpartition("/")[2]

    @property
    def has_code(self) -> bool:
        return any(one.is_code for one in self.ranges)

    @property
    def bounds(self) -> tuple[int, int]:
        """The first address that is mapped of it, and that after the last."""
        return min(one.start for one in self.ranges), max(one.end for one in self.ranges)

    def has(self, words: Words) -> npt.NDArray[np.bool_]:
        """Return which words are addresses in what is mapped of it, from its first byte to its last."""
        start, end = self.bounds
        inside: npt.NDArray[np.bool_] = (words >= np.uint64(start)) & (words < np.uint64(end))
        return inside


@dataclass(frozen=True)
class Target(ABC):
    """A process, running or in a core: `program` is its name as /proc/PID/comm has it."""

    pid: int
    program: str
    files: tuple[MappedFile, ...]

    is_core: ClassVar[bool] = False

    @property
    @abstractmethod
    def is_32_bit(self) -> bool:
        """Whether it is a 32-bit program, in which nothing is counted."""

    @abstractmethod
    def count_swapped(self) -> int:
        """Return how many bytes of it are swapped out; 0 once it has ended."""

    @property
    @abstractmethod
    def title(self) -> str:
        """How sentences name it."""

    @abstractmethod
    def key_of(self, mapped: MappedFile) -> object:
        """Return what tells the file from all others, of other processes too."""

    @abstractmethod
    def open_file(self, mapped: MappedFile) -> BinaryIO | None:
        """Open the file that is mapped, and no other; None where it is gone, replaced or unreadable."""

    @abstractmethod
    def describe_missing(self, mapped: MappedFile) -> str:
        """Return why a file could not be opened."""

    @abstractmethod
    def open_memory(self) -> "Memory":
        """Return its memory. Raises OSError where it has ended."""

    @abstractmethod
    def walk(self, rules: str) -> HeapWalk:
        """Walk through its heap, and mark chunks by rules. Raises UserError."""


@dataclass(frozen=True)
class Running(Target):
    """A process that runs."""

    @property
    def title(self) -> str:
        return f"{self.pid} ({self.program})"

    @property
    def is_32_bit(self) -> bool:
        with suppress(OSError), open(f"/proc/{self.pid}/exe", "rb") as file:
            return file.read(5) == ELF_32
        return False

    def count_swapped(self) -> int:
        with suppress(OSError):
            found = SWAPPED.search(Path(f"/proc/{self.pid}/status").read_text(errors="replace"))
            return int(found[1]) * 1024 if found else 0
        return 0

    def key_of(self, mapped: MappedFile) -> object:
        return mapped.device, mapped.inode

    def open_file(self, mapped: MappedFile) -> BinaryIO | None:
        return open_mapped(self.pid, mapped)

    def describe_missing(self, mapped: MappedFile) -> str:
        return "its file was deleted, replaced, or may not be read; root may read what is mapped"

    def open_memory(self) -> "Memory":
        return ProcessMemory(self.pid)

    def walk(self, rules: str) -> HeapWalk:
        return HeapWalk(str(self.pid), [str(self.pid)], rules)


def read_target(pid: int) -> Running:
    """Return a process. Raises UserError where there is none, or it may not be read; the status is 2."""
    try:
        program = Path(f"/proc/{pid}/comm").read_text(errors="replace").rstrip("\n")
        lines = Path(f"/proc/{pid}/maps").read_text(errors="surrogateescape").splitlines()
        with open(f"/proc/{pid}/mem", "rb"):
            pass
    except (FileNotFoundError, ProcessLookupError, PermissionError) as error:
        if isinstance(error, PermissionError) or is_hidden(pid):
            raise Usage(f"{pid}: only its user and root may read its memory; run this command as root") from None
        raise Usage(f"{pid}: there is no such process; pgrep NAME lists those of a program") from None
    except OSError as error:
        raise Usage(f"{pid}: {error.strerror}") from None
    if (process := read_thread_group(pid)) not in (pid, None):
        raise Usage(f"{pid}: it is a thread of process {process}; give that number")
    if not lines:
        raise Usage(f"{pid}: it has ended, or is a thread of the kernel: it has no memory of its own")
    return Running(pid, program, tuple(list_files(lines)))


def read_thread_group(pid: int) -> int | None:
    """Return the process that a number is of, which may be a thread's; None once it has ended."""
    with suppress(OSError):
        found = THREAD_GROUP.search(Path(f"/proc/{pid}/status").read_text(errors="replace"))
        return int(found[1]) if found else None
    return None


def is_hidden(pid: int) -> bool:
    """Return whether there is a process that /proc does not show, as where it is mounted with hidepid."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        pass
    return False


def list_files(lines: Iterable[str]) -> Iterator[MappedFile]:
    """Yield the files in lines of /proc/PID/maps."""
    ranges: dict[tuple[str, int, int], list[Range]] = {}
    for line in lines:
        told = WHOLE_LINE.fullmatch(line)
        if told and int(told[6]) and told[7].startswith("/"):
            device = os.makedev(int(told[4], 16), int(told[5], 16))
            key = told[7], device, int(told[6])
            ranges.setdefault(key, []).append(Range(int(told[1], 16), int(told[2], 16), "x" in told[3]))
    for (path, device, inode), parts in ranges.items():
        yield MappedFile(path, device, inode, tuple(parts))


def open_mapped(pid: int, mapped: MappedFile) -> BinaryIO | None:
    """Open a file that is mapped: what is mapped itself, which root may; else what has its path in the process's file
    system, if that is the same file. None where it is gone, replaced or unreadable."""
    first = mapped.ranges[0]
    with suppress(OSError):
        return open(f"/proc/{pid}/map_files/{first.start:x}-{first.end:x}", "rb")
    with suppress(OSError):
        file = open(f"/proc/{pid}/root{mapped.path.removesuffix(GONE)}", "rb")  # noqa: SIM115 # the caller closes it
        status = os.fstat(file.fileno())
        if (status.st_dev, status.st_ino) == (mapped.device, mapped.inode):
            return file
        file.close()
    return None


class Batch(NamedTuple):
    """Pages that are read together: those of which places, the numbers of the pages in order, and their words."""

    places: slice
    pages: Places
    words: Words

    def find_index(self, addresses: Places) -> Places:
        """Return which word is at each address."""
        found: Places = np.searchsorted(self.pages, addresses // PAGE) * (PAGE // 8) + addresses % PAGE // 8
        return found


class Memory(ABC):
    """The memory of a process, read in words."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Close its files."""

    @abstractmethod
    def have_pages(self, pages: Places) -> npt.NDArray[np.bool_]:
        """Return which pages, by their numbers in order, are there to be read."""

    @abstractmethod
    def read_range(self, begin: int, into: memoryview) -> None:
        """Read a range of pages that are there. Raises OSError once the process has ended."""

    def read_words(self, starts: Places, counts: Places) -> Words:
        """Return the words of 64 bits at these addresses, one place after the other; 0 where there is no page.

        `starts` are in order and multiples of 8, and places do not overlap; `counts` are in words. Raises OSError once
        the process has ended."""
        found = np.zeros(int(counts.sum()), np.uint64)
        done = 0
        for batch in self.read_batches(starts, counts):
            lengths, begins = counts[batch.places], batch.find_index(starts[batch.places])
            if (lengths == lengths[0]).all():
                index = (begins[:, None] + np.arange(lengths[0])).ravel()
            else:
                index = np.repeat(begins - (np.cumsum(lengths) - lengths), lengths) + np.arange(int(lengths.sum()))
            found[done : done + len(index)] = batch.words[index]
            done += len(index)
        return found

    def read_batches(self, starts: Places, counts: Places) -> Iterator["Batch"]:
        """Yield the pages that have these places, a batch after the other in the same buffer, so a large heap takes no
        more memory than a small one."""
        firsts, afters = starts // PAGE, (starts + 8 * counts - 1) // PAGE + 1
        edges = np.flatnonzero(np.diff(np.cumsum(afters - firsts) // BATCH_PAGES)) + 1
        buffer = np.zeros(0, np.uint8)
        for first, after in pairwise([0, *edges.tolist(), len(starts)] if len(starts) else []):
            pages = list_pages(firsts[first:after], afters[first:after])
            if len(buffer) < len(pages) * PAGE:
                buffer = np.zeros(len(pages) * PAGE, np.uint8)
            content = buffer[: len(pages) * PAGE]
            self.read_pages(pages, content)
            yield Batch(slice(first, after), pages, content.view(np.uint64))

    def read_pages(self, pages: Places, content: npt.NDArray[np.uint8]) -> None:
        """Read pages one behind the other; those that are not there become zeros."""
        is_there = self.have_pages(pages)
        content.reshape(-1, PAGE)[~is_there] = 0
        numbers = np.flatnonzero(is_there)
        edges = np.flatnonzero((np.diff(pages[numbers]) != 1) | (np.diff(numbers) != 1)) + 1
        if len(numbers):
            view = memoryview(content)  # type: ignore[arg-type] # an array is a buffer
            begins, ends = numbers[np.append(0, edges)], numbers[np.append(edges - 1, -1)] + 1
            for first, begin, end in zip(pages[begins].tolist(), begins.tolist(), ends.tolist(), strict=True):
                self.read_range(first * PAGE, view[begin * PAGE : end * PAGE])


def list_pages(firsts: Places, afters: Places) -> Places:
    """Return the numbers of pages, each once, from first ones on to before others, both in order; with those between
    that are near to both, which takes no longer than to begin to read again."""
    begins = np.append(True, firsts[1:] > afters[:-1] + NEAR_PAGES)
    starts, lengths = firsts[begins], np.maximum.accumulate(afters)[np.append(begins[1:], True)] - firsts[begins]
    return np.repeat(starts - (np.cumsum(lengths) - lengths), lengths) + np.arange(int(lengths.sum()))


class ProcessMemory(Memory):
    """The memory of a running process. Of its pages only those are read that are there: others would be mapped by
    that."""

    def __init__(self, pid: int) -> None:
        self.memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
        self.pagemap = os.open(f"/proc/{pid}/pagemap", os.O_RDONLY)

    def close(self) -> None:
        os.close(self.memory)
        os.close(self.pagemap)

    def have_pages(self, pages: Places) -> npt.NDArray[np.bool_]:
        is_there = np.zeros(len(pages), np.bool_)
        edges = np.flatnonzero(np.diff(pages) > NEAR_ENTRIES) + 1
        for first, after in pairwise([0, *edges.tolist(), len(pages)]):
            begin, count = int(pages[first]), int(pages[after - 1] - pages[first]) + 1
            entries = np.frombuffer(os.pread(self.pagemap, 8 * count, 8 * begin), np.uint64)
            is_present = np.zeros(count, np.bool_)
            is_present[: len(entries)] = (entries & np.uint64(PRESENT)) != 0
            is_there[first:after] = is_present[pages[first:after] - begin]
        return is_there

    def read_range(self, begin: int, into: memoryview) -> None:
        # process_vm_readv would give the process its own copy of each page that it shares since a fork.
        if not os.preadv(self.memory, [into], begin):
            raise ProcessLookupError("the process has ended")
