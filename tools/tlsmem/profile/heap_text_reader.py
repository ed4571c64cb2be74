"""Reads the heap profiles that allocators write as text, in which call stacks are addresses: gperftools' heap profiler
("heapprofile"), the samples of tcmalloc ("heap_v2") and of Go programs ("heap", with `debug=1`), and jemalloc's
("heap_v2/PERIOD").

What was sampled is scaled as `go tool pprof`, google-pprof and jeprof do it."""

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import closing
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from tlsmem.base.source_paths import shorten_path
from tlsmem.profile import module_symbols, unresolved_stacks
from tlsmem.profile.callstack_arrays import CallstackArrays
from tlsmem.profile.callstack_lists import demangle_places
from tlsmem.profile.compressed_file import Progress, TornFile, read_chunks
from tlsmem.profile.errors import Unreadable
from tlsmem.profile.file_signatures import JEMALLOC
from tlsmem.profile.frames import Frame
from tlsmem.profile.heap_profile import (
    DUMP,
    AllocationTotals,
    CallstackTree,
    LiveHeap,
    Moment,
    Profile,
    Tool,
    Unit,
    add_live,
)

LARGEST = 2 << 30  # bytes, unpacked
MOST_STACKS = 4_000_000  # 1,100 to 1,500 B of memory each
LONGEST = 1 << 20  # bytes of a line
LIMIT = 1 << 63  # of counts
PIECE = 10_000  # call stacks that are looked at together
MAPS = (b"MAPPED_LIBRARIES:", b"--- Memory map:")  # what follows are lines of /proc/PID/maps
HEADER = re.compile(
    rb"heap profile: *(\d{1,20}): *(\d{1,20}) *\[ *(\d{1,20}): *(\d{1,20}) *\] *@ *([a-z_0-9]+)/?(\d{0,20})"
)
SAMPLE = re.compile(rb" *(\d{1,20}): *(\d{1,20}) *\[ *(\d{1,20}): *(\d{1,20}) *\] @((?: 0x[0-9a-f]{1,16})*) *")
GO_FRAME = re.compile(rb"#\t0x([0-9a-f]{1,16})\t(.+)\+0x[0-9a-f]+\t+(.*):(\d{1,9})")
JEMALLOC_HEADER = re.compile(rb"heap_v2/(\d{1,20})")
STACK = re.compile(rb"@((?: 0x[0-9a-f]{1,16})*) *")
THREAD = re.compile(rb" *t(\*|\d+): *(\d{1,20}): *(\d{1,20}) *\[ *(\d{1,20}): *(\d{1,20}) *\].*")
# Where a profiler's own part of a call stack is: all up to the allocator's entrance.
PROFILER_MODULE = re.compile(r"lib(jemalloc|tcmalloc|profiler)[._].*")
PROFILER_FUNCTION = re.compile(r"(_rjem_)?(je_)?(prof_\w+|imalloc\w*|irealloc\w*|\w+allocx|malloc_default\w*)")


class Counts(NamedTuple):
    """Blocks and bytes of a call stack: live, and allocated over the run."""

    blocks: int
    bytes: int
    allocated_blocks: int
    allocated_bytes: int


class Form(NamedTuple):
    """Who wrote a file, and what its numbers are."""

    tool: Tool
    unit: Unit
    period: int  # bytes of allocations from one sample to the next; 1 where all is recorded


FORMS = {b"heapprofile": Form("gperftools", "requested", 1)}
SAMPLED = {b"heap_v2": Form("tcmalloc", "requested", 1), b"heapz_v2": Form("tcmalloc", "requested", 1)}
GO = Form("pprof", "size class", 1)
DOUBLED = b"heap"  # a period of which the file tells the double
CallStack = tuple[int, ...]


def read_profile(file: Path | str, progress: Progress | None = None) -> Profile:
    """Return the profile in a file; its one moment is DUMP. Where the file is cut off, what is before that.

    Raises Unreadable with a sentence when the file is damaged or of something else than live memory."""
    with closing(read_chunks(file, progress)) as chunks:
        lines = Lines(file, chunks)
        reader = JemallocText(lines) if lines.first().startswith(JEMALLOC) else HeapText(lines)
        reader.read()
    tree = CallstackTree()
    numbers, warnings = add_stacks(reader, tree)
    found = Profile(reader.form.tool, str(file), reader.program(), tree, {})
    found.unit = reader.form.unit
    found.sampled_every_bytes = reader.form.period if reader.form.period > 1 else None
    live: dict[int, LiveHeap] = {}
    allocated: dict[int, AllocationTotals] = {}
    for stack, counts in zip(numbers, reader.samples.values(), strict=True):
        if counts.bytes or counts.blocks:
            more = LiveHeap(counts.bytes, counts.blocks)
            live[stack] = add_live(live[stack], more) if stack in live else more
        blocks, size = counts.allocated_blocks, counts.allocated_bytes
        if had := allocated.get(stack):
            blocks, size = had.blocks + blocks, had.bytes + size
        allocated[stack] = AllocationTotals(blocks, size, None)
    found.moments[DUMP] = Moment(DUMP, sum(held.bytes for held in live.values()), live)
    if any(one.blocks for one in allocated.values()):
        found.allocated = allocated
    if torn := reader.find_tear():
        found.torn = f"{torn}; what is before is used"
        found.warnings.append(found.torn)
    missing = demangle_places(tree)
    found.warnings += [*warnings, *([missing] if missing else []), *unresolved_stacks.unnamed_function_warnings(found)]
    return found


class Lines:
    """The lines of a file, each bounded, and all together too. `torn`: that the last one has no end."""

    def __init__(self, file: Path | str, chunks: Iterable[bytes]) -> None:
        self.file, self.number, self.torn = file, 0, False
        self.iterator = self.split(chunks)
        self.ahead: list[bytes] = []

    def first(self) -> bytes:
        """Return the first line, which is read again."""
        self.ahead = [next(self.iterator, b"")]
        return self.ahead[0]

    def __iter__(self) -> Iterator[bytes]:
        while self.ahead:
            self.number += 1
            yield self.ahead.pop()
        for line in self.iterator:
            self.number += 1
            yield line

    def split(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        rest, size = b"", 0
        try:
            for chunk in chunks:
                size += len(chunk)
                if size > LARGEST:
                    raise Unreadable(f"{self.file}: more than {LARGEST >> 20} MiB, too large to be read at once")
                *lines, rest = (rest + chunk).split(b"\n")
                yield from (line.removesuffix(b"\r") for line in lines)
                if len(rest) > LONGEST:
                    raise self.error(f"has more than {LONGEST:,} bytes", self.number + 1)
        except TornFile:
            self.torn = True
        self.torn = self.torn or bool(rest)

    def error(self, why: str, number: int = 0) -> Unreadable:
        return Unreadable(f"{self.file}: line {number or self.number} {why}")


class TextReader(ABC):
    """What the forms have in common: samples by their addresses, the memory map, and how samples are scaled."""

    form: Form

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.samples: dict[CallStack, Counts] = {}
        self.addresses = Addresses()
        self.named: dict[CallStack, list[Frame]] = {}  # where the file has names
        self.map: list[module_symbols.MappedRange] = []
        self.has_map = False

    @abstractmethod
    def read(self) -> None:
        """Read all lines."""

    @abstractmethod
    def find_tear(self) -> str | None:
        """Return a clause that says what is missing of the file; None where it is whole."""

    def program(self) -> str:
        """The file that is mapped first."""
        return self.map[0].file if self.map else ""

    def read_map(self) -> None:
        self.has_map = True
        self.map = list(module_symbols.parse_memory_map(line.decode(errors="replace") for line in self.lines))

    def add(self, addresses: bytes, numbers: Iterable[bytes]) -> CallStack:
        values = [int(one) for one in numbers]
        blocks, size, allocated_blocks, allocated_bytes = values
        if max(values) >= LIMIT:
            raise self.lines.error("has a number of more than 63 bits")
        if (size and not blocks) or (allocated_bytes and not allocated_blocks):
            raise self.lines.error("has bytes in no blocks")
        counts = Counts(
            *scale(blocks, size, self.form.period), *scale(allocated_blocks, allocated_bytes, self.form.period)
        )
        stack = tuple(map(self.addresses.__getitem__, addresses.split()))
        if had := self.samples.get(stack):
            counts = Counts(*(a + b for a, b in zip(had, counts, strict=True)))
        self.samples[stack] = counts
        if len(self.samples) > MOST_STACKS:
            raise Unreadable(f"{self.lines.file}: more than {MOST_STACKS:,} call stacks, too many to be read")
        return stack


class Addresses(dict[bytes, int]):
    """Numbers by their text: an address is in many call stacks, and is one object in all of them."""

    def __missing__(self, text: bytes) -> int:
        return self.setdefault(text, int(text, 16))


def scale(blocks: int, size: int, period: int) -> tuple[int, int]:
    """Return the estimate of blocks and bytes of which a sample was taken each `period` bytes on average: each block of
    the mean size was sampled with a probability of 1 - exp(-size / period). In the order of pprof's own operations, to
    the last byte."""
    if period <= 1 or not blocks or not size:
        return blocks, size
    mean = size / blocks
    chance = 1 - math.exp(-mean / period)
    factor = 1 / chance if chance else period / mean
    return int(blocks * factor), int(size * factor)


class HeapText(TextReader):
    """A line for each call stack; in Go's, comments with the names of its functions after it."""

    def read(self) -> None:
        lines = iter(self.lines)
        header = HEADER.fullmatch(next(lines, b"").strip())
        if not header or not (form := find_form(header[5], int(header[6] or 0))):
            kind = (header[5] if header else b"").decode(errors="replace")
            what = f"of kind {kind}, not of live memory" if kind else "that is cut off or damaged in its first line"
            raise Unreadable(f"{self.lines.file}: a heap profile {what}")
        self.form, self.told, self.found = form, (int(header[1]), int(header[2])), [0, 0]
        stack: CallStack = ()
        for line in lines:
            if line.startswith(MAPS):
                self.read_map()
            elif found := SAMPLE.fullmatch(line):
                stack = self.add(found[5], found.groups()[:4])
                self.named.pop(stack, None)
                self.found[0] += int(found[1])
                self.found[1] += int(found[2])
            elif frame := GO_FRAME.fullmatch(line):
                self.named.setdefault(stack, []).append(go_frame(frame))
            elif line.strip() and not line.startswith(b"#"):
                raise self.lines.error("is no call stack with its bytes and blocks")

    def find_tear(self) -> str | None:
        if tuple(self.found) == self.told and not self.lines.torn:
            return None
        return f"cut off or damaged: it has {self.found[1]:,} B of the {self.told[1]:,} B that its first line tells"


def find_form(kind: bytes, period: int) -> Form | None:
    """Return the form of a file by what its first line tells; None for a form without live memory."""
    if kind == DOUBLED:
        return GO._replace(period=max(period // 2, 1))
    if kind in SAMPLED:
        return SAMPLED[kind]._replace(period=max(period, 1))
    return FORMS.get(kind)


def go_frame(told: re.Match[bytes]) -> Frame:
    address, function, file, line = told.groups()
    return Frame(
        function.decode(errors="replace"),
        shorten_path(file.decode(errors="replace")),
        int(line) or None,
        None,
        int(address, 16),
        is_absolute=True,
    )


class JemallocText(TextReader):
    """A line for each call stack, and after it one for all threads (`t*`) and one for each."""

    def read(self) -> None:
        lines = iter(self.lines)
        header = JEMALLOC_HEADER.fullmatch(next(lines, b"").strip())
        if not header:
            raise Unreadable(f"{self.lines.file}: a heap profile of jemalloc, cut off or damaged in its first line")
        self.form = Form("jemalloc", "size class", int(header[1]))
        addresses = None  # none in the first lines, which are sums
        for line in lines:
            if line.startswith(MAPS):
                self.read_map()
            elif stack := STACK.fullmatch(line):
                addresses = stack[1]
            elif thread := THREAD.fullmatch(line):
                if addresses is not None and thread[1] == b"*":
                    self.add(addresses, thread.groups()[1:])
            elif line.strip():
                raise self.lines.error("is no call stack, nor the bytes and blocks of one")

    def find_tear(self) -> str | None:
        if self.has_map and not self.lines.torn:
            return None
        return f"cut off after line {self.lines.number:,}" if self.has_map else "cut off: its memory map is missing"


def add_stacks(reader: TextReader, stacks: CallstackTree) -> tuple[list[int], list[str]]:
    """Return the numbers of the call stacks, in the order of the samples, and warnings of modules without names."""
    returns = {address for stack in reader.samples if stack not in reader.named for address in stack}
    calls = {address: max(address - 1, 0) for address in returns}
    found, warnings = module_symbols.find_frames(calls.values(), reader.map)
    frames: list[Frame] = []
    numbers: dict[int, range] = {}
    for address, call in calls.items():
        numbers[address] = range(len(frames), len(frames) + len(found[call]))
        frames += found[call]
    arrays = CallstackArrays()
    for piece in batched(reader.samples, PIECE):
        paths = []
        for stack in piece:
            if names := reader.named.get(stack):
                path = [*range(len(frames), len(frames) + len(names))]
                frames += names
            else:
                path = [number for address in stack for number in numbers[address]]
            inner = next((at for at, one in enumerate(path) if not is_profiler_frame(frames[one])), len(path))
            paths.append(path[inner:])
        arrays.add(paths)
    return arrays.build(stacks, frames).tolist(), warnings


def batched(stacks: Iterable[CallStack], most: int) -> Iterator[list[CallStack]]:
    those = iter(stacks)
    while piece := [*islice(those, most)]:
        yield piece


@lru_cache(1 << 14)
def is_profiler_frame(frame: Frame) -> bool:
    module = (frame.module or "").rpartition("/")[2]
    return bool(PROFILER_MODULE.fullmatch(module) or PROFILER_FUNCTION.fullmatch(frame.function or ""))
