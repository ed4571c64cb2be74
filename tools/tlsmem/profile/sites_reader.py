"""The profile in the record of a sites run: what one pair held at the end of each phase, by call stack."""

import shlex
from collections import defaultdict
from functools import cache
from typing import Any

from tlsmem.base import memo
from tlsmem.base.cache_file import digest_code
from tlsmem.base.paths import ROOT
from tlsmem.base.source_paths import shorten_path
from tlsmem.profile import unresolved_stacks
from tlsmem.profile.buckets.sums import BucketSums, SumsByMoment
from tlsmem.profile.callstack_lists import CallstackLists
from tlsmem.profile.demangle import normalise_name
from tlsmem.profile.errors import Unreadable
from tlsmem.profile.frames import Frame
from tlsmem.profile.heap_profile import CallstackTree, LiveHeap, Moment, Profile, add_live
from tlsmem.schema.harness_output import LiveBlocks, Process
from tlsmem.schema.records import Phase, Record, RecordedCallstacks
from tlsmem.schema.records import RecordedFrame as Recorded
from tlsmem.schema.roles import Owner
from tlsmem.stats import session_cost


def profile_from_record(record: Record, process: Process | None = None) -> Profile:
    """Of one process, or of both ends of the pair: where each has a process of its own, their phases are joined.

    Bytes are those of one session of each role. Unreadable, with a sentence, when it is no sites run."""
    if not record.has_sites or record.status != "measured":
        raise Unreadable(
            f"{record.describe()} is no sites run that was measured: it is {record.meter}, {record.status}"
        )
    digest = record.bulk_digest()
    if digest is None:
        return read_profile(record, process)
    arguments = [digest, record.stack, process]
    code = digest_code(("profile/**/*.py", "base/source_paths.py"), (ROOT / "memtest/buckets.toml",))
    sums = memo.recall("bucket sums", arguments, code, lambda: BucketSums(read_profile(record, process)).by_moment())
    return SitesProfile(record, process, sums)


def read_profile(record: Record, process: Process | None) -> Profile:
    """Unreadable, with a sentence, when the owner that its frames tell is not the one that the meter knew."""
    assert record.sites
    stacks = CallstackTree()
    numbers = add_stacks(record.sites, stacks)
    try:
        numbered_by_role = by_role(record, numbers, stacks)
    except ValueError as error:
        raise Unreadable(f"{record.describe()}: unsound: {error}") from None
    moments = {name: moment(name, live, numbered_by_role) for name, live in by_phase(record, process).items()}
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

    def __getattr__(self, name: str) -> Any:
        if name not in ("stacks", "moments", "warnings"):
            raise AttributeError(name)
        read = read_profile(self.record, self.process)
        self.stacks, self.moments, self.warnings = read.stacks, read.moments, read.warnings
        return self.__dict__[name]

    def sums_by_moment(self) -> SumsByMoment:
        return self.sums


def by_phase(record: Record, process: Process | None) -> dict[str, list[LiveBlocks]]:
    """What the chosen pair held, in the order of the phases."""
    phases: list[Phase] = [*record.phases] if process is None else session_cost.phases_of(record, process)
    found: dict[str, list[LiveBlocks]] = defaultdict(list)
    for phase in phases:
        found[phase.phase] += phase.sites.live
    return found


def by_role(record: Record, numbers: list[int], stacks: CallstackTree) -> dict[tuple[int, Owner], int]:
    """The record's stacks as those of their roles, whom the meter knows even where a stripped harness has no names."""
    used = {(one.stack, one.role) for phase in record.phases for one in phase.sites.live}
    return {(stack, role): stacks.owned_stack(numbers[stack], role) for stack, role in sorted(used)}


def moment(name: str, live: list[LiveBlocks], numbers: dict[tuple[int, Owner], int]) -> Moment:
    """One stack may have allocated in several phases."""
    held: dict[int, LiveHeap] = {}
    for one in live:
        stack = numbers[one.stack, one.role]
        held[stack] = add_live(held.get(stack, LiveHeap(0, 0)), LiveHeap(one.bytes, one.blocks))
    return Moment(name, sum(one.bytes for one in live), held)


def add_stacks(sites: RecordedCallstacks, stacks: CallstackTree) -> list[int]:
    """The record's stacks, by their numbers, added to `stacks`."""
    lists = CallstackLists(stacks, [convert_frame(one) for one in sites.frames])
    return [lists.stack(numbers) for numbers in sites.stacks]


def convert_frame(one: Recorded) -> Frame:
    return convert_fields(one.function, one.file, one.line, one.module, one.offset)


@cache
def convert_fields(function: str | None, file: str | None, line: int | None, module: str, offset: int) -> Frame:
    """Once: the runs of a recording have most frames in common."""
    return Frame(function and normalise_name(function), file and shorten_path(file), line, module, offset)
