"""Reads pprof's heap profiles (profile.proto): those of Go programs, of tcmalloc, and of whatever else writes the form.

Go and tcmalloc scale what they sampled before they write it, so totals are those of `go tool pprof`."""

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

import numpy as np

from tlsmem.base.source_paths import shorten_path
from tlsmem.profile import module_symbols, pprof_message, unresolved_stacks
from tlsmem.profile.callstack_arrays import CallstackArrays, Numbers, sum_by_stack
from tlsmem.profile.callstack_lists import demangle_places
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
)
from tlsmem.profile.pprof_message import Label, Message
from tlsmem.profile.pprof_samples import BadMessage, Samples

LARGEST = 256 << 20  # bytes, unpacked
LIVE = {"inuse_space": "inuse_objects", "space": "objects"}  # sample types of bytes, and of blocks beside them
LIMIT = 1 << 62  # of sums
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
        message, samples = pprof_message.decode_with_samples(read_whole(file, progress, LARGEST))
    except BadMessage as error:
        raise Unreadable(f"{file}: a pprof file that is cut off or damaged: {error}") from None
    columns = Columns(message, samples)
    if columns.live is None:
        types = ", ".join(f"{one.type} in {one.unit}" for one in message.sample_types) or "none"
        raise Unreadable(f"{file}: a pprof file without live memory (inuse_space); its sample types: {types}")
    if np.any(samples.values < 0):
        raise Unreadable(
            f"{file}: a pprof file with negative values, as of the difference of two profiles: give the two to --diff"
        )
    if columns.are_too_large():
        raise Unreadable(f"{file}: a pprof file that is damaged: its values add up to more than 62 bits")
    tree = CallstackTree()
    stacks, warnings = add_stacks(message, samples, tree)
    found = Profile("tcmalloc" if is_tcmalloc(samples) else "pprof", str(file), program(message), tree, {})
    found.moments = columns.sum_moments(stacks) if is_of_moments(message, columns) else {DUMP: columns.sum_live(stacks)}
    found.allocated, found.sizes = columns.sum_allocations(stacks), columns.count_sizes()
    found.unit, found.sampled_every_bytes = find_unit(message, is_tcmalloc(samples)), find_period(message)
    found.runtime_s = message.duration_ns / 1e9 if message.duration_ns > 0 else None
    missing = demangle_places(tree)
    found.warnings += [*warnings, *([missing] if missing else []), *unresolved_stacks.unnamed_function_warnings(found)]
    return found


class Columns:
    """Which of the values of a sample are bytes and blocks, live and allocated: None where the file has no such."""

    def __init__(self, message: Message, samples: Samples) -> None:
        self.samples = samples
        self.factors = [BYTES.get(one.unit.lower()) for one in message.sample_types]
        self.at = {one.type: number for number, one in enumerate(message.sample_types)}
        self.phases = [find_phase(labels) for labels in samples.label_sets]
        self.block_sizes = np.array([find_block_size(labels) or 0 for labels in samples.label_sets], np.int64)
        # The allocations of tcmalloc have the types of its live memory; its default tells them apart.
        counts_allocations = is_tcmalloc(samples) and message.default_sample_type == "objects"
        self.live = None if counts_allocations else self.find(LIVE)
        self.allocated = self.find(ALLOCATED)

    def find(self, names: Mapping[str, str]) -> tuple[int, int | None] | None:
        """Return where the bytes are, and the blocks."""
        for space, objects in names.items():
            if space in self.at and self.factors[self.at[space]] is not None:
                return self.at[space], self.at.get(objects)
        return None

    def are_too_large(self) -> bool:
        """Return whether a sum might have more than 62 bits."""
        factor = max((one or 1 for one in self.factors), default=1)
        return bool(np.any(self.samples.values.sum(axis=0, dtype=float) * factor >= LIMIT))

    def read(self, columns: tuple[int, int | None]) -> tuple[Numbers, Numbers]:
        """Return bytes and blocks of each sample; 0 blocks where the file has none."""
        space, objects = columns
        values = self.samples.values
        size = values[:, space] * (self.factors[space] or 1)
        return size, np.zeros(len(values), np.int64) if objects is None else values[:, objects]

    def sum_live(self, stacks: Numbers, name: str = DUMP) -> Moment:
        """Return what is live, of all samples for DUMP, else of those whose label has the moment's name."""
        assert self.live
        size, blocks = self.read(self.live)
        counts = self.live[1] is not None
        is_there = (size != 0) | (blocks != 0)
        if name != DUMP:
            is_there &= np.array([phase == name for phase in self.phases], bool)[self.samples.labels]
        size, blocks = size[is_there], blocks[is_there]
        live = {
            stack: LiveHeap(held, count if counts else None)
            for stack, held, count in sum_by_stack(stacks[is_there], size, blocks)
        }
        sizes = self.block_sizes[self.samples.labels[is_there]]
        if not counts or np.any(sizes == 0):
            return Moment(name, int(size.sum()), live)
        return Moment(name, int(size.sum()), live, partial(list_sized_blocks, stacks[is_there], sizes, blocks))

    def sum_moments(self, stacks: Numbers) -> dict[str, Moment]:
        """Return what is live at each moment, in the order of the samples."""
        names = dict.fromkeys(name for name in self.phases if name)
        return {name: self.sum_live(stacks, name) for name in names}

    def sum_allocations(self, stacks: Numbers) -> dict[int, AllocationTotals] | None:
        if self.allocated is None or self.allocated[1] is None:
            return None
        size, blocks = self.read(self.allocated)
        return {stack: AllocationTotals(count, held, None) for stack, count, held in sum_by_stack(stacks, blocks, size)}

    def count_sizes(self) -> Counter[int] | None:
        """Return the number of blocks allocated by their size; None where a sample does not tell the size."""
        if self.allocated is None or self.allocated[1] is None:
            return None
        _, blocks = self.read(self.allocated)
        totals = np.zeros(len(self.samples.label_sets), np.int64)
        np.add.at(totals, self.samples.labels, blocks)
        found: Counter[int] = Counter()
        for size, total in zip(self.block_sizes.tolist(), totals.tolist(), strict=True):
            if total and not size:
                return None
            if total:
                found[size] += total
        return found


def is_of_moments(message: Message, columns: Columns) -> bool:
    """Return whether `heap read --pprof` wrote it, whose samples say at which moment they are live: not to be added."""
    return any(one.startswith(OWN) for one in message.comments) and any(columns.phases)


def find_block_size(labels: Iterable[Label]) -> int | None:
    """Return the size of each block of a sample with these labels, where they tell it."""
    return next((one.number for one in labels if one.key == BLOCK_SIZE and one.number > 0), None)


def list_sized_blocks(stacks: Numbers, sizes: Numbers, blocks: Numbers) -> list[SizedBlocks]:
    return [*map(SizedBlocks, stacks.tolist(), sizes.tolist(), blocks.tolist())]


def find_phase(labels: Iterable[Label]) -> str | None:
    """Return the moment that a sample with these labels says it is of."""
    return next((one.text for one in labels if one.key == PHASE), None)


def add_stacks(message: Message, samples: Samples, stacks: CallstackTree) -> tuple[Numbers, list[str]]:
    """Return the number of the call stack of each sample, and warnings of modules without names."""
    frames: list[Frame] = []
    numbers, warnings = number_locations(message, frames)
    firsts = np.array([one.start for one in numbers.values()], np.uint32)
    counts = np.array([len(one) for one in numbers.values()], np.uint32)
    arrays = CallstackArrays()
    for locations, lengths in samples.locations:
        arrays.add_expanded(locations, lengths, firsts, counts)
    samples.locations.clear()
    return arrays.build(stacks, frames), warnings


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


def is_tcmalloc(samples: Samples) -> bool:
    return any(label.key == REQUEST for labels in samples.label_sets[:1] for label in labels)


def program(message: Message) -> str:
    """The file of the first mapping, as pprof takes it; empty where there is none."""
    return message.mappings[0].file if message.mappings else ""


def find_unit(message: Message, is_of_tcmalloc: bool) -> Unit:
    """What a comment says in the words of `heap read --pprof`; else what is known of Go and of tcmalloc."""
    for unit, sentence in UNITS.items():
        if any(sentence in comment for comment in message.comments):
            return unit
    is_go = any(one.name.startswith(GO) for one in message.functions) and set(ALLOCATED) <= {
        one.type for one in message.sample_types
    }
    return "size class" if is_go or is_of_tcmalloc else "unspecified"


def find_period(message: Message) -> int | None:
    """Return the bytes of allocations from one sample to the next: 0 where there were samples and this is not told,
    None where all is recorded."""
    if message.period_type.unit.lower() in BYTES:
        period = message.period * BYTES[message.period_type.unit.lower()]
        return None if period == 1 else max(period, 0)
    return None
