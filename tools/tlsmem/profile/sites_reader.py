"""The profiles in the record of a sites run: by call stack what one pair held at the end of each phase, at the peak of
each session in it, and what it had allocated by then."""

import shlex
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from tlsmem.base import memo
from tlsmem.base.cache_file import digest_code
from tlsmem.base.phase_names import PEAK_OF
from tlsmem.base.source_paths import shorten_path
from tlsmem.profile import unresolved_stacks
from tlsmem.profile.buckets.sums import BucketSums
from tlsmem.profile.callstack_lists import CallstackLists
from tlsmem.profile.demangle import normalise_name
from tlsmem.profile.errors import Unreadable
from tlsmem.profile.frames import Frame
from tlsmem.profile.heap_profile import CallstackTree, LiveHeap, Moment, Profile, SumsByMoment, add_live
from tlsmem.schema.harness_output import Process
from tlsmem.schema.roles import Owner
from tlsmem.stats import session_cost
from tlsmem.store.record import LiveBlocks, Phase, Record, RecordedCallstacks, TemporaryBlocks
from tlsmem.store.record import RecordedFrame as Recorded

BlocksByPhase = Mapping[str, Sequence[LiveBlocks | TemporaryBlocks]]


def profile_from_record(record: Record, process: Process | None = None) -> Profile:
    """Of one process, or of both ends of the pair: where each has a process of its own, their phases are joined.

    Bytes are those of one session of each role. Raises Unreadable with a sentence when it is no sites run."""
    check_sites_run(record)

    def compute() -> SumsByMoment:
        return BucketSums(read_profile(record, process)).by_moment()

    code = digest_code(("profile/sites_reader.py",))
    sums = memo.recall("bucket sums", [record.digest, process], code, compute)
    return SitesProfile(record, process, sums)


def allocations_from_record(record: Record) -> Profile:
    """Return what one pair had allocated up to the end of each phase, freed or not; otherwise as profile_from_record.

    Raises Unreadable with half a sentence when the record has the call stacks of live blocks only."""
    check_sites_run(record)
    allocated: dict[str, list[LiveBlocks | TemporaryBlocks]] = {}
    so_far: list[LiveBlocks | TemporaryBlocks] = []
    for phase in record.phases:
        temporary = phase.sites.temporary if phase.sites else None
        if not phase.sites or temporary is None:
            raise Unreadable("call stacks of temporary blocks were not recorded")
        so_far += [one for one in phase.sites.live if one.since == phase.phase]
        so_far += temporary
        allocated[phase.phase] = [*so_far]
    return build_profile(record, allocated)


def check_sites_run(record: Record) -> None:
    """Raise Unreadable with a sentence when it is no sites run that was measured."""
    if not record.has_sites or record.status != "measured":
        raise Unreadable(
            f"{record.describe()} is no sites run that was measured: it is {record.meter}, {record.status}"
        )


def read_profile(record: Record, process: Process | None) -> Profile:
    """Raises Unreadable with a sentence when the owner that its frames tell is not the one that the meter knew."""
    return build_profile(record, by_phase(record, process))


def build_profile(record: Record, blocks: BlocksByPhase) -> Profile:
    """Return the profile with these blocks as what is live at the moments. Raises Unreadable as of read_profile."""
    sites = record.sites
    assert sites
    stacks = CallstackTree()
    used = {(one.stack, one.role) for some in blocks.values() for one in some}
    numbers = add_stacks(sites, stacks, {stack for stack, _ in used})
    try:
        owned = {(stack, role): stacks.owned_stack(numbers[stack], role) for stack, role in sorted(used)}
    except ValueError as error:
        raise Unreadable(f"{record.describe()}: unsound: {error}") from None
    moments = {name: moment(name, some, owned) for name, some in blocks.items()}
    found = Profile("sites", record.describe(), shlex.join(record.argv), stacks, moments)
    found.runtime_s, found.run = record.elapsed_ns / 1e9, record
    found.sessions_of_role, found.of_one_pair = 1, True
    found.warnings += unresolved_stacks.unnamed_function_warnings(found)
    return found


class SitesProfile(Profile):
    """The profile of a record whose bucket sums are known; its call stacks are read when they are asked for."""

    def __init__(self, record: Record, process: Process | None, sums: SumsByMoment) -> None:
        super().__init__("sites", record.describe(), shlex.join(record.argv), CallstackTree(), {})
        self.runtime_s, self.run = record.elapsed_ns / 1e9, record
        self.sessions_of_role, self.of_one_pair = 1, True
        self.record, self.process, self.sums = record, process, sums
        for name in ("stacks", "moments", "warnings"):
            del self.__dict__[name]

    def __getattr__(self, name: str) -> object:
        if name not in ("stacks", "moments", "warnings"):
            raise AttributeError(name)
        read = read_profile(self.record, self.process)
        self.stacks, self.moments, self.warnings = read.stacks, read.moments, read.warnings
        return self.__dict__[name]

    def sums_by_moment(self) -> SumsByMoment:
        return self.sums

    def recall(self, name: str, arguments: Sequence[str], code: bytes, compute: Callable[[], object]) -> Any:
        return memo.recall(name, [self.record.digest, self.process, *arguments], code, compute)


def by_phase(record: Record, process: Process | None) -> dict[str, list[LiveBlocks]]:
    """What the chosen pair held, in the order of the phases: each session at its own peak in the phase, where the
    record has that and anything was live then, and both at the end of the phase."""
    phases: list[Phase] = [*record.phases] if process is None else session_cost.phases_of(record, process)
    found: dict[str, list[LiveBlocks]] = defaultdict(list)
    for phase in phases:
        assert phase.sites  # a measured sites run has them
        if phase.sites.peak:
            found[f"{PEAK_OF}{phase.phase}"] += phase.sites.peak
        found[phase.phase] += phase.sites.live
    return found


def moment(name: str, live: Sequence[LiveBlocks | TemporaryBlocks], numbers: Mapping[tuple[int, Owner], int]) -> Moment:
    """One stack may have allocated in several phases. `numbers`: the stacks of each role, whom the meter knows even
    where a stripped harness has no names."""
    held: dict[int, LiveHeap] = {}
    for one in live:
        stack = numbers[one.stack, one.role]
        held[stack] = add_live(held.get(stack, LiveHeap(0, 0)), LiveHeap(one.bytes, one.blocks))
    return Moment(name, sum(one.bytes for one in live), held)


def add_stacks(sites: RecordedCallstacks, stacks: CallstackTree, used: Iterable[int]) -> dict[int, int]:
    """Add those of the record's stacks that are used, and return their numbers in `stacks` by those in the record."""
    lists = CallstackLists(stacks, [convert_frame(one) for one in sites.frames])
    return {stack: lists.stack(sites.stacks[stack]) for stack in sorted(used)}


def convert_frame(one: Recorded) -> Frame:
    return convert_fields(one.function, one.file, one.line, one.module, one.offset)


@cache
def convert_fields(function: str | None, file: str | None, line: int | None, module: str, offset: int) -> Frame:
    """Once: the runs of a recording have most frames in common."""
    return Frame(function and normalise_name(function), file and shorten_path(file), line, module, offset)
