"""Reads massif's files, any program's: those of a whole run, and those of one snapshot that `detailed_snapshot FILE`
asked for. Line by line: in memory are the profile and one snapshot."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tlsmem.profile import unresolved_stacks
from tlsmem.profile.compressed_file import Progress, read_chunks
from tlsmem.profile.errors import Unreadable
from tlsmem.profile.heap_profile import PEAK, LiveHeap, Moment, Profile
from tlsmem.profile.massif_tree import DIGITS, CallTrees, CutOff, LineReader, parse_number

HEADER = ("desc", "cmd", "time_unit")
NUMBERS = ("time", "mem_heap_B", "mem_heap_extra_B", "mem_stacks_B")
KINDS = ("empty", "detailed", "peak")
RULE = b"#-----------"


class Snapshot(NamedTuple):
    """`heap_bytes` are those requested and live: without stacks and what massif supposes that an allocator adds.

    `time` is in the unit of the file. `live` is bytes by stack; None where massif took none."""

    number: int
    time: int
    heap_bytes: int
    kind: str
    live: dict[int, int] | None


def read_profile(file: Path | str, progress: Progress | None = None) -> Profile:
    """Moments are `snapshot K`, of those that have call stacks, and the peak. Where the file is cut off, those before.

    Raises Unreadable with a sentence when the file is not there, foreign, damaged, or has no call stacks."""
    reader = MassifReader(file, progress)
    found = Profile("massif", str(file), "", reader.trees.stacks, {})
    held = cache(lambda size: LiveHeap(size, None))
    snapshot = None
    try:
        for snapshot in reader.snapshots():
            if snapshot.live is not None:
                live = {stack: held(size) for stack, size in snapshot.live.items()}
                add(found, Moment(snapshot_name(snapshot), snapshot.heap_bytes, live))
    except CutOff as cut:
        if snapshot is None:
            raise
        said = str(cut).removeprefix(f"{file}: ")
        found.torn = f"{said}; the snapshots before are used"
        found.warnings.append(found.torn)
    if not found.moments:
        raise Unreadable(f"{file}: no whole snapshot has call stacks; with massif's --detailed-freq=1 each has them")
    return finished(found, reader, snapshot.time)


def snapshot_name(snapshot: Snapshot) -> str:
    return PEAK if snapshot.kind == "peak" else f"snapshot {snapshot.number}"


def add(found: Profile, moment: Moment) -> None:
    if moment.name in found.moments:
        raise Unreadable(f"{found.file}: {moment.name} stands in it twice")
    found.moments[moment.name] = moment


def finished(found: Profile, reader: "MassifReader", time: int) -> Profile:
    if PEAK in found.moments:
        found.moments[PEAK] = found.moments.pop(PEAK)
    if missing := reader.trees.lists.demangle():
        found.warnings.append(missing)
    found.warnings += unresolved_stacks.unnamed_function_warnings(found) + unresolved_stacks.truncated_stack_warnings(
        found
    )
    found.command = reader.header["cmd"]
    found.runtime_s = time / 1000 if reader.header["time_unit"] == "ms" else None
    return found


class MassifReader:
    def __init__(self, file: Path | str, progress: Progress | None = None) -> None:
        self.file, self.lines = file, LineReader(read_chunks(file, progress))
        self.trees = CallTrees(self.lines)
        self.header: dict[str, str] = {}

    def snapshots(self) -> Iterator[Snapshot]:
        """In order. Raises CutOff when the file ends within one; that a later one is missing cannot be seen."""
        try:
            for name in HEADER:
                self.header[name] = self.lines.expect(f"{name}:".encode()).decode(errors="replace").strip()
            while (line := self.lines.next()) is not None:
                if line != RULE:
                    raise Unreadable(f"line {self.lines.number}: a snapshot begins with `{RULE.decode()}`")
                yield self.snapshot()
        except Unreadable as error:
            raise type(error)(f"{self.file}: {str(error).removeprefix(f'{self.file}: ')}") from None

    def snapshot(self) -> Snapshot:
        number = self.value("snapshot")
        self.lines.expect(RULE)
        time, heap_bytes, *_ = (self.value(name) for name in NUMBERS)
        kind = self.lines.expect(b"heap_tree=").decode(errors="replace")
        if kind not in KINDS:
            raise Unreadable(f"line {self.lines.number}: heap_tree is one of {', '.join(KINDS)}")
        live = None if kind == "empty" else self.trees.read()
        if live is not None and sum(live.values()) != heap_bytes:
            raise Unreadable(f"snapshot {number}: mem_heap_B is {heap_bytes}, its tree holds {sum(live.values())}")
        return Snapshot(number, time, heap_bytes, kind, live)

    def value(self, name: str) -> int:
        text = self.lines.expect(f"{name}=".encode())
        try:
            return parse_number(text)
        except ValueError:
            raise Unreadable(f"line {self.lines.number}: {name} is a number of at most {DIGITS} digits") from None
