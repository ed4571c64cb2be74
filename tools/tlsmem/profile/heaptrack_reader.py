"""Reads heaptrack's files of any program, as its interpreter writes them (formats 1 to 3), and raw ones
(heaptrack_raw): one pass from beginning to end.

In memory are the file's tables, which do not grow with the length of the run, a row of block counts per mark, and a
block of lines. Most lines are events, call stacks and sites. A block of whole lines is read as arrays
(heaptrack_lines); one with a line that cannot be read so is read line by line, which also finds the line that is wrong.
"""

import posixpath
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import numpy as np

from tlsmem.base.printable import printable_text
from tlsmem.base.source_paths import shorten_path
from tlsmem.profile import demangle, heaptrack_raw, unresolved_stacks
from tlsmem.profile.compressed_file import Progress, TornFile, read_chunks
from tlsmem.profile.errors import Unreadable
from tlsmem.profile.frames import Frame
from tlsmem.profile.heap_profile import (
    END,
    PEAK,
    AllocationTotals,
    CallstackTree,
    LiveHeap,
    Moment,
    Profile,
    SizedBlocks,
    add_live,
    add_totals,
)
from tlsmem.profile.heaptrack_events import LARGEST_SIZE, Counts, HeaptrackEvents, Mask, Sites
from tlsmem.profile.heaptrack_lines import Indices, LineBlock, keep_freed_memory, read_numbers

FORMAT = 3  # that of heaptrack 1.3 and later; 1.0 wrote 1, 1.1 and 1.2 wrote 2
UNSIZED = (1, 2)  # formats whose strings have no length before them
BEFORE_FORMATS = 0x010200  # as heaptrack called itself before 1.0, in files of format 1 that do not say so
EVENT = re.compile(rb"[+-] (?:0|[1-9a-f][0-9a-f]{0,15})")
END_COUNTS = re.compile(rb"(strings|ips): ([0-9]{1,20})")
WRAPPER_PREFIX = "__wrap_"  # what the linker calls a function that stands before an allocator (--wrap)
MOST_EMPTY_LINES = 100_000  # heaptrack writes one; many millions take a few KB in a packed file
LONGEST_COMMAND = 2 << 20  # bytes; Linux lets a command have no more by default
HEADER = (b"v", b"X", b"I")  # what these lines mean, depends on what stands before them

AddressPlace = tuple[
    int, int, list[int]
]  # address, its module, then function, file, line of each frame: numbers of strings


class HeaptrackTables:
    """Numbered as in the file: strings, places and stacks from 1, and sites, which are sizes and stacks, from 0.

    Allocations of the function `mark` are marks."""

    def __init__(self, mark: str):
        self.mark, self.events = mark, HeaptrackEvents()
        self.command_lines: list[str] = []
        self.command_bytes = self.empty_lines = 0
        self.lines = 0  # that were taken
        self.format = FORMAT
        self.in_header, self.in_command = True, False
        self.time_ms: int | None = None
        self.strings: list[str] = [""]
        self.places: list[AddressPlace] = [(0, 0, [])]
        self.mark_places: set[int] = set()
        self.wrapper_places: set[int] = set()  # between an allocator and who asked it, as memtest/allocations.c is
        self.stacks: list[tuple[int, int]] = [(0, 0)]  # place, calling stack
        self.sites: list[int] = []  # by site: its stack
        self.mark_sites: list[int] = []
        self.marks: list[tuple[int, Counts]] = []  # live bytes, and blocks by site, before the mark's own block
        self.announced: dict[bytes, int] = {}  # the last lines of a file say how much it has
        self.entries = {b"v ": self.read_version, b"# ": self.read_comment, b"": self.read_empty}

    def take(self, content: bytes) -> None:
        """Read whole lines. Raises Unreadable with the number of the line when one is none of heaptrack's, or an event
        cannot be."""
        at = 0
        while at < len(content) and self.in_header:
            end = content.index(b"\n", at)
            self.take_lines([content[at:end]])
            at = end + 1
        if at == len(content):
            return
        block = LineBlock(content[at:])
        if not self.take_block(block):
            self.take_lines(block.content.split(b"\n")[:-1])

    def is_complete(self) -> bool:
        """Whether the lines are there that heaptrack_interpret writes last: it, or a compressor, may have been killed.

        Raises Unreadable when they say that something before them is missing."""
        found = {b"strings": len(self.strings) - 1, b"ips": len(self.places) - 1}
        for table, count in self.announced.items():
            if found[table] != count:
                raise Unreadable(f"unsound: it says that it has {count:,} {table.decode()}, and has {found[table]:,}")
        return len(self.announced) == len(found)

    def take_block(self, block: LineBlock) -> bool:
        """Read a block as arrays. False, and nothing is read, when a line needs to be looked at by itself."""
        kinds = block.kinds
        frees = kinds == ord("-")
        is_event, is_stack, is_site = frees | (kinds == ord("+")), kinds == ord("t"), kinds == ord("a")
        events, stacks, sites = map(np.flatnonzero, (is_event, is_stack, is_site))
        of_events, of_stacks, of_sites = block.read_number(events), block.read_pair(stacks), block.read_pair(sites)
        if of_events is None or of_stacks is None or of_sites is None:
            return False
        strings, places, empty_lines = len(self.strings), len(self.places), self.empty_lines
        others = np.flatnonzero(~(is_event | is_stack | is_site))
        has_all = self.take_other_lines(block, others)
        # A number is of what stands before its line.
        places_there = places + np.searchsorted(np.flatnonzero(kinds == ord("i")), stacks)
        stacks_there = len(self.stacks) + np.searchsorted(stacks, sites)
        new_stacks = len(self.stacks) + np.arange(len(stacks))
        late = np.flatnonzero(of_events >= len(self.sites))
        has_all = has_all and bool(
            np.all(of_stacks[0] < places_there)
            and np.all(of_stacks[1] < new_stacks)
            and np.all(of_sites[1] < stacks_there)
            and np.all(of_events[late] < len(self.sites) + np.searchsorted(sites, events[late]))
        )
        if not has_all:
            del self.strings[strings:], self.places[places:]
            self.empty_lines = empty_lines
            return False
        self.stacks += zip(of_stacks[0].tolist(), of_stacks[1].tolist(), strict=True)
        self.add_sites(of_sites[0], of_sites[1].tolist())
        self.take_events(events, of_events, frees[events])
        self.lines += len(block)
        return True

    def take_other_lines(self, block: LineBlock, others: Indices) -> bool:
        """Read the lines of a block that are no events, stacks or sites. False when there is a wrong one."""
        try:
            for start, end in zip(block.starts[others].tolist(), block.ends[others].tolist(), strict=True):
                line = block.content[start:end]
                if line.startswith(HEADER):
                    return False
                self.entries[line[:2]](line[2:])
        except (LookupError, ValueError):
            return False
        return True

    def take_lines(self, lines: list[bytes]) -> None:
        """Read line by line."""
        events: list[tuple[int, int, bool]] = []  # line, site, whether it frees
        try:
            for at, line in enumerate(lines):
                if EVENT.fullmatch(line) and (site := int(line[2:], 16)) < len(self.sites):
                    events.append((at, site, line.startswith(b"-")))
                else:
                    self.take_other_line(line)
        except Unreadable as error:
            self.take_event_list(events)  # one of which may be wrong already
            raise Unreadable(f"line {self.lines + at + 1:,}: {error}") from None
        self.take_event_list(events)
        self.lines += len(lines)

    def take_event_list(self, events: list[tuple[int, int, bool]]) -> None:
        if events:
            lines, sites, frees = zip(*events, strict=True)
            self.take_events(np.array(lines), np.array(sites), np.array(frees))

    def take_events(self, lines: Indices, sites: Sites, frees: Mask) -> None:
        """Count events of known sites. `lines` are counted from the first that is being taken."""
        marks = np.flatnonzero(~frees & np.isin(sites, self.mark_sites)).tolist() if self.mark_sites else []
        borders = [0, *marks, len(sites)]
        for number, (begin, end) in enumerate(pairwise(borders)):
            if number:
                self.marks.append((self.events.live_bytes, self.events.live.copy()))
            wrong = self.events.count_blocks(sites[begin:end], frees[begin:end])
            if wrong is not None:
                line = self.lines + int(lines[begin + wrong]) + 1
                raise Unreadable(f"line {line:,}: more blocks of a site are freed than were allocated")

    def take_other_line(self, line: bytes) -> None:
        """Read any line but an event of a known site."""
        try:
            self.entries[line[:2]](line[2:])
        except (LookupError, ValueError) as error:
            if isinstance(error, Unreadable):
                raise
            if self.in_command:
                self.add_to_command(line)
                return
            what = f"no line of heaptrack's format {self.format}" if b"a " in self.entries else "no heaptrack file"
            what = "a number of what does not come before it" if isinstance(error, IndexError) else what
            raise Unreadable(f"{what}: {line[:60].decode(errors='replace')}") from None

    def read_version(self, rest: bytes) -> None:
        version, *formats = read_numbers(rest)
        self.format = formats[0] if formats else int(version == BEFORE_FORMATS)
        if self.format not in (*UNSIZED, FORMAT):
            raise Unreadable(f"heaptrack's format {self.format}; read are 1 to {FORMAT}, those of heaptrack 1.0 to 1.5")
        self.entries |= {b"s ": self.read_string, b"i ": self.read_place, b"t ": self.read_stack, b"a ": self.read_site}
        self.entries |= {b"X ": self.read_command, b"c ": self.read_time, b"I ": self.read_system}
        self.entries |= dict.fromkeys((b"R ", b"A", b"S "), ignore)  # RSS, attached, suppressions

    def read_comment(self, rest: bytes) -> None:
        if found := END_COUNTS.fullmatch(rest):
            self.announced[found[1]] = int(found[2])

    def read_command(self, rest: bytes) -> None:
        """heaptrack writes arguments as they are: a line break goes on in a line of any kind, up to that of `I`."""
        if self.sites or self.in_command:
            raise ValueError  # after that any line may be an event
        self.command_lines.clear()  # the last command counts; the limit counts the bytes of all
        self.add_to_command(rest)
        self.in_header = self.in_command = True

    def add_to_command(self, line: bytes) -> None:
        self.command_bytes += len(line) + 1
        if self.command_bytes > LONGEST_COMMAND:
            raise Unreadable(f"no heaptrack file: its command has more than {LONGEST_COMMAND:,} B")
        self.command_lines.append(line.decode(errors="replace"))

    @property
    def command(self) -> str:
        """The command that heaptrack ran, as it wrote it."""
        return "\n".join(self.command_lines)

    def read_empty(self, _: bytes) -> None:
        self.empty_lines += 1
        if self.empty_lines > MOST_EMPTY_LINES:
            raise Unreadable(f"no heaptrack file: it has more than {MOST_EMPTY_LINES:,} empty lines")

    def read_system(self, rest: bytes) -> None:
        _page_size, _pages = read_numbers(rest)
        self.in_header = self.in_command = False

    def read_time(self, rest: bytes) -> None:
        self.time_ms = max(self.time_ms or 0, *read_numbers(rest))

    def read_string(self, rest: bytes) -> None:
        text = rest
        if self.format not in UNSIZED:
            size, _, text = rest.partition(b" ")
            if [len(text)] != read_numbers(size):
                raise ValueError
        self.strings.append(text.decode(errors="replace"))

    def read_place(self, rest: bytes) -> None:
        """ADDRESS MODULE, then FUNCTION FILE LINE of each frame that is known; a last one may lack its file."""
        address, module, *frames = read_numbers(rest)
        if len(frames) % 3 == 1:
            frames += [0, 0]
        for string in (module, *frames[0::3], *frames[1::3]):
            self.strings[string]  # must be there already
        functions = [self.strings[function] for function in frames[0::3]]
        if self.mark in functions:
            self.mark_places.add(len(self.places))
        elif functions and functions[-1].startswith(WRAPPER_PREFIX):
            self.wrapper_places.add(len(self.places))
        self.places.append((address, module, frames[: len(frames) // 3 * 3]))

    def read_stack(self, rest: bytes) -> None:
        place, caller = read_numbers(rest)
        self.places[place], self.stacks[caller]  # must be there already
        self.stacks.append((place, caller))

    def read_site(self, rest: bytes) -> None:
        size, stack = read_numbers(rest)
        self.stacks[stack]  # must be there already
        if size > LARGEST_SIZE:
            raise ValueError
        self.in_header = self.in_command = False  # of a file that has no `I`
        self.add_sites(np.array([size]), [stack])

    def add_sites(self, sizes: Indices, stacks: list[int]) -> None:
        if self.mark_places:
            numbered = enumerate(stacks, len(self.sites))
            self.mark_sites += [site for site, stack in numbered if self.is_mark(stack)]
        self.events.add_sites(sizes)
        self.sites += stacks

    def is_mark(self, stack: int) -> bool:
        """The mark itself asked for the block, and none of the functions that it calls."""
        place, caller = self.stacks[stack]
        if place in self.wrapper_places:
            place, _ = self.stacks[caller]
        return place in self.mark_places


def ignore(_: bytes) -> None:
    pass


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
    raw = heaptrack_raw.RawRecording()
    try:
        with closing(read_chunks(file, progress)) as chunks:
            torn = take(tables, raw.interpret(split_at_line_breaks(chunks)))
        whole = tables.is_complete()
        if not tables.events.allocated.any():
            raise Unreadable(NOTHING if whole else NO_HEAPTRACK)
    except Unreadable as error:
        by_chunks = str(error).startswith(printable_text(f"{file}: "))
        raise error if by_chunks else Unreadable(f"{file}: {error}") from None
    stacks, mangled = name_stacks(tables)
    found = profile(tables, stacks, str(file))
    found.torn = None if whole else describe_torn(torn, raw.lines or tables.lines)
    found.warnings = [*filter(None, (found.torn, mangled))]
    found.warnings += (
        [heaptrack_raw.WITHOUT_NAMES] if raw.is_raw else unresolved_stacks.unnamed_function_warnings(found)
    )
    found.warnings += unresolved_stacks.truncated_stack_warnings(found)
    return found


def take(tables: HeaptrackTables, blocks: Iterator[bytes]) -> TornFile | None:
    """Read blocks of whole lines; return where the file is torn, if it is."""
    try:
        for lines in blocks:
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
    stacks, sizes = np.array([tables.sites[site] for site in sites.tolist()], np.int64), tables.events.sizes[sites]

    def list_sizes() -> Iterator[SizedBlocks]:
        return map(SizedBlocks, stacks.tolist(), sizes.tolist(), blocks.tolist())

    for stack, size, count in list_sizes():
        more = LiveHeap(size * count, count)
        live[stack] = add_live(live[stack], more) if stack in live else more
    return Moment(name, live_bytes, live, list_sizes)


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


def count_sizes(tables: HeaptrackTables) -> Counter[int]:
    """How many blocks of each size were allocated."""
    counts: Counter[int] = Counter()
    sites = np.flatnonzero(tables.events.allocated)
    sizes, blocks = tables.events.sizes[sites], tables.events.allocated[sites]
    for size, count in zip(sizes.tolist(), blocks.tolist(), strict=True):
        counts[size] += count
    return counts
