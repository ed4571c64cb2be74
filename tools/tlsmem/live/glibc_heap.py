"""What glibc's malloc holds in a process, chunk by chunk, read from outside: nothing is loaded into the process.

malloc's main arena is the region [heap] of /proc/PID/maps: chunks one after the other, each with its size before it,
and in the next one's size a bit that says whether it is in use (malloc/malloc.c, "Representation of malloc chunks").
/proc/PID/pagemap says which pages are resident. A freed chunk in a cache for small sizes (tcache, fastbins) counts as
in use. The process must be at rest."""

import os
import struct
from array import array
from collections import Counter
from collections.abc import Iterable
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

PAGE = os.sysconf("SC_PAGE_SIZE")
IN_USE, FLAGS = 1, 7  # the lowest bits of a size: the chunk before is in use; all that are no size
LEAST = 32  # bytes of a chunk
SIZES = 8  # of free chunks that are told


class GlibcHeap(NamedTuple):
    """Of the main arena. `chunk_bytes` are those in use, with what malloc adds to each. `resident` bytes are on pages
    that are resident, of chunks in use, and of free ones, the top included. `free_sizes`: how many free chunks there
    are of a size, for the sizes that take most bytes; without the top."""

    chunks: int
    chunk_bytes: int
    chunk_resident_bytes: int
    free_resident_bytes: int
    free_sizes: dict[int, int]


class Region(NamedTuple):
    """Addresses of memory, the end excluded."""

    begin: int
    end: int


def sum_heaps(heaps: Iterable[GlibcHeap]) -> GlibcHeap:
    """Return the figures of several processes, added up."""
    heaps, free = list(heaps), Counter[int]()
    for heap in heaps:
        free.update(heap.free_sizes)
    return GlibcHeap(
        sum(heap.chunks for heap in heaps),
        sum(heap.chunk_bytes for heap in heaps),
        sum(heap.chunk_resident_bytes for heap in heaps),
        sum(heap.free_resident_bytes for heap in heaps),
        keep_largest(free),
    )


def keep_largest(counts: Counter[int]) -> dict[int, int]:
    """Return the sizes that take most bytes, with their number; the largest share first."""
    return dict(sorted(counts.items(), key=lambda item: (-item[0] * item[1], item[0]))[:SIZES])


def find_heap(maps: str) -> Region | None:
    """Return the region [heap] of /proc/PID/maps; None where the process has none."""
    for line in maps.splitlines():
        if line.endswith("[heap]"):
            begin, end = (int(word, 16) for word in line.split()[0].split("-"))
            return Region(begin, end)
    return None


def read_heap(pid: int) -> GlibcHeap | None:
    """Return what malloc holds; None where the process has no heap of glibc's, as with an allocator of its own.

    Raises OSError where the process has ended or may not be read."""
    region = find_heap(Path(f"/proc/{pid}/maps").read_text(errors="replace"))
    if region is None:
        return None
    resident = read_resident(pid, region)
    memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
    try:
        return walk(memory, region, resident)
    finally:
        os.close(memory)


def read_resident(pid: int, region: Region) -> list[int]:
    """Return of each page, and of the end, how many pages of the region before it are resident."""
    pages = (region.end - region.begin) // PAGE
    descriptor = os.open(f"/proc/{pid}/pagemap", os.O_RDONLY)
    try:
        entries = array("Q", os.pread(descriptor, 8 * pages, 8 * (region.begin // PAGE)))
    finally:
        os.close(descriptor)
    return list(accumulate((entry >> 63 for entry in entries), initial=0))  # the highest bit: it is present


def walk(memory: int, region: Region, resident: list[int]) -> GlibcHeap | None:
    """Add up the chunks from the first to the end; None where they are no such chunks.

    Only pages with a size on them are read: reading one that was never written would map it."""
    chunks = chunk_bytes = chunk_resident = free_resident = 0
    free: Counter[int] = Counter()
    place, number, page = region.begin, -1, b""
    size, resident_before = 0, 0  # of the chunk before
    while place < region.end:
        offset = place - region.begin
        if offset // PAGE != number:
            number = offset // PAGE
            page = os.pread(memory, PAGE, region.begin + number * PAGE)
        (word,) = struct.unpack_from("<Q", page, offset % PAGE + 8)
        resident_here = resident_bytes(offset, resident)
        if size and word & IN_USE:
            chunks, chunk_bytes = chunks + 1, chunk_bytes + size
            chunk_resident += resident_here - resident_before
        elif size:
            free[size] += 1
            free_resident += resident_here - resident_before
        size, resident_before = word & ~FLAGS, resident_here
        if size < LEAST or place + size > region.end:
            return None
        place += size
    top_resident = resident[-1] * PAGE - resident_before
    return GlibcHeap(chunks, chunk_bytes, chunk_resident, free_resident + top_resident, keep_largest(free))


def resident_bytes(offset: int, resident: list[int]) -> int:
    """Return how many bytes of the region before the offset are resident."""
    number, rest = divmod(offset, PAGE)
    return resident[number] * PAGE + (rest if rest and resident[number + 1] > resident[number] else 0)
