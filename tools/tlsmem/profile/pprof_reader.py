"""Reads pprof's heap profiles (profile.proto): those of Go programs, of tcmalloc, and of whatever else writes the form.

Go and tcmalloc scale what they sampled before they write it, so totals are those of `go tool pprof`."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from tlsmem.base.source_paths import shorten_path
from tlsmem.profile import module_symbols, pprof_message, unresolved_stacks
from tlsmem.profile.callstack_lists import CallstackLists
from tlsmem.profile.compressed_file import Progress, read_whole
from tlsmem.profile.errors import Unreadable
from tlsmem.profile.frames import Frame
from tlsmem.profile.heap_profile import (
    DUMP,
    UNITS,
    AllocationTotals,
    CallstackTree,
    LiveHeap,
    Moment,
    Profile,
    SizedBlocks,
    Unit,
    add_live,
)
from tlsmem.profile.pprof_message import Message, Sample

LARGEST = 256 << 20  # bytes, unpacked
LIVE = {"inuse_space": "inuse_objects", "space": "objects"}  # sample types of bytes, and of blocks beside them
ALLOCATED = {"alloc_space": "alloc_objects"}
BYTES = {"bytes": 1, "byte": 1, "b": 1, "kilobytes": 1 << 10, "kb": 1 << 10, "megabytes": 1 << 20, "mb": 1 << 20}
GO = "runtime."  # the package in which some function of every Go program is
REQUEST = "request"  # tcmalloc's label of the size that was requested; its values are of size classes
OWN, PHASE = "tls-memtest heap read of ", "phase"  # how its comment begins, and its label of the moment
BLOCK_SIZE = "bytes"  # the label of the size of each of a sample's blocks


def read_profile(file: Path | str, progress: Progress | None = None) -> Profile:
    """Return the profile in a file; its one moment is DUMP, but for files that `heap read --pprof` wrote, which have
    several. What was allocated is in it where the file tells it.

    Raises Unreadable with a sentence when the file is damaged, is of something else than live memory, or is the
    difference of two profiles."""
    try:
        message = pprof_message.decode(read_whole(file, progress, LARGEST))
    except pprof_message.BadMessage as error:
        raise Unreadable(f"{file}: a pprof file that is cut off or damaged: {error}") from None
    columns = Columns(message)
    if columns.live is None:
        types = ", ".join(f"{one.type} in {one.unit}" for one in message.sample_types) or "none"
        raise Unreadable(f"{file}: a pprof file without live memory (inuse_space); its sample types: {types}")
    if any(min(sample.values) < 0 for sample in message.samples):
        raise Unreadable(
            f"{file}: a pprof file with negative values, as of the difference of two profiles: give the two to --diff"
        )
    lists = CallstackLists(CallstackTree(), [])
    stacks, warnings = add_stacks(message, lists)
    found = Profile("tcmalloc" if is_tcmalloc(message) else "pprof", str(file), program(message), lists.stacks, {})
    found.moments = columns.sum_moments(stacks) if is_of_moments(message) else {DUMP: columns.sum_live(stacks)}
    found.allocated, found.sizes = columns.sum_allocations(stacks), columns.count_sizes()
    found.unit, found.sampled_every_bytes = find_unit(message), find_period(message)
    found.runtime_s = message.duration_ns / 1e9 if message.duration_ns > 0 else None
    missing = lists.demangle()
    found.warnings += [*warnings, *([missing] if missing else []), *unresolved_stacks.unnamed_function_warnings(found)]
    return found


class Columns:
    """Which of the values of a sample are bytes and blocks, live and allocated: None where the file has no such."""

    def __init__(self, message: Message) -> None:
        self.samples = message.samples
        self.factors = [BYTES.get(one.unit.lower()) for one in message.sample_types]
        self.at = {one.type: number for number, one in enumerate(message.sample_types)}
        # The allocations of tcmalloc have the types of its live memory; its default tells them apart.
        counts_allocations = is_tcmalloc(message) and message.default_sample_type == "objects"
        self.live = None if counts_allocations else self.find(LIVE)
        self.allocated = self.find(ALLOCATED)

    def find(self, names: Mapping[str, str]) -> tuple[int, int | None] | None:
        """Return where the bytes are, and the blocks."""
        for space, objects in names.items():
            if space in self.at and self.factors[self.at[space]] is not None:
                return self.at[space], self.at.get(objects)
        return None

    def read_live(self, values: tuple[int, ...], columns: tuple[int, int | None]) -> LiveHeap:
        space, objects = columns
        return LiveHeap(values[space] * (self.factors[space] or 1), None if objects is None else values[objects])

    def sum_live(self, stacks: list[int], name: str = DUMP) -> Moment:
        """Return what is live, of all samples for DUMP, else of those whose label has the moment's name."""
        assert self.live
        live: dict[int, LiveHeap] = {}
        sizes: list[SizedBlocks] = []
        is_sized = True
        for stack, sample in zip(stacks, self.samples, strict=True):
            held = self.read_live(sample.values, self.live)
            if (held.bytes or held.blocks) and name in (DUMP, find_phase(sample)):
                live[stack] = add_live(live[stack], held) if stack in live else held
                size = find_block_size(sample)
                if size is None or held.blocks is None:
                    is_sized = False
                else:
                    sizes.append(SizedBlocks(stack, size, held.blocks))
        return Moment(name, sum(held.bytes for held in live.values()), live, sizes.copy if is_sized else None)

    def sum_moments(self, stacks: list[int]) -> dict[str, Moment]:
        """Return what is live at each moment, in the order of the samples."""
        names = dict.fromkeys(name for one in self.samples if (name := find_phase(one)))
        return {name: self.sum_live(stacks, name) for name in names}

    def sum_allocations(self, stacks: list[int]) -> dict[int, AllocationTotals] | None:
        if self.allocated is None or self.allocated[1] is None:
            return None
        found: dict[int, AllocationTotals] = {}
        for stack, sample in zip(stacks, self.samples, strict=True):
            more, had = self.read_live(sample.values, self.allocated), found.get(stack, AllocationTotals(0, 0, None))
            found[stack] = AllocationTotals(had.blocks + (more.blocks or 0), had.bytes + more.bytes, None)
        return found

    def count_sizes(self) -> Counter[int] | None:
        """Return the number of blocks allocated by their size; None where a sample does not tell the size."""
        if self.allocated is None or self.allocated[1] is None:
            return None
        found: Counter[int] = Counter()
        for sample in (one for one in self.samples if one.values[self.allocated[1]]):
            size = find_block_size(sample)
            if size is None:
                return None
            found[size] += sample.values[self.allocated[1]]
        return found


def is_of_moments(message: Message) -> bool:
    """Return whether `heap read --pprof` wrote it, whose samples say at which moment they are live: not to be added."""
    return any(one.startswith(OWN) for one in message.comments) and any(map(find_phase, message.samples))


def find_block_size(sample: Sample) -> int | None:
    """Return the size of each of its blocks, where it tells it."""
    return next((one.number for one in sample.labels if one.key == BLOCK_SIZE and one.number > 0), None)


def find_phase(sample: Sample) -> str | None:
    """Return the moment that a sample says it is of."""
    return next((one.text for one in sample.labels if one.key == PHASE), None)


def add_stacks(message: Message, lists: CallstackLists) -> tuple[list[int], list[str]]:
    """Return the number of the call stack of each sample, and warnings of modules without names."""
    numbers, warnings = number_locations(message, lists.frames)
    return [
        lists.stack([frame for location in sample.locations for frame in numbers[location]])
        for sample in message.samples
    ], warnings


def number_locations(message: Message, frames: list[Frame]) -> tuple[dict[int, range], list[str]]:
    """Add the frames of all locations, and return their numbers by the location's id, innermost first."""
    functions = {one.id: one for one in message.functions}
    mappings = {one.id: one for one in message.mappings}
    unnamed = [one.address for one in message.locations if not one.lines and one.address]
    ranges = [module_symbols.MappedRange(one.start, one.limit, one.offset, one.file) for one in message.mappings]
    symbols, warnings = module_symbols.find_frames(unnamed, [one for one in ranges if one.file.startswith("/")])
    found = {}
    for location in message.locations:
        first, mapping = len(frames), mappings.get(location.mapping)
        module = mapping.file if mapping and mapping.file else None
        in_module = mapping is not None and mapping.start <= location.address < mapping.limit
        offset = location.address - mapping.start + mapping.offset if mapping and in_module else location.address
        for line in location.lines:
            one = functions[line.function]
            name, file = one.name or one.system_name or None, one.file and shorten_path(one.file)
            number = line.line if line.line > 0 else None
            frames.append(Frame(name, file or None, number, module, offset or None, not in_module))
        if not location.lines:
            frames += symbols.get(location.address, [Frame(None, None, None, module, offset, not in_module)])
        found[location.id] = range(first, len(frames))
    return found, warnings


def is_tcmalloc(message: Message) -> bool:
    return any(label.key == REQUEST for sample in message.samples[:1] for label in sample.labels)


def program(message: Message) -> str:
    """The file of the first mapping, as pprof takes it; empty where there is none."""
    return message.mappings[0].file if message.mappings else ""


def find_unit(message: Message) -> Unit:
    """What a comment says in the words of `heap read --pprof`; else what is known of Go and of tcmalloc."""
    for unit, sentence in UNITS.items():
        if any(sentence in comment for comment in message.comments):
            return unit
    is_go = any(one.name.startswith(GO) for one in message.functions) and set(ALLOCATED) <= {
        one.type for one in message.sample_types
    }
    return "size class" if is_go or is_tcmalloc(message) else "unspecified"


def find_period(message: Message) -> int | None:
    """Return the bytes of allocations from one sample to the next: 0 where there were samples and this is not told,
    None where all is recorded."""
    if message.period_type.unit.lower() in BYTES:
        period = message.period * BYTES[message.period_type.unit.lower()]
        return None if period == 1 else max(period, 0)
    return None
