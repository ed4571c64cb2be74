"""Reads heaptrack's files, as its interpreter writes them (format 3), of any program: one pass from beginning to end.

In memory are the file's tables, which do not grow with the length of the run, a row of block counts per mark, and a
block of lines."""

import posixpath
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tlsmem.base.printable import printable_text
from tlsmem.base.source_paths import shorten_path
from tlsmem.profile import demangle, unresolved_stacks
from tlsmem.profile.compressed_file import Progress, TornFile, read_chunks
from tlsmem.profile.errors import Unreadable
from tlsmem.profile.frames import Frame
from tlsmem.profile.heap_profile import END, PEAK, AllocationTotals, CallstackTree, LiveHeap, Moment, Profile, add_live
from tlsmem.profile.heaptrack_events import Counts
from tlsmem.profile.heaptrack_lines import keep_freed_memory
from tlsmem.profile.heaptrack_tables import AddressPlace, HeaptrackTables

MARK = "meter_mark"  # of memtest/meter.c
LONGEST_LINE = 1 << 20
BLOCK = 1 << 18  # bytes that are read at once: the arrays of their lines fit into a processor's cache
LIBSTDCXX, POOL_BYTES = "libstdc++.so", 72_704  # of its pool for exceptions, which it allocates as it is loaded
EMERGENCY_POOL = "emergency pool of libstdc++, which heaptrack loads"
NOTHING = "heaptrack recorded nothing: the program has a malloc of its own, or started another that does its work"
NO_HEAPTRACK = "no heaptrack file, or cut off before anything is allocated"


def read_profile(file: Path | str, progress: Progress | None = None, mark: str = MARK) -> Profile:
    """Moments are `mark 1`, ... (just before the mark's own block is allocated), PEAK and END. A file that is torn is
    read as far as it goes, with a warning. Raises Unreadable with a sentence when it is foreign, unsound, or empty."""
    keep_freed_memory()
    tables = HeaptrackTables(mark)
    try:
        torn = take(tables, read_chunks(file, progress))
        whole = tables.is_complete()
        if not tables.events.allocated.any():
            raise Unreadable(NOTHING if whole else NO_HEAPTRACK)
    except Unreadable as error:
        by_chunks = str(error).startswith(printable_text(f"{file}: "))
        raise error if by_chunks else Unreadable(f"{file}: {error}") from None
    stacks, mangled = name_stacks(tables)
    found = profile(tables, stacks, str(file))
    found.torn = None if whole else describe_torn(torn, tables.lines)
    found.warnings = [*filter(None, (found.torn, mangled)), *unresolved_stacks.unnamed_function_warnings(found)]
    return found


def take(tables: HeaptrackTables, content: Iterator[bytes]) -> TornFile | None:
    try:
        for lines in split_at_line_breaks(content):
            tables.take(lines)
    except TornFile as torn:
        return torn
    return None


def split_at_line_breaks(content: Iterator[bytes]) -> Iterator[bytes]:
    """Whole lines, many at a time; one that is cut off at the end is left out."""
    rest = b""
    for piece in (chunk[at : at + BLOCK] for chunk in content for at in range(0, len(chunk), BLOCK)):
        rest += piece
        end = rest.rfind(b"\n") + 1
        if end:
            yield rest[:end]
            rest = rest[end:]
        if len(rest) > LONGEST_LINE:
            raise Unreadable(f"no heaptrack file: it has a line of more than {LONGEST_LINE:,} B")


def describe_torn(torn: TornFile | None, lines: int) -> str:
    damaged = f"damaged at {torn.at / torn.size:.0%} of its {torn.size:,} B" if torn and torn.at < torn.size else ""
    return f"{damaged or 'cut off'}: only the first {lines:,} lines are read, and `{END}` is what was live there"


def name_stacks(tables: HeaptrackTables) -> tuple[CallstackTree, str | None]:
    """And a sentence when names stay mangled."""
    functions = {tables.strings[function] for _, _, frames in tables.places for function in frames[0::3]}
    names, mangled = demangle.demangle_names(functions)
    files = {
        file: shorten_path(tables.strings[file]) for _, _, frames in tables.places for file in frames[1::3] if file
    }
    stacks = CallstackTree()
    stacks.nodes = tables.stacks
    stacks.places[1:] = [frames_of(place, tables.strings, names, files) for place in tables.places[1:]]
    return stacks, mangled


def name_emergency_pool(found: Profile) -> None:
    """Give the code of libstdc++ that allocates it a name, where it has none."""
    for stack, totals in (found.allocated or {}).items():
        place, _ = found.stacks.nodes[stack]
        frame = found.stacks.places[place][0] if place else None
        if frame is None or frame.function or totals.bytes != totals.blocks * POOL_BYTES:
            continue
        if posixpath.basename(frame.module or "").startswith(LIBSTDCXX):
            found.stacks.places[place] = (frame._replace(function=EMERGENCY_POOL),)


def frames_of(
    place: AddressPlace, strings: list[str], names: dict[str, str], files: dict[int, str]
) -> tuple[Frame, ...]:
    """One at least, which says where the place is when nothing else is known."""
    address, module, words = place
    at = strings[module] or None, address
    triples = zip(words[0::3], words[1::3], words[2::3], strict=True)
    frames = [Frame(names[strings[name]] or None, files.get(file), line or None, *at) for name, file, line in triples]
    return tuple(frames) or (Frame(None, None, None, *at),)


def profile(tables: HeaptrackTables, stacks: CallstackTree, file: str) -> Profile:
    events = tables.events
    moments = [moment(tables, f"mark {number}", *mark) for number, mark in enumerate(tables.marks, 1)]
    moments += [moment(tables, PEAK, events.peak_bytes, events.peak)]
    moments += [moment(tables, END, events.live_bytes, events.live)]
    return Profile(
        tool="heaptrack",
        file=file,
        command=tables.command,
        stacks=stacks,
        moments={one.name: one for one in moments},
        allocated=sum_allocated(tables),
        sizes=count_sizes(tables),
        runtime_s=None if tables.time_ms is None else tables.time_ms / 1000,
    )


def moment(tables: HeaptrackTables, name: str, live_bytes: int, live_blocks: Counts) -> Moment:
    """Of several sites, which differ by size, that are one stack the sum. Sites that came later may be missing."""
    live: dict[int, LiveHeap] = {}
    sites = np.flatnonzero(live_blocks)
    blocks = live_blocks[sites]
    columns = (sites.tolist(), (blocks * tables.events.sizes[sites]).tolist(), blocks.tolist())
    for site, *held in zip(*columns, strict=True):
        stack = tables.sites[site]
        more = LiveHeap(*held)
        live[stack] = add_live(live[stack], more) if stack in live else more
    return Moment(name, live_bytes, live)


def sum_allocated(tables: HeaptrackTables) -> dict[int, AllocationTotals]:
    """By stack."""
    totals: dict[int, AllocationTotals] = {}
    events = tables.events
    columns = (events.sizes.tolist(), events.allocated.tolist(), events.temporary.tolist())
    for stack, size, blocks, temporary in zip(tables.sites, *columns, strict=True):
        if blocks:
            more = AllocationTotals(blocks, blocks * size, temporary)
            totals[stack] = add_totals(totals[stack], more) if stack in totals else more
    return totals


def add_totals(totals: AllocationTotals, more: AllocationTotals) -> AllocationTotals:
    return AllocationTotals(
        totals.blocks + more.blocks, totals.bytes + more.bytes, (totals.temporary or 0) + (more.temporary or 0)
    )


def count_sizes(tables: HeaptrackTables) -> Counter[int]:
    """How many blocks of each size were allocated."""
    counts: Counter[int] = Counter()
    sites = np.flatnonzero(tables.events.allocated)
    sizes, blocks = tables.events.sizes[sites], tables.events.allocated[sites]
    for size, count in zip(sizes.tolist(), blocks.tolist(), strict=True):
        counts[size] += count
    return counts
