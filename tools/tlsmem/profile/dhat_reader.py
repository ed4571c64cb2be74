"""Reads DHAT's files (version 2 of their form), and zips of them, one per phase: PHASE.json.

valgrind writes them, of the heap, of copies or of a program's own events; so do crates for Rust programs: dhat, and
others that know no lifetimes of blocks. Without lifetimes there is neither a peak nor an end, only what was allocated.
"""

import io
import lzma
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain
from operator import itemgetter
from pathlib import Path, PurePosixPath
from typing import NotRequired

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, NonNegativeInt, ValidationError, field_validator
from typing_extensions import TypedDict

from tlsmem.profile import unresolved_stacks
from tlsmem.profile.callstack_arrays import CallstackArrays, Numbers, sum_by_stack
from tlsmem.profile.callstack_lists import demangle_places, parse_frame
from tlsmem.profile.compressed_file import CHUNK, Progress, TornFile, read_chunks
from tlsmem.profile.errors import Unreadable
from tlsmem.profile.file_signatures import CALL_TREES, DHAT_ZIP
from tlsmem.profile.frames import Frame
from tlsmem.profile.heap_profile import END, PEAK, AllocationTotals, CallstackTree, LiveHeap, Moment, Profile, Unit
from tlsmem.schema.harness_output import describe_error

TREES = ".xtree.zip"
VERSION = 2
ALLOCATED = "Allocated"
Lifetimes = npt.NDArray[np.float64]
FIGURES = ("tb", "tbk", "gb", "gbk", "eb", "ebk")
LARGEST = 2 << 30  # bytes of a file, or of a member of a zip, unpacked
LIMIT = 1 << 62  # of sums
POINTS = re.compile(rb'"pps"\s{0,99}:\s{0,99}\[')  # no text has it: a quote in a text has a backslash before it
LONGEST_START = 210  # bytes
NO_MORE_POINTS, END_OF_POINTS = re.compile(rb"\s*\]"), re.compile(rb"\}\s*\]")
FIRST_NUMBER = re.compile(r"^pps\.(\d+)")
NO_JSON, UNLIKE_DHAT = "cut off, or no DHAT file: it is not JSON", "not as DHAT writes it"
NO_LIFETIMES = (
    "records no block lifetimes, so it has no peak and no end, only what was {}; --by allocated and --by allocations "
    "show that"
)
DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError, lzma.LZMAError)


class DhatModel(BaseModel):
    """Strict, but with whatever else a newer valgrind may tell."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


class Point(TypedDict):
    """Bytes and blocks of one call stack: in total, at the peak of the whole heap (t-gmax), and at the end; the latter
    two, and the lifetimes, where the file has lifetimes of blocks."""

    tb: NonNegativeInt
    tbk: NonNegativeInt
    gb: NotRequired[NonNegativeInt]
    gbk: NotRequired[NonNegativeInt]
    eb: NotRequired[NonNegativeInt]
    ebk: NotRequired[NonNegativeInt]
    tl: NotRequired[NonNegativeInt]  # the lifetimes of its blocks, added up
    fs: list[NonNegativeInt]  # frames, innermost first: indices into ftbl


class Piece(DhatModel):
    """Some of the points."""

    pps: list[Point]


class Content(DhatModel):
    """All of a file but its points."""

    dhatFileVersion: int
    mode: str  # valgrind's: heap, copy, ad-hoc; of crates: rust-heap, rust-ad-hoc
    verb: str = ALLOCATED
    bklt: bool = True  # has lifetimes of blocks
    bu: str = "byte"  # unit of a block's size
    tu: str = "instrs"  # unit of time
    tuth: NonNegativeInt | None = None  # the mean lifetime up to which DHAT's viewer calls blocks short-lived
    cmd: str
    pps: list[Point]  # none
    ftbl: list[str]

    @field_validator("dhatFileVersion")
    @classmethod
    def check_version(cls, version: int) -> int:
        if version != VERSION:
            raise ValueError(f"{version} is not read; {VERSION} is, which valgrind writes from 3.17 on")
        return version

    @property
    def unit(self) -> Unit:
        if self.bu != "byte":
            return "counted"
        return "requested" if self.verb == ALLOCATED else "copied"


def read_end(file: Path | str) -> LiveHeap:
    """What was live at the end.

    Raises Unreadable with a sentence when the file is not there, foreign, of another version or mode, or cut off."""
    content, columns = parse(read_bounded(file), file, Points())
    if not content.bklt:
        raise Unreadable(f"{file}: {describe_no_lifetimes(content)}")
    return LiveHeap(int(columns["eb"].sum()), int(columns["ebk"].sum()))


def read_profile(file: Path | str, progress: Progress | None = None) -> Profile:
    """Moments: of one JSON its peak and its end; of a zip the end of each member's run, and the peak of the last.

    What was allocated is that of the last. Raises Unreadable with a sentence, as read_end does."""
    points = Points()
    runs: dict[str, Columns] = {}
    for name, content, columns in read_runs(file, points, progress):
        if not content.bklt and name != END:
            raise Unreadable(f"{file}: {name}: {describe_no_lifetimes(content)}")
        runs[name] = columns
    last = columns
    stacks = CallstackTree()
    numbers = points.stacks.build(stacks, points.frames)
    found = Profile("dhat", str(file), content.cmd, stacks, {})
    found.mode, found.unit = content.mode, content.unit
    add_allocated(found, content, last, last.select(numbers))
    if content.bklt:
        peak = {PEAK: make_moment(PEAK, numbers, last, "gb", "gbk")}
        ends = {name: make_moment(name, numbers, columns, "eb", "ebk") for name, columns in runs.items()}
        found.moments = peak | ends if END in ends else ends | peak
    else:
        found.why_no_moments = describe_no_lifetimes(content)
    if missing := demangle_places(stacks):
        found.warnings.append(missing)
    found.warnings += unresolved_stacks.unnamed_function_warnings(found)
    found.warnings += unresolved_stacks.truncated_stack_warnings(found)
    return found


def add_allocated(found: Profile, content: Content, columns: "Columns", numbers: Numbers) -> None:
    """What was allocated, and how long it lived where the file tells it. `numbers`: the stacks of the points."""
    blocks, lifetimes = columns["tbk"], columns.sum_lifetimes()
    short = None if lifetimes is None or content.tuth is None else lifetimes <= content.tuth * blocks.astype(float)
    is_summed = lifetimes is not None and lifetimes.sum() < LIMIT
    known = [blocks, columns["tb"]]
    known += [] if short is None else [np.where(short, blocks, 0)]
    known += [lifetimes.astype(np.int64)] if lifetimes is not None and is_summed else []
    found.allocated = {}
    for stack, count, size, *others in sum_by_stack(numbers, *known):
        temporary = None if short is None else others[0]
        found.allocated[stack] = AllocationTotals(count, size, temporary, others[-1] if is_summed else None)
    unit = "instructions" if content.tu == "instrs" else content.tu
    found.lifetime_unit = unit if is_summed else None
    if short is not None:
        found.temporary_means = (
            f"all blocks of call stacks whose blocks lived for {content.tuth:,} {unit} or less on average (DHAT: "
            "short-lived), since DHAT does not tell the lifetimes of single blocks"
        )


def describe_no_lifetimes(content: Content) -> str:
    done = {"requested": "allocated", "copied": "copied", "counted": "counted"}[content.unit]
    return NO_LIFETIMES.format(done)


class Columns:
    """The points of one run: an array for each of its figures; `begin` is the number of its first point."""

    def __init__(self, begin: int) -> None:
        self.begin = self.end = begin
        self.parts: dict[str, list[Numbers]] = {name: [] for name in FIGURES}
        self.has_lifetimes = True
        self.lifetimes: list[Lifetimes] | None = []  # None: a point lacks them

    def add(self, points: list[Point]) -> None:
        """Raises OverflowError for a number of more than 63 bits."""
        self.end += len(points)
        for name, parts in self.parts.items():
            try:
                parts.append(np.fromiter(map(itemgetter(name), points), np.int64, len(points)))
            except KeyError:
                self.has_lifetimes = False
                parts.append(np.zeros(len(points), np.int64))
        if self.lifetimes is not None and all("tl" in point for point in points):
            self.lifetimes.append(np.fromiter((point["tl"] for point in points), np.float64, len(points)))
        else:
            self.lifetimes = None

    def sum_lifetimes(self) -> Lifetimes | None:
        """Return the sum of the lifetimes of each point's blocks; sums of many long lives have more than 63 bits."""
        return None if self.lifetimes is None else np.concatenate([np.zeros(0), *self.lifetimes])

    def __getitem__(self, name: str) -> Numbers:
        self.parts[name] = [np.concatenate([np.zeros(0, np.int64), *self.parts[name]])]
        return self.parts[name][0]

    def select(self, numbers: Numbers) -> Numbers:
        """Those of all runs' points that are this run's."""
        return numbers[self.begin : self.end]


class Points:
    """Program points of all members, whose frames are joined by what they say."""

    def __init__(self) -> None:
        self.stacks, self.frames, self.count = CallstackArrays(), list[Frame](), 0
        self.numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        if text not in self.numbers:
            self.numbers[text] = len(self.numbers)
            self.frames.append(parse_frame(text))
        return self.numbers[text]


def make_moment(name: str, numbers: Numbers, columns: Columns, size: str, blocks: str) -> Moment:
    is_live = (columns[size] != 0) | (columns[blocks] != 0)
    of_stacks = sum_by_stack(columns.select(numbers)[is_live], columns[size][is_live], columns[blocks][is_live])
    return Moment(name, int(columns[size].sum()), {stack: LiveHeap(*held) for stack, *held in of_stacks})


def read_runs(file: Path | str, points: Points, progress: Progress | None) -> Iterator[tuple[str, Content, Columns]]:
    """By the name of the moment at which it ended; at least one."""
    chunks = read_bounded(file, progress)
    start = next(chunks, b"")
    if not start.startswith(DHAT_ZIP):
        yield END, *parse(chain([start], chunks), file, points)
        return
    try:
        with zipfile.ZipFile(io.BytesIO(b"".join([start, *chunks]))) as archive:
            for member in archive.infolist():
                place = f"{file}: {member.filename}"
                with archive.open(member) as unpacked:
                    pieces = bound(iter(partial(unpacked.read, CHUNK), b""), place)
                    start = next(pieces, b"")
                    if start.startswith(CALL_TREES):
                        raise Unreadable(describe_call_trees(file))
                    yield PurePosixPath(member.filename).stem, *parse(chain([start], pieces), place, points)
            if not archive.infolist():
                raise Unreadable(f"{file}: an empty zip, where one DHAT file per phase is expected")
    except Unreadable:
        raise
    except DAMAGED as error:
        raise Unreadable(f"{file}: a zip that is cut off or damaged: {error or type(error).__name__}") from None


def read_bounded(file: Path | str, progress: Progress | None = None) -> Iterator[bytes]:
    """Raises Unreadable with a sentence when the file cannot be read to its end, or has more than LARGEST bytes."""
    try:
        yield from bound(read_chunks(file, progress), file)
    except TornFile:
        raise Unreadable(f"{file}: cut off or damaged: it cannot be unpacked to its end") from None


def bound(chunks: Iterable[bytes], place: Path | str) -> Iterator[bytes]:
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if size > LARGEST:
            raise Unreadable(f"{place}: more than {LARGEST >> 20} MiB, too large to be read at once")
        yield chunk


def describe_call_trees(file: Path | str) -> str:
    """The sentence for call trees."""
    name = Path(file).name
    beside = f"{name.removesuffix(TREES)}.zst beside it" if name.endswith(TREES) else "what massif wrote itself"
    return f"{file}: call trees for KCachegrind, and no profile; the profile is {beside}"


def parse(chunks: Iterable[bytes], place: Path | str, points: Points) -> tuple[Content, Columns]:
    """Read one run, piece by piece: what is in memory of its points is their numbers. Raises Unreadable."""
    columns = Columns(points.count)
    first_piece = len(points.stacks.frames)
    wrong: str | None = None
    splitter = Splitter(chunks)
    try:
        for piece in splitter.split():
            if wrong is None:
                wrong = take_piece(piece, columns, points)
        content = Content.model_validate_json(splitter.rest)
    except ValidationError as error:
        if error.errors()[0]["type"] == "json_invalid":
            raise Unreadable(f"{place}: {NO_JSON}") from None
        raise Unreadable(f"{place}: {UNLIKE_DHAT}: {describe_error(error)}") from None
    except NotJson:
        raise Unreadable(f"{place}: {NO_JSON}") from None
    if wrong is None and content.bklt and not columns.has_lifetimes:
        wrong = f"{UNLIKE_DHAT}: a program point (pps) lacks gb, gbk, eb or ebk, though bklt is true"
    if wrong is None and (content.pps or any(columns[name].sum(dtype=float) >= LIMIT for name in FIGURES)):
        wrong = f"{UNLIKE_DHAT}: pps: it stands there twice, or its sums have more than 62 bits"
    try:
        numbers = np.array([points.number(text) for text in content.ftbl], np.int64)
        points.stacks.renumber(first_piece, numbers)
    except IndexError:
        wrong = wrong or f"{UNLIKE_DHAT}: a program point (pps) has a frame that is not in ftbl"
    if wrong is not None:
        raise Unreadable(f"{place}: {wrong}")
    points.count = columns.end
    return content, columns


def take_piece(piece: bytes, columns: Columns, points: Points) -> str | None:
    """Return what is wrong with it, if anything is."""
    try:
        found = Piece.model_validate_json(b'{"pps":[%s]}' % piece).pps
        columns.add(found)
        points.stacks.add([point["fs"] for point in found])
    except OverflowError:
        return f"{UNLIKE_DHAT}: pps: a number has more than 63 bits, or that of a frame more than 32"
    except ValidationError as error:
        if error.errors()[0]["type"] == "json_invalid":
            return NO_JSON
        begin = columns.end - columns.begin
        said = FIRST_NUMBER.sub(lambda found: f"pps.{int(found[1]) + begin}", describe_error(error))
        return f"{UNLIKE_DHAT}: {said}"
    return None


class NotJson(Exception):
    """A piece of the file that cannot be of a JSON text."""


class Splitter:
    """Splits a file into pieces of its list of points, which are objects of numbers and of lists of numbers, and into
    the `rest`, in which that list is empty."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self.chunks, self.rest = iter(chunks), b""

    def split(self) -> Iterator[bytes]:
        """Yield whole points with a comma between them, then set `rest`. Raises NotJson where the list has no end."""
        head = bytearray()
        for chunk in self.chunks:
            seam = max(len(head) - LONGEST_START, 0)
            head += chunk
            if found := POINTS.search(head, seam):
                break
        else:
            self.rest = bytes(head)
            return
        text = bytes(head[found.end() :])
        del head[found.end() :]
        is_first = True
        while not (end := NO_MORE_POINTS.match(text) or END_OF_POINTS.search(text)):
            cut = text.rfind(b"}") + 1
            if cut:
                yield self.strip(text[:cut], is_first)
                text, is_first = text[cut:], False
            text += self.next()
        if end.re is END_OF_POINTS:
            yield self.strip(text[: end.start() + 1], is_first)
        self.rest = b"".join([head, b"]", text[end.end() :], *self.chunks])

    def next(self) -> bytes:
        found = next(self.chunks, None)
        if found is None:
            raise NotJson
        return found

    def strip(self, piece: bytes, is_first: bool) -> bytes:
        """Without the comma that separates it from the piece before."""
        if is_first:
            return piece
        piece = piece.lstrip()
        if not piece.startswith(b","):
            raise NotJson
        return piece[1:]
