"""The census of processes: libraries, sessions and bytes, from a look at each."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

from tlsmem.base.errors import UserError
from tlsmem.census.allocator import NOTHING_AROUND, Wrapping, find_foreign, find_wrapping
from tlsmem.census.core_file import read_core
from tlsmem.census.library import BIO, CRYPTO, GNUTLS, OPENSSL, SESSION, Library, LibraryFile
from tlsmem.census.library_file import identify
from tlsmem.census.live_heap import LiveHeap, read_live_heap
from tlsmem.census.sessions import LibraryCensus, count_sessions, list_beginnings
from tlsmem.census.sockets import Descriptors, count_established, list_descriptors
from tlsmem.census.target import MappedFile, Memory, Target, read_target
from tlsmem.monitor.rss_parts import MIB, RssParts, describe_size

INSTRUCTIONS = "the machine code of the library's file"
RECORDED = "recordings of {}, because the library's file does not show it"
TLS_NAME = re.compile("ssl|tls|crypto")  # in the name of a file: what others have is not missed
CHANGED = "its heap changed while it was read; the figures are off by as much as it changed"
CHANGED_CORE = "it was inside malloc when the core was written; the figures are off by what malloc was changing"
READ_IN = "{} of its memory were swapped out; reading made them resident again"
JAVA = "libjvm.so"
JAVA_REMARK = (
    "Java: not counted, because its sessions are in a heap of its own; `jmap -histo PID` counts "
    "sun.security.ssl.SSLEngineImpl and SSLSocketImpl"
)
COUNTED = (OPENSSL, GNUTLS)
ALLOCATORS = ("SSL_new", "ossl_ssl_connection_new_int")  # what allocates an SSL, in recordings
NOT_COUNTED = {
    "rustls": "a session of rustls is a part of the application's own structures",
    "Go's crypto/tls": "Go has a heap of its own",
}


Known = dict[object, LibraryFile | None]  # what files have, by what tells one from all others: workers share them


@dataclass(frozen=True)
class Libraries:
    """The TLS libraries of a process: those that can be counted, and sentences on the others."""

    counted: tuple[Library, ...]
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class ProcessCensus:
    """What a look at one process found. `connections`: its established TCP connections; None where they may not be
    looked at."""

    target: Target
    libraries: tuple[LibraryCensus, ...]
    rss: RssParts
    connections: int | None
    remarks: tuple[str, ...]

    @property
    def sessions(self) -> int:
        return sum(one.sessions for one in self.libraries)

    @property
    def tls_bytes(self) -> int:
        """Resident bytes that sessions alone hold."""
        return sum(group.resident_bytes for one in self.libraries for group in one.groups)

    @property
    def resident_parts(self) -> dict[str, int]:
        """Resident bytes by what they are."""
        parts = {name: size or 0 for name, size in self.rss.parts.items() if name != "heap"}
        live = parts.pop("live") + parts.pop("overhead")
        mmapped = sum(group.mmapped_bytes for one in self.libraries for group in one.groups)
        parts["mmapped"] -= mmapped
        return {"tls": self.tls_bytes, "other_live": live - self.tls_bytes + mmapped} | parts


def take_census(places: Sequence[int | Path], system: str = "") -> tuple[list[ProcessCensus], list[str]]:
    """Return what is found in each process, by its number or its core, and sentences on what is not there.

    `system`: the directory below which the files are that a core had mapped. Raises UserError where none can be
    counted."""
    found: list[ProcessCensus] = []
    remarks: list[str] = []
    failures: list[UserError] = []
    known: Known = {}
    for place in places:
        try:
            one = look_at(read_core(place, system) if isinstance(place, Path) else read_target(place), known)
        except UserError as error:
            failures.append(error)
        else:
            found.append(one)
            remarks += one.remarks
    if not found:
        raise failures[0]
    return found, [*remarks, *map(str, failures)]


def look_at(target: Target, known: Known) -> ProcessCensus:
    """Return the census of one process. Raises UserError."""
    if target.is_32_bit:
        connections = describe_connections(count_connections(target))
        raise UserError(f"{target.title}: it has 32-bit code, which the census does not count{connections}")
    libraries = find_libraries(target, known)
    if not libraries.counted:
        why = "; ".join(libraries.remarks) or "no TLS library is mapped or linked into it"
        raise UserError(f"{target.title}: {why}")
    before, swapped = list_open(target), target.count_swapped()
    try:
        heap = read_live_heap(target, chain.from_iterable(map(list_beginnings, libraries.counted)))
    except UserError as error:
        titles = " and ".join(library.title for library in libraries.counted)
        connections = describe_connections(count_connections(target))
        raise UserError(f"{error}; it has {titles}{connections}", error.status) from None
    try:
        with heap, target.open_memory() as memory:
            counts, uncounted = count_libraries(target, memory, heap, libraries.counted, before)
    except OSError:
        raise UserError(f"{target.title}: it ended while it was read") from None
    if not counts:
        raise UserError(f"{target.title}: {'; '.join([*libraries.remarks, *uncounted])}")
    remarks = [f"{target.title}: {remark}" for remark in [*libraries.remarks, *uncounted]]
    read_in = swapped - target.count_swapped()
    if read_in >= MIB:
        remarks.append(f"{target.title}: {READ_IN.format(describe_size(read_in))}")
    if not heap.heap_walk.rss.is_exact:
        remarks.append(f"{target.title}: {CHANGED_CORE if target.is_core else CHANGED}")
    return ProcessCensus(target, tuple(counts), heap.heap_walk.rss, count_connections(target), tuple(remarks))


def count_libraries(
    target: Target, memory: Memory, heap: LiveHeap, libraries: Sequence[Library], before: Descriptors | None
) -> tuple[list[LibraryCensus], list[str]]:
    """Return what each library has in a heap, and sentences on those that have their blocks elsewhere. `before`: the
    descriptors that were open before it was walked through. Raises OSError when the process ends meanwhile."""
    found, remarks = list[LibraryCensus](), list[str]()
    for library in libraries:
        around: Wrapping | None = NOTHING_AROUND
        if foreign := find_foreign(memory, target, library):
            around = find_wrapping(memory, heap, library)
        if around:
            wrapped = heap if around == NOTHING_AROUND else heap.wrap(*around)
            look_again = partial(walk_again, target, around)
            found.append(count_sessions(memory, wrapped, library, lambda: [before, list_open(target)], look_again))
        else:
            remarks.append(f"{library.title}: not counted, because its memory is allocated by {foreign}")
    return found, remarks


def walk_again(target: Target, around: Wrapping) -> LiveHeap:
    return read_live_heap(target).wrap(*around)


def list_open(target: Target) -> Descriptors | None:
    """Return the open descriptors of a process that runs; None where they are not told."""
    return None if target.is_core else list_descriptors(target.pid)


def count_connections(target: Target) -> int | None:
    """Return the established TCP connections of a process that runs; None where they are not told."""
    return None if target.is_core else count_established(target.pid)


def describe_connections(count: int | None) -> str:
    return "" if count is None else f", and {count:,} established TCP connections"


def find_libraries(target: Target, known: Known) -> Libraries:
    """Return the TLS libraries of a process."""
    files, remarks = identify_files(target, known)
    crypto = [(mapped, found) for mapped, found in files if found.library == CRYPTO]
    counted = []
    if any(mapped.name == JAVA for mapped in target.files):
        remarks.append(JAVA_REMARK)
    for mapped, found in files:
        if found.library not in COUNTED:
            if found.library != CRYPTO:
                remarks.append(describe_uncounted(found))
            continue
        library = complete(mapped, found, crypto)
        if SESSION in library.sizes:
            counted.append(library)
        else:
            title = f"{library.title} in {mapped.path}"
            remarks.append(f"{title}: not counted, because its file does not show the size of a session")
    return Libraries(tuple(counted), tuple(dict.fromkeys(remarks)))


def identify_files(target: Target, known: Known) -> tuple[list[tuple[MappedFile, LibraryFile]], list[str]]:
    """Return the files that have TLS libraries in them, and sentences on those that cannot be read."""
    files, remarks = [], []
    for mapped in target.files:
        if not mapped.has_code:
            continue
        key = target.key_of(mapped)
        opened = None if key in known else target.open_file(mapped)
        if opened:
            with opened:
                known[key] = identify(opened, mapped.name)
        elif key not in known:
            if mapped == target.files[0] or TLS_NAME.search(mapped.name):
                remarks.append(f"{mapped.path}: not counted, because {target.describe_missing(mapped)}")
            continue
        if found := known[key]:
            files.append((mapped, found))
    return files, remarks


def complete(mapped: MappedFile, found: LibraryFile, crypto: Sequence[tuple[MappedFile, LibraryFile]]) -> Library:
    """Return a library with what its other file has: libcrypto, from the same directory where there are several."""
    sizes, fields, version, source = dict(found.sizes), dict(found.fields), found.version, INSTRUCTIONS
    directory = mapped.path.rpartition("/")[0]
    beside = sorted(crypto, key=lambda one: one[0].path.rpartition("/")[0] != directory)
    if found.library == OPENSSL and not version and beside:
        sizes, version = beside[0][1].sizes | sizes, beside[0][1].version
    if found.library == OPENSSL and version and SESSION not in sizes:
        sizes |= dict(recorded_size(version))
        source = RECORDED.format(f"OpenSSL {version}")
    mapped_crypto = mapped
    if beside and BIO not in found.sizes:
        mapped_crypto, fields = beside[0][0], beside[0][1].fields | fields
    return Library(mapped, mapped_crypto, found, sizes, fields, version, source)


def recorded_size(version: str) -> Iterator[tuple[str, int]]:
    """Yield the size of a session in recordings of the release, where all agree."""
    from tlsmem.config.tls_rules import block_sizes  # half of a second, which few files need

    series = f"OpenSSL {'.'.join(version.split('.')[:2])}"
    blocks = block_sizes().get(series, [])
    sizes = {one.bytes for one in blocks if any(by.startswith(f"{name}:") for by in one.by for name in ALLOCATORS)}
    if len(sizes) == 1:
        yield SESSION, sizes.pop()


def describe_uncounted(found: LibraryFile) -> str:
    title = f"{found.library} {found.version}" if found.version else found.library
    why = NOT_COUNTED.get(found.library, "its sessions cannot be distinguished from other blocks of the same size")
    return f"{title}: not counted, because {why}"
