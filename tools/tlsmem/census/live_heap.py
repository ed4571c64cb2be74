"""The chunks in use of a process's heap, as build/core/heapwalk lists them, and where its memory is by kind."""

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tlsmem.base.errors import UserError
from tlsmem.census.target import Memory, Places, Target, Words
from tlsmem.monitor.rss_parts import RssParts, parse

HEADER_BYTES = 16  # of a chunk, before what malloc returns
METER_BYTES = 16  # the same of the heap meter, in a process that runs under it
NUMBERS = 3  # of each chunk
BATCH_BYTES = 64 << 20  # read at once


@dataclass(frozen=True)
class LiveHeap:
    """The heap of one process: `rss` by kind of memory; of each chunk in use the address that malloc returned, the size
    with its header, and how much of it is resident, in bytes and in the order of addresses."""

    rss: RssParts
    addresses: Places
    sizes: Places
    resident: Places
    lead_bytes: int = 0  # that the heap meter has before each block

    def have_block(self, size: int) -> npt.NDArray[np.bool_]:
        """Return in which chunks there may be a block of so many bytes. A chunk can be 16 bytes longer than it must be:
        malloc leaves no remainder that is smaller than a chunk."""
        least = chunk_bytes(size + self.lead_bytes)
        found: npt.NDArray[np.bool_] = (self.sizes == least) | (self.sizes == least + 16)
        return found

    def find(self, pointers: npt.NDArray[np.uint64]) -> Places:
        """Return which chunk each pointer leads to the beginning of; -1 where to none."""
        if not len(self.addresses):
            return np.full(len(pointers), -1)
        wanted = pointers.astype(np.int64)
        places = np.minimum(np.searchsorted(self.addresses, wanted), len(self.addresses) - 1)
        return np.where(self.addresses[places] == wanted, places, -1)


def chunk_bytes(size: int) -> int:
    """Return the size of the chunk in which glibc's malloc puts a block of so many bytes."""
    return max(32, (size + 8 + 15) & ~15)


def read_live_heap(target: Target) -> LiveHeap:
    """Return the heap of a process. Raises UserError where it cannot be read or divided."""
    with tempfile.TemporaryFile() as file:
        line = target.walk(file.fileno())
        name = target.title if target.is_core else target.pid
        if "refused" in line:
            raise UserError(f"{name}: {line['refused']}")
        file.seek(0)
        numbers = np.fromfile(file, np.int64)
    rss = parse(line)
    if rss.undivided:
        raise UserError(f"{name}: its heap cannot be counted: {rss.undivided}")
    chunks = numbers[1:].reshape(-1, NUMBERS)
    if not len(numbers) or len(chunks) != numbers[0]:
        raise UserError(f"{name}: heapwalk did not list all chunks; is there room in {tempfile.gettempdir()}?")
    lead = METER_BYTES if rss.found_bytes is not None else 0
    return LiveHeap(rss, chunks[:, 0] + HEADER_BYTES + lead, chunks[:, 1].copy(), chunks[:, 2].copy(), lead)


def read_fields(memory: Memory, heap: LiveHeap, chunks: Places, offset: int) -> Words:
    """Return the 8 bytes at an offset of each chunk, in any order; of an offset that is no multiple of 8, 4 bytes.

    Raises OSError once the process has ended."""
    places, which = np.unique(heap.addresses[chunks] + offset // 8 * 8, return_inverse=True)
    words = memory.read_words(places, np.ones(len(places), np.int64))[which.ravel()]
    return words >> np.uint64(32) if offset % 8 else words


def split_batches(chunks: Places, sizes: Places) -> Iterable[Places]:
    """Return the chunks in the order of their addresses, so many at a time as are read at once; none at all, once."""
    ordered = np.sort(chunks)
    parts = np.cumsum(sizes[ordered]) // BATCH_BYTES
    return np.split(ordered, np.flatnonzero(np.diff(parts)) + 1)
