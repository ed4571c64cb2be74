"""Reads massif's files, any program's: those of a whole run, and those of one snapshot that `detailed_snapshot FILE`
asked for. Line by line: in memory are the profile and one snapshot."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tlsmem.profile import unresolved_stacks
from tlsmem.profile.callstack_lists import CallstackLists, parse_frame
from tlsmem.profile.compressed_file import Progress, TornFile, read_chunks
from tlsmem.profile.errors import Unreadable
from tlsmem.profile.heap_profile import PEAK, CallstackTree, LiveHeap, Moment, Profile, describe_untraced_peak

LONGEST = 1 << 20  # bytes of a line: names of C++ are long
LARGEST = 2 << 30  # bytes of a file, unpacked
MOST_SNAPSHOTS = 10_000  # massif's own --max-snapshots ends at 1000
DEEPEST = 500  # levels of a tree: massif's own --depth ends at 200, and inlined functions are levels too
DIGITS = 20  # of 64 bits, as massif's are
BELOW_THRESHOLD = re.compile(rb"in [0-9]+ places?, (all )?below massif's threshold.*")
UNKNOWN = -1  # in the place of a frame: callers that massif does not tell
HEADER = ("desc", "cmd", "time_unit")
NUMBERS = ("time", "mem_heap_B", "mem_heap_extra_B", "mem_stacks_B")
KINDS = ("empty", "detailed", "peak")
RULE = b"#-----------"
PAGES = b"(page allocation syscalls)"  # in the root of each tree with --pages-as-heap=yes
PAGES_OPTION = "--pages-as-heap=yes"
INACCURACY = re.compile(r"--peak-inaccuracy=([0-9.]+)")
USUAL_INACCURACY = 1.0  # percent, of massif without that option
NOTHING_LIVE = "no whole snapshot in it has any bytes: massif saw no allocation, or the file is cut off"
FEWER = "record it with a lower --max-snapshots or a higher --threshold"
TOTALS_ONLY = (
    "massif took no call stacks, so only totals are known; run massif with --detailed-freq=1 for call stacks at each "
    "snapshot"
)


class Snapshot(NamedTuple):
    """`heap_bytes` are those requested and live: without stacks and what massif supposes that an allocator adds, which
    are `stack_bytes` and `extra_bytes`.

    `time` is in the unit of the file. `live` is bytes by stack; None where massif took none."""

    number: int
    time: int
    heap_bytes: int
    extra_bytes: int
    stack_bytes: int
    kind: str
    live: dict[int, int] | None

    @property
    def name(self) -> str:
        return f"snapshot {self.number}"

    @property
    def total_bytes(self) -> int:
        """What massif compares to find its peak."""
        return self.heap_bytes + self.extra_bytes + self.stack_bytes


class Extremes:
    """Which snapshots hold most, with call stacks or not, and which is the last; kept without their call stacks."""

    def __init__(self) -> None:
        self.count = 0
        self.own: Snapshot | None = None  # massif's peak
        self.last = self.heap = self.total = Snapshot(0, 0, 0, 0, 0, "empty", None)
        self.has_stack_bytes = False

    def add(self, snapshot: Snapshot) -> None:
        snapshot = snapshot._replace(live=None)
        self.count += 1
        self.last = snapshot
        self.has_stack_bytes |= snapshot.stack_bytes > 0
        self.heap = max(self.heap, snapshot, key=lambda one: one.heap_bytes)
        self.total = max(self.total, snapshot, key=lambda one: one.total_bytes)
        if snapshot.kind == "peak":
            self.own = max(self.own or snapshot, snapshot, key=lambda one: one.heap_bytes)


def read_profile(file: Path | str, progress: Progress | None = None) -> Profile:
    """Moments are `snapshot K`, of those that have call stacks, and the peak. Where the file is cut off, those before.

    The peak is the snapshot with the most live heap. Massif's own may be another: it counts stacks, and lies up to
    --peak-inaccuracy below. Where massif took no call stacks at the peak it is `untraced_peak`; where it took none at
    all, all bytes of a moment are of no known call stack.

    Raises Unreadable with a sentence when the file is not there, foreign, damaged, or has no bytes."""
    reader = MassifReader(file, progress)
    found = Profile("massif", str(file), "", reader.trees.stacks, {})
    held = cache(lambda size: LiveHeap(size, None))
    most = Extremes()
    try:
        for snapshot in reader.snapshots():
            most.add(snapshot)
            if most.count > MOST_SNAPSHOTS:
                raise Unreadable(f"{file}: more than {MOST_SNAPSHOTS:,} snapshots; massif takes 1,000 at most")
            if snapshot.live is not None:
                live = {stack: held(size) for stack, size in snapshot.live.items()}
                add(found, Moment(snapshot.name, snapshot.heap_bytes, live))
    except CutOff as cut:
        if not most.count:
            raise
        said = cut.without_file(file)
        found.torn = f"{said}; the snapshots before are used"
        found.warnings.append(found.torn)
    if not most.heap.heap_bytes and not found.moments:
        raise Unreadable(f"{file}: {NOTHING_LIVE}")
    if found.moments:
        place_peak(found, most)
    else:
        add_totals(found, most)
    return finished(found, reader, most)


def add(found: Profile, moment: Moment) -> None:
    if moment.name in found.moments:
        raise Unreadable(f"{found.file}: {moment.name} stands in it twice")
    found.moments[moment.name] = moment


def place_peak(found: Profile, most: Extremes) -> None:
    """Name the moment PEAK at which most is live, the last one; massif's own of equals. Without a snapshot that massif
    calls the peak it is none: others may be missing."""
    fullest = max(found.moments.values(), key=lambda moment: moment.bytes)
    if most.heap.heap_bytes > fullest.bytes:
        found.untraced_peak = Moment(most.heap.name, most.heap.heap_bytes, {})
        found.warnings.append(describe_untraced_peak(found))
    elif most.own is None:
        return
    elif most.own.heap_bytes == fullest.bytes:
        found.moments[PEAK] = replace(found.moments.pop(most.own.name), name=PEAK)
    else:
        found.moments[PEAK] = replace(fullest, name=PEAK)


def add_totals(found: Profile, most: Extremes) -> None:
    """The peak and the last snapshot, of a file without call stacks."""
    named = {most.last.name: most.last, most.heap.name if most.own is None else PEAK: most.heap}
    for name, snapshot in named.items():
        if snapshot.heap_bytes:
            found.moments[name] = Moment(name, snapshot.heap_bytes, {0: LiveHeap(snapshot.heap_bytes, None)})
    found.warnings.append(TOTALS_ONLY)


def finished(found: Profile, reader: "MassifReader", most: Extremes) -> Profile:
    if missing := reader.trees.lists.demangle():
        found.warnings.append(missing)
    found.warnings += unresolved_stacks.unnamed_function_warnings(found) + unresolved_stacks.truncated_stack_warnings(
        found
    )
    found.command = reader.header["cmd"]
    found.runtime_s = most.last.time / 1000 if reader.header["time_unit"] == "ms" else None
    if reader.counts_pages():
        found.unit = "mapped"
    if most.has_stack_bytes:
        found.notes["most with thread stacks"] = describe_total(most.total)
    if most.own and (inaccuracy := reader.peak_inaccuracy()):
        found.notes["accuracy of the peak"] = (
            f"the true peak may be {inaccuracy:g} % higher; --peak-inaccuracy=0 records it"
        )
    return found


def describe_total(snapshot: Snapshot) -> str:
    """What massif itself compares."""
    parts = [(snapshot.heap_bytes, "heap"), (snapshot.stack_bytes, "thread stacks")]
    parts.append((snapshot.extra_bytes, "overhead that massif assumes for the allocator"))
    said = ", ".join(f"{size:,} B of {what}" for size, what in parts)
    return f"{snapshot.total_bytes:,} B at {snapshot.name}: {said}"


class MassifReader:
    def __init__(self, file: Path | str, progress: Progress | None = None) -> None:
        self.file, self.chunks = file, read_chunks(file, progress)
        self.lines = LineReader(self.chunks)
        self.trees = CallTrees(self.lines)
        self.header: dict[str, str] = {}

    def counts_pages(self) -> bool:
        """Whether massif counted mapped pages in place of blocks."""
        return PAGES_OPTION in self.header["desc"].split() or any(PAGES in text for text in self.trees.numbers)

    def peak_inaccuracy(self) -> float:
        """By how many percent the peak may be higher than massif's."""
        told = INACCURACY.findall(self.header["desc"])
        try:
            return float(told[-1]) if told else USUAL_INACCURACY
        except ValueError:
            return USUAL_INACCURACY

    def snapshots(self) -> Iterator[Snapshot]:
        """In order. Raises CutOff when the file ends within one; that a later one is missing cannot be seen."""
        try:
            with closing(self.chunks):
                for name in HEADER:
                    self.header[name] = self.lines.expect(f"{name}:".encode()).decode(errors="replace").strip()
                while (line := self.lines.next()) is not None:
                    if line != RULE:
                        raise Unreadable(f"line {self.lines.number}: a snapshot begins with `{RULE.decode()}`")
                    yield self.snapshot()
        except Unreadable as error:
            raise type(error)(f"{self.file}: {error.without_file(self.file)}") from None

    def snapshot(self) -> Snapshot:
        number = self.value("snapshot")
        self.lines.expect(RULE)
        time, heap_bytes, extra_bytes, stack_bytes = (self.value(name) for name in NUMBERS)
        kind = self.lines.expect(b"heap_tree=").decode(errors="replace")
        if kind not in KINDS:
            raise Unreadable(f"line {self.lines.number}: heap_tree is one of {', '.join(KINDS)}")
        live = None if kind == "empty" else self.trees.read()
        if live is not None and sum(live.values()) != heap_bytes:
            raise Unreadable(f"snapshot {number}: mem_heap_B is {heap_bytes}, its tree holds {sum(live.values())}")
        return Snapshot(number, time, heap_bytes, extra_bytes, stack_bytes, kind, live)

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
        rest, torn, size = b"", False, 0
        try:
            for chunk in chunks:
                size += len(chunk)
                if size > LARGEST:
                    raise Unreadable(f"more than {LARGEST >> 20} MiB of text, too large to be read: {FEWER}")
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
