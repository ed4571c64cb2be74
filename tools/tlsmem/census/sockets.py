"""The sockets that a process has open, and which session has one: the session leads to its BIO, and that has the number
of a file descriptor. A session whose descriptor is closed belongs to no connection any more."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tlsmem.census.heap_walk import Places, Words
from tlsmem.census.library import BIO, GNUTLS, Library
from tlsmem.census.live_heap import LARGEST_READ_BYTES, LiveHeap, read_starts, split_batches
from tlsmem.census.target import Memory

ESTABLISHED = "01"
FAMILIES = ("tcp", "tcp6")
SOCKET = "socket:["
NEEDED = {"read_bio", "bio_method", "bio_next", "bio_number"}  # fields
NEEDED_GNUTLS = {"transport", "pull_function"}
DESCRIPTOR, FILTER = 0x100, 0x200  # bits of a BIO's type: it has a descriptor; it passes on to the next BIO
FILE, DATAGRAMS = 0x504, (0x515, 0x518)  # types: a file of any kind; sockets that several sessions may share
LARGEST_NUMBER = (1 << 31) - 1  # of a descriptor
MOST_FILTERS = 4  # before the BIO with the socket
LOW = np.uint64(0xFFFFFFFF)

Descriptors = Mapping[int, str | None]  # by number: the inode of a socket; None for another file


class SocketState(StrEnum):
    """What a session has of a socket."""

    OPEN = "open"
    CLOSED = "closed"  # it has had one, which the process has open no longer
    NOT_SET = "not set"  # it has no BIO
    UNKNOWN = "unknown"


class Kind(IntEnum):
    """What a session leads to."""

    UNKNOWN = 0  # a memory BIO, one of the program's own, or what the file does not tell
    NOTHING = 1
    SOCKET = 2
    FILE = 3  # which may be a pipe
    DATAGRAMS = 4
    OWN = 5  # a BIO of the program's own, of the kind that has a descriptor


@dataclass(frozen=True)
class Endpoints:
    """Of each session what it leads to (a Kind), and the number of the file descriptor."""

    kinds: Places
    numbers: Places


def list_descriptors(pid: int) -> dict[int, str | None] | None:
    """Return the descriptors that the process has open; None where they may not be looked at."""
    try:
        files = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return None
    found: dict[int, str | None] = {}
    for file in files:
        with suppress(OSError):
            link = os.readlink(f"/proc/{pid}/fd/{file}")
            found[int(file)] = link[len(SOCKET) : -1] if link.startswith(SOCKET) else None
    return found


def count_established(pid: int) -> int | None:
    """Return how many established TCP connections the process has open; None where they may not be looked at."""
    descriptors = list_descriptors(pid)
    if descriptors is None:
        return None
    own, found = set(descriptors.values()), set[str]()
    for family in FAMILIES:
        with suppress(OSError):  # a kernel without IPv6
            for line in Path(f"/proc/{pid}/net/{family}").read_text().splitlines()[1:]:
                fields = line.split()
                if len(fields) > 9 and fields[3] == ESTABLISHED and fields[9] in own:
                    found.add(fields[9])
    return len(found)


def pair(endpoints: Endpoints, looks: Sequence[Descriptors | None]) -> list[SocketState]:
    """Return of each session whether its socket is open, by what the process had open before and after it was read: a
    connection that comes or goes meanwhile has a socket. Of several sessions with the same socket one has it: the
    number was given to a newer connection. Sockets of datagrams may be shared."""
    if None in looks:
        return [SocketState.UNKNOWN] * len(endpoints.kinds)
    merged = {number: inode for look in looks for number, inode in (look or {}).items()}
    sockets = {number for look in looks for number, inode in (look or {}).items() if inode is not None}
    taken, states = set[int](), list[SocketState]()
    for kind, number in zip(endpoints.kinds.tolist(), endpoints.numbers.tolist(), strict=True):
        if kind in (Kind.UNKNOWN, Kind.NOTHING):
            states.append(SocketState.NOT_SET if kind == Kind.NOTHING else SocketState.UNKNOWN)
        elif number in sockets and number not in taken:
            states.append(SocketState.OPEN)
            taken |= set() if kind == Kind.DATAGRAMS else {number}
        elif kind == Kind.OWN or (kind == Kind.FILE and number in merged and number not in sockets):
            states.append(SocketState.UNKNOWN)
        else:
            states.append(SocketState.CLOSED)
    return states


def confirm_closed(
    memory: Memory,
    heap: LiveHeap,
    roots: Places,
    states: Sequence[SocketState],
    walk_again: Callable[[], LiveHeap],
) -> list[SocketState]:
    """Return the states with CLOSED only for sessions that are still there, unchanged, when the heap is walked through
    again. Those of connections that came and went while it was read are gone by then, or another has their place."""
    candidates = np.flatnonzero(np.array(states) == SocketState.CLOSED)
    addresses = heap.addresses[roots[candidates]]
    before = compute_checksums(memory, heap, roots[candidates])
    with walk_again() as later:
        chunks = later.find(addresses.astype(np.uint64))
        is_there = chunks >= 0
        is_same = np.zeros(len(candidates), bool)
        is_same[is_there] = compute_checksums(memory, later, chunks[is_there]) == before[is_there]
    found = list(states)
    for number in candidates[~is_same].tolist():
        found[number] = SocketState.OPEN
    return found


def compute_checksums(memory: Memory, heap: LiveHeap, chunks: Places) -> Words:
    """Return a number for the content of each chunk, from which nothing of that can be told; chunks are in order. All
    are as long as the shortest."""
    found = [np.zeros(0, np.uint64)]
    count = int(heap.count_words(chunks).min(initial=LARGEST_READ_BYTES // 8))
    odd = 2 * np.arange(count, dtype=np.uint64) + np.uint64(1)
    for batch in split_batches(chunks, heap.sizes):
        found.append(read_starts(memory, heap, batch, count) @ odd)
    return np.concatenate(found)


def tells_sockets(library: Library) -> bool:
    """Return whether the library's file says where a session has its descriptor."""
    return library.fields.keys() >= (NEEDED_GNUTLS if library.found.library == GNUTLS else NEEDED)


def read_endpoints(
    memory: Memory, heap: LiveHeap, library: Library, values: Mapping[str, Words], count: int
) -> Endpoints:
    """Return what so many sessions lead to, by their fields. Raises OSError when the process ends meanwhile."""
    kinds, numbers = np.zeros(count, np.int64), np.full(count, -1)
    if not tells_sockets(library):
        return Endpoints(kinds, numbers)
    if library.found.library == GNUTLS:
        return find_transports(library, values)
    fields = library.fields
    pointers = values["read_bio"].copy()
    kinds[pointers == 0] = Kind.NOTHING
    left = np.flatnonzero(pointers)
    for _ in range(MOST_FILTERS):
        bios = heap.find(pointers[left])
        is_bio = (bios >= 0) & library.find(heap, bios, BIO)
        left, bios = left[is_bio], bios[is_bio]
        if not len(left):
            break
        names = ("bio_method", "bio_number", "bio_next")
        methods, found, following = heap.read_fields(bios, *(fields[name] for name in names))
        types, is_own = read_types(memory, heap, library, methods)
        kinds[left] = [name_kind(*one) for one in zip(types.tolist(), is_own.tolist(), strict=True)]
        numbers[left] = (found & LOW).astype(np.uint32).view(np.int32)
        is_filter = (types & FILTER) != 0
        left = left[is_filter]
        pointers[left] = following[is_filter]
    return Endpoints(kinds, numbers)


def name_kind(type_: int, is_own: bool) -> Kind:
    if not type_ & DESCRIPTOR or type_ & FILTER:
        return Kind.UNKNOWN
    if is_own:
        return Kind.OWN
    return Kind.FILE if type_ == FILE else Kind.DATAGRAMS if type_ in DATAGRAMS else Kind.SOCKET


def find_transports(library: Library, values: Mapping[str, Words]) -> Endpoints:
    """As read_endpoints(), of GnuTLS: with its own function that reads, a session's transport is a number."""
    transports = values["transport"]
    is_default = library.mapped.has(values["pull_function"])
    is_number = transports <= np.uint64(LARGEST_NUMBER)
    kinds = np.where(is_default & is_number, Kind.SOCKET, Kind.UNKNOWN)
    kinds[is_default & (transports == 0)] = Kind.NOTHING
    return Endpoints(kinds, np.where(is_number, transports, 0).astype(np.int64))


def read_types(
    memory: Memory, heap: LiveHeap, library: Library, methods: Words
) -> tuple[Places, npt.NDArray[np.bool_]]:
    """Return the type that each method begins with, and whether it is one of the program's own; 0 for what is no
    method."""
    is_library, is_own = library.mapped_crypto.has(methods), heap.find(methods) >= 0
    wanted = np.where((is_library | is_own) & (methods & np.uint64(7) == 0), methods, 0).astype(np.int64)
    places, which = np.unique(wanted, return_inverse=True)
    is_place = places > 0
    types = np.zeros(len(places), np.int64)
    found = memory.read_words(places[is_place], np.ones(int(is_place.sum()), np.int64))
    types[is_place] = (found & LOW).astype(np.int64)
    return types[which.ravel()], is_own
