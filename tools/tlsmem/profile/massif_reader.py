"""Reads massif's files, any program's: those of a whole run, and those of one snapshot that `detailed_snapshot FILE`
asked for. Line by line: in memory are the profile and one snapshot."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tlsmem.profile import unresolved_stacks
from tlsmem.profile.callstack_lists import CallstackLists, parse_frame
from tlsmem.profile.compressed_file import Progress, TornFile, read_chunks
from tlsmem.profile.errors import Unreadable
from tlsmem.profile.heap_profile import PEAK, CallstackTree, LiveHeap, Moment, Profile

LONGEST = 1 << 20  # bytes of a line: names of C++ are long
DEEPEST = 500  # levels of a tree: massif's own --depth ends at 200, and inlined functions are levels too
DIGITS = 20  # of 64 bits, as massif's are
BELOW_THRESHOLD = re.compile(rb"in [0-9]+ places?, (all )?below massif's threshold.*")
UNKNOWN = -1  # in the place of a frame: callers that massif does not tell
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
    time: int | None = None  # of the last snapshot
    try:
        for snapshot in reader.snapshots():
            time = snapshot.time
            if snapshot.live is not None:
                live = {stack: held(size) for stack, size in snapshot.live.items()}
                add(found, Moment(snapshot_name(snapshot), snapshot.heap_bytes, live))
    except CutOff as cut:
        if time is None:
            raise
        said = str(cut).removeprefix(f"{file}: ")
        found.torn = f"{said}; the snapshots before are used"
        found.warnings.append(found.torn)
    if time is None or not found.moments:
        raise Unreadable(f"{file}: no whole snapshot has call stacks; with massif's --detailed-freq=1 each has them")
    return finished(found, reader, time)


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


class CutOff(Unreadable):
    """The file ends where more is expected."""


class LineReader:
    """Without their newline. `number` is that of the last one read."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self.number = 0
        self.iterator = self.split(chunks)

    def split(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Raises CutOff when the last line has no end or the file cannot be unpacked to its end."""
        rest, torn = b"", False
        try:
            for chunk in chunks:
                *lines, rest = (rest + chunk).split(b"\n")
                yield from lines
                if len(rest) > LONGEST:
                    raise Unreadable(
                        f"line {self.number + 1} has more than {LONGEST:,} bytes, which is none of massif's"
                    )
        except TornFile:
            torn = True
        if rest or torn:
            raise CutOff(f"cut off in line {self.number + 1}")

    def keep(self) -> list[bytes]:
        """To which every line is added that is read from now on."""
        kept: list[bytes] = []
        self.iterator = keep_lines(self.iterator, kept)
        return kept

    def next(self) -> bytes | None:
        """None at the end of the file."""
        line = next(self.iterator, None)
        self.number += line is not None
        return line

    def expect(self, start: bytes) -> bytes:
        """The rest of a line that starts so."""
        line = self.next()
        if line is None:
            raise CutOff(f"cut off after line {self.number}, where `{start.decode()}` is expected")
        if not line.startswith(start):
            raise Unreadable(
                f"line {self.number} of a massif file starts with `{start.decode()}`, and this one does not"
            )
        return line[len(start) :]


def keep_lines(lines: Iterator[bytes], kept: list[bytes]) -> Iterator[bytes]:
    for line in lines:
        kept.append(line)
        yield line


class CallTrees:
    """Call stacks of all snapshots, each kept once."""

    def __init__(self, lines: LineReader) -> None:
        self.lines, self.stacks = lines, CallstackTree()
        self.lists = CallstackLists(self.stacks, [])
        self.numbers: dict[bytes, int] = {}  # of frames, by what massif writes of one

    def read(self) -> dict[int, int]:
        """Bytes by stack. A line is `nCALLERS: BYTES PLACE`; below it, indented by one more, are those who called it.

        Only bytes of those without callers count, the outermost that massif tells: all others are their sums."""
        live: dict[int, int] = defaultdict(int)
        path = [0] * (DEEPEST + 1)  # frames below the root, innermost first
        lines, numbers, expected, level = self.lines, self.numbers, 1, -1
        for number, line in enumerate(lines.iterator, lines.number + 1):
            lines.number = number
            node = line.lstrip(b" ")
            above, level = level, len(line) - len(node)
            try:
                count, size, text = node.split(b" ", 2)
                path[level] = numbers[text] if text in numbers else self.numbered(text)
                if count != b"n1:":
                    expected += callers(count) - 1
                if count == b"n0:" and size != b"0":
                    live[self.stack(path, level)] += parse_number(size)
            except (ValueError, IndexError):
                raise self.wrong(level) from None
            if level > above + 1:
                raise Unreadable(f"line {lines.number} is indented by more than one more than the one before")
            if not expected:
                return live
        raise CutOff(f"cut off after line {lines.number}, within a heap tree")

    def stack(self, path: list[int], level: int) -> int:
        """Whose bytes a line at this level tells; of those below massif's threshold, what called them is not known."""
        end = level if path[level] == UNKNOWN else level + 1
        return self.lists.stack(path[1:end])

    def numbered(self, text: bytes) -> int:
        found = UNKNOWN
        if not BELOW_THRESHOLD.fullmatch(text):
            found = len(self.lists.frames)
            self.lists.frames.append(parse_frame(text.decode(errors="replace")))
        return self.numbers.setdefault(text, found)

    def wrong(self, level: int) -> Unreadable:
        what = "is no node of a heap tree" if level <= DEEPEST else f"is in a heap tree of more than {DEEPEST} levels"
        return Unreadable(f"line {self.lines.number} {what}")


def callers(count: bytes) -> int:
    """Of `nCALLERS:`. Raises ValueError when it is something else."""
    if not (count.startswith(b"n") and count.endswith(b":")):
        raise ValueError
    return parse_number(count[1:-1])


def parse_number(digits: bytes) -> int:
    """Raises ValueError when it is no number of 64 bits."""
    if not digits.isdigit() or len(digits) > DIGITS:
        raise ValueError
    return int(digits)
