"""Where a library's blocks come from: glibc's malloc, or functions of the program's own around it.

A program may give OpenSSL its own functions (CRYPTO_set_mem_functions(), as stunnel does), or have a malloc of its own.
Such functions often put a header before each block and more behind it. A session is not found by its size then, so the
blocks that begin with the library's methods say how much is around each: an SSL, or the SSL_CTX that every program has
that uses the library. Where neither is found, nothing is counted."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tlsmem.census.heap_walk import Words
from tlsmem.census.library import CONTEXT, GNUTLS, SESSION, Library
from tlsmem.census.live_heap import LiveHeap, chunk_bytes, read_starts
from tlsmem.census.target import PAGE, MappedFile, Memory, Target

OWN_FILES = ("libc.so.6", "libc-2.", "libheapmeter.so")  # whose malloc is walked through
LARGEST_HEADER = 512  # bytes; a multiple of 16, as malloc's blocks are aligned to that
LARGEST_AROUND = 1024  # of what is before and behind a block
FIELDS = {SESSION: "method", CONTEXT: "context_method"}  # where the objects have their methods
LONGEST_ROUNDING = 23  # bytes that a chunk has besides its block, at most


class Wrapping(NamedTuple):
    """Bytes that a program's own functions put before each block, and behind it."""

    before: int
    behind: int


NOTHING_AROUND = Wrapping(0, 0)


def find_foreign(memory: Memory, target: Target, library: Library) -> str | None:
    """Return where the library's blocks come from, if that is not glibc's malloc. Raises OSError when the process ends
    meanwhile."""
    mapped, fields = library.mapped_crypto, library.fields
    names = ["malloc_function", "malloc_slot"]
    if library.found.library == GNUTLS:  # and the file with BIOs, if there is one, is another library's
        mapped, fields, names = library.mapped, library.found.fields, names[1:]
    places = [fields[name] for name in names if name in fields]
    starts = np.array(sorted(places), np.int64) + (mapped.bounds[0] - fields.get("crypto_base", 0))
    words = memory.read_words(starts, np.ones(len(starts), np.int64))
    for word in words[words != 0]:
        if not bool(mapped.has(word)):  # until it is called first, a function can be a stub of the library's own
            owner = find_owner(target.files, word)
            if owner is None or not owner.name.startswith(OWN_FILES):
                return owner.path if owner else "code that is in no file"
    return None


def find_owner(files: Sequence[MappedFile], address: Words) -> MappedFile | None:
    """Return the file that is mapped at an address."""
    return next((one for one in files if any(part.start <= address < part.end for part in one.ranges)), None)


def find_wrapping(memory: Memory, heap: LiveHeap, library: Library) -> Wrapping | None:
    """Return what is around the library's blocks; None where none is found. Raises OSError when the process ends
    meanwhile."""
    found = list[Around]()
    for name, field in FIELDS.items():
        if name in library.sizes and field in library.fields:
            found += find_around(memory, heap, library, name, library.fields[field])
    alike = [one for one in found if one.before == found[0].before]
    least = max((one.behind_least for one in alike if not one.is_mmapped), default=0)
    return Wrapping(found[0].before, -(-least // 8) * 8) if found else None


class Around(NamedTuple):
    """What is around the objects of a kind: bytes before, and behind at least."""

    before: int
    behind_least: int
    is_mmapped: bool


def find_around(memory: Memory, heap: LiveHeap, library: Library, name: str, field: int) -> Iterator[Around]:
    """Yield what is most often around the objects of a kind, of which one field leads to the library's methods."""
    size = library.sizes[name]
    least = chunk_bytes(size + heap.lead_bytes)
    is_possible = (heap.sizes >= least) & (heap.sizes <= least + LARGEST_AROUND + PAGE * heap.is_mmapped)
    chunks = np.flatnonzero(is_possible)
    rows = read_starts(memory, heap, chunks, (LARGEST_HEADER + field) // 8 + 1)
    is_method = library.has_methods(rows)[:, field // 8 :: 2]  # by what is before, in steps of 16 bytes
    is_method &= heap.sizes[chunks][:, None] >= least + 16 * np.arange(is_method.shape[1])
    numbers, steps = np.nonzero(is_method)
    columns = [heap.is_mmapped[chunks[numbers]], steps * 16, heap.sizes[chunks[numbers]]]
    kinds, counts = np.unique(np.stack(columns, axis=1), axis=0, return_counts=True)
    order = np.lexsort([-counts, kinds[:, 0]])  # a mapping's size does not tell what is behind the block
    for is_mmapped, before, bytes_ in kinds[order[:1]].tolist():
        yield Around(before, bytes_ - heap.lead_bytes - before - size - LONGEST_ROUNDING, bool(is_mmapped))
