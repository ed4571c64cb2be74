"""The chunks in use of a process's heap, as build/core/heapwalk lists them, and where its memory is by kind."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from tlsmem.census.heap_walk import HeapWalk, Places, Pointers, Words
from tlsmem.census.target import PAGE, Memory, Target

HEADER_BYTES = 16  # of a chunk, before what malloc returns
METER_BYTES = 16  # the same of the heap meter, in a process that runs under it
UNIT_BYTES = 16
ADDRESS = np.uint64((1 << 48) - 1)
BATCH_BYTES = 64 << 20  # read at once
LARGEST_READ_BYTES = 8192  # structures are smaller; record buffers are larger and are never read
ALL_BITS = (1 << 64) - 1


class Mark(IntEnum):
    """What a chunk may be by how its block begins."""

    SESSION = 0
    TICKET = 1
    BIO = 2
    X509 = 3
    MMAPPED = 15  # a mapping of its own


class Beginning(NamedTuple):
    """How a block begins that gets a mark: of so many bytes, and the bits of `mask` in one of its first 4 words are in
    a range, the end excluded. heapwalk looks at that while it walks, as reading all blocks of a size again takes as
    long as the walk."""

    mark: Mark
    block_bytes: int
    word: int
    low: int
    high: int
    mask: int = ALL_BITS

    def __str__(self) -> str:
        return f"{self.mark:d}:{self.block_bytes}:{self.word}:{self.mask:x}:{self.low:x}:{self.high:x}"


@dataclass(frozen=True)
class LiveHeap:
    """The heap of one process: of each chunk in use the address that malloc returned, the size with its header, how
    much of it is resident, in bytes, and its marks, in the order of addresses. A chunk with a mapping of its own has
    all pages of that. Its blocks can be read until it is closed."""

    heap_walk: HeapWalk
    addresses: Places
    sizes: Places
    resident: Places
    marks: npt.NDArray[np.uint16]
    lead_bytes: int = 0  # that the heap meter, or the program, has before each block
    behind_bytes: int = 0  # and the program behind it

    def have_block(self, chunks: Places, size: int) -> npt.NDArray[np.bool_]:
        """Return in which of these chunks there may be a block of so many bytes. A chunk can be 16 bytes longer than it
        must be: malloc leaves no remainder that is smaller than a chunk."""
        least = chunk_bytes(size + self.lead_bytes + self.behind_bytes)
        sizes, is_mmapped = self.sizes[chunks], self.is_mmapped[chunks]
        found: npt.NDArray[np.bool_] = (sizes == least) | (sizes == least + 16)
        if self.behind_bytes:  # which are at least so many, and can be up to 15 more
            found |= sizes == least + 32
        return np.where(is_mmapped, (sizes >= least + 8) & (sizes < least + 16 + PAGE), found)

    @cached_property
    def is_mmapped(self) -> npt.NDArray[np.bool_]:
        """Which chunks have a mapping of their own."""
        found: npt.NDArray[np.bool_] = (self.marks & np.uint16(1 << Mark.MMAPPED)) != 0
        return found

    @cached_property
    def marked(self) -> Places:
        """Which chunks have any mark."""
        return np.flatnonzero(self.marks)

    def count_words(self, chunks: Places) -> Places:
        """Return how many words blocks have room for; the last is in the next chunk's header, if there is one."""
        found: Places = (self.sizes[chunks] - 8 - self.lead_bytes) // 8 - self.is_mmapped[chunks]
        return found

    def wrap(self, before: int, behind: int) -> "LiveHeap":
        """Return the heap of blocks that a program has with so many bytes around each; to close one heap closes both.
        All chunks have the marks of all objects: none was looked for there."""
        marks = self.marks | np.uint16((1 << Mark.MMAPPED) - 1)
        addresses, lead = self.addresses + before, self.lead_bytes + before
        return LiveHeap(self.heap_walk, addresses, self.sizes, self.resident, marks, lead, behind)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.heap_walk.close()

    def read_pointers(self, chunks: Places, offsets: Sequence[int] = ()) -> tuple[Pointers, Iterator[Words]]:
        """Return the pointers in these chunks to beginnings of blocks in others, and what each chunk has in the fields
        at these offsets, as read_fields() yields it. `chunks` are in order, each once.

        Raises OSError once the process has ended."""
        pointers, words = self.heap_walk.ask(chunks, self.lead_bytes, [offset // 8 * 8 for offset in offsets])
        return pointers, shift_halves(offsets, words)

    def read_fields(self, chunks: Places, *offsets: int) -> Iterator[Words]:
        """Yield the 8 bytes at each offset of each chunk, in any order; of an offset that is no multiple of 8, 4 bytes.

        Raises OSError once the process has ended."""
        ordered, which = np.unique(chunks, return_inverse=True)
        places = [offset // 8 * 8 for offset in offsets]
        _, words = self.heap_walk.ask(ordered, self.lead_bytes, places, wants_pointers=False)
        return shift_halves(offsets, words[:, which.ravel()])

    def find_marked(self, mark: Mark) -> Places:
        """Return which chunks have a mark."""
        found: Places = self.marked[(self.marks[self.marked] & np.uint16(1 << mark)) != 0]
        return found

    def find(self, pointers: npt.NDArray[np.uint64]) -> Places:
        """Return which chunk each pointer leads to the beginning of; -1 where to none."""
        if not len(self.addresses):
            return np.full(len(pointers), -1)
        wanted = pointers.astype(np.int64)
        places = np.minimum(np.searchsorted(self.addresses, wanted), len(self.addresses) - 1)
        return np.where(self.addresses[places] == wanted, places, -1)


def shift_halves(offsets: Sequence[int], rows: Words) -> Iterator[Words]:
    """Yield each row; where its offset is no multiple of 8, the upper halves of its words."""
    for offset, row in zip(offsets, rows, strict=True):
        yield row >> np.uint64(32) if offset % 8 else row


def chunk_bytes(size: int) -> int:
    """Return the size of the chunk in which glibc's malloc puts a block of so many bytes."""
    return max(32, (size + 8 + 15) & ~15)


def read_live_heap(target: Target, beginnings: Iterable[Beginning] = ()) -> LiveHeap:
    """Return the heap of a process. Raises UserError where it cannot be read or divided."""
    walk = target.walk(",".join(map(str, beginnings)))
    lead = METER_BYTES if walk.rss.found_bytes is not None else 0
    addresses = (walk.chunks["place"] & ADDRESS).view(np.int64)
    addresses += HEADER_BYTES + lead
    sizes, resident = (np.multiply(walk.chunks[one], UNIT_BYTES, dtype=np.int64) for one in ("units", "resident_units"))
    return LiveHeap(walk, addresses, sizes, resident, np.array(walk.chunks["marks"]), lead)


def read_starts(memory: Memory, heap: LiveHeap, chunks: Places, words: int) -> Words:
    """Return the first words of each chunk, a row each. Raises OSError once the process has ended."""
    counts = np.full(len(chunks), words)
    return memory.read_words(heap.addresses[chunks], counts).reshape(-1, words)


def split_batches(chunks: Places, sizes: Places) -> Iterable[Places]:
    """Return the chunks in the order of their addresses, so many at a time as are read at once; none at all, once."""
    ordered = np.sort(chunks)
    parts = np.cumsum(sizes[ordered]) // BATCH_BYTES
    return np.split(ordered, np.flatnonzero(np.diff(parts)) + 1)
