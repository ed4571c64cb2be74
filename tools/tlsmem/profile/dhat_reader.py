"""Reads DHAT's files (version 2 of their form), and zips of them, one per phase: PHASE.json.

valgrind writes them, of the heap, of copies or of a program's own events; so do crates for Rust programs: dhat, and
others that know no lifetimes of blocks. Without lifetimes there is neither a peak nor an end, only what was allocated.
"""

import io
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

from pydantic import BaseModel, ConfigDict, NonNegativeInt, ValidationError, field_validator, model_validator

from tlsmem.profile import unresolved_stacks
from tlsmem.profile.callstack_lists import CallstackLists, parse_frame
from tlsmem.profile.compressed_file import LARGEST, Progress, read_whole
from tlsmem.profile.errors import Unreadable
from tlsmem.profile.file_signatures import CALL_TREES, DHAT_ZIP
from tlsmem.profile.heap_profile import (
    END,
    PEAK,
    AllocationTotals,
    CallstackTree,
    LiveHeap,
    Moment,
    Profile,
    Unit,
    add_live,
    sum_live,
)
from tlsmem.schema.harness_output import describe_error

TREES = ".xtree.zip"
VERSION = 2
ALLOCATED = "Allocated"
LIFETIMES = {"gb", "gbk", "eb", "ebk"}
NO_LIFETIMES = (
    "records no block lifetimes, so it has no peak and no end, only what was {}; --by allocated and --by allocations "
    "show that"
)
DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError, lzma.LZMAError)


class DhatModel(BaseModel):
    """Strict, but with whatever else a newer valgrind may tell."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


class Point(DhatModel):
    """Bytes and blocks of one call stack: in total, at the peak of the whole heap (t-gmax), and at the end; the latter
    two where the file has lifetimes of blocks."""

    tb: NonNegativeInt
    tbk: NonNegativeInt
    gb: NonNegativeInt = 0
    gbk: NonNegativeInt = 0
    eb: NonNegativeInt = 0
    ebk: NonNegativeInt = 0
    fs: list[NonNegativeInt]  # frames, innermost first: indices into ftbl


class Content(DhatModel):
    dhatFileVersion: int
    mode: str  # valgrind's: heap, copy, ad-hoc; of crates: rust-heap, rust-ad-hoc
    verb: str = ALLOCATED
    bklt: bool = True  # has lifetimes of blocks
    bu: str = "byte"  # unit of a block's size
    cmd: str
    pps: list[Point]
    ftbl: list[str]

    @field_validator("dhatFileVersion")
    @classmethod
    def check_version(cls, version: int) -> int:
        if version != VERSION:
            raise ValueError(f"{version} is not read; {VERSION} is, which valgrind writes from 3.17 on")
        return version

    @model_validator(mode="after")
    def check_frame_numbers(self) -> "Content":
        if any(at >= len(self.ftbl) for point in self.pps for at in point.fs):
            raise ValueError("a program point (pps) has a frame that is not in ftbl")
        if self.bklt and any(not point.model_fields_set >= LIFETIMES for point in self.pps):
            raise ValueError("a program point (pps) lacks gb, gbk, eb or ebk, though bklt is true")
        return self

    @property
    def unit(self) -> Unit:
        if self.bu != "byte":
            return "counted"
        return "requested" if self.verb == ALLOCATED else "copied"


def read_end(file: Path | str) -> LiveHeap:
    """What was live at the end.

    Raises Unreadable with a sentence when the file is not there, foreign, of another version or mode, or cut off."""
    content = parsed(read_whole(file, None, LARGEST), file)
    if not content.bklt:
        raise Unreadable(f"{file}: {describe_no_lifetimes(content)}")
    points = content.pps
    return LiveHeap(sum(point.eb for point in points), sum(point.ebk for point in points))


def read_profile(file: Path | str, progress: Progress | None = None) -> Profile:
    """Moments: of one JSON its peak and its end; of a zip the end of each member's run, and the peak of the last.

    What was allocated is that of the last. Raises Unreadable with a sentence, as read_end does."""
    points = Points()
    ends = {}
    for name, content in contents(file, progress):
        if not content.bklt:
            if name != END:
                raise Unreadable(f"{file}: {name}: {describe_no_lifetimes(content)}")
            return read_totals(file, content, points)
        ends[name] = points.moment(name, content, lambda point: LiveHeap(point.eb, point.ebk))
    peak = {PEAK: points.moment(PEAK, content, lambda point: LiveHeap(point.gb, point.gbk))}
    found = Profile("dhat", str(file), content.cmd, points.lists.stacks, peak | ends if END in ends else ends | peak)
    found.allocated, found.mode, found.unit = points.allocated(content), content.mode, content.unit
    return finished(found, points)


def read_totals(file: Path | str, content: Content, points: "Points") -> Profile:
    """What a file without lifetimes says: what was allocated, copied or counted over the run."""
    found = Profile("dhat", str(file), content.cmd, points.lists.stacks, {}, points.allocated(content))
    found.mode, found.unit, found.why_no_moments = content.mode, content.unit, describe_no_lifetimes(content)
    return finished(found, points)


def describe_no_lifetimes(content: Content) -> str:
    done = {"requested": "allocated", "copied": "copied", "counted": "counted"}[content.unit]
    return NO_LIFETIMES.format(done)


def finished(found: Profile, points: "Points") -> Profile:
    if missing := points.lists.demangle():
        found.warnings.append(missing)
    found.warnings += unresolved_stacks.unnamed_function_warnings(found) + unresolved_stacks.truncated_stack_warnings(
        found
    )
    return found


class Points:
    """Program points of all members, whose frames are joined by what they say."""

    def __init__(self) -> None:
        self.lists = CallstackLists(CallstackTree(), [])
        self.numbers: dict[str, int] = {}

    def stacks(self, content: Content) -> Iterator[tuple[int, Point]]:
        numbers = [self.number(text) for text in content.ftbl]
        return ((self.lists.stack([numbers[at] for at in point.fs]), point) for point in content.pps)

    def number(self, text: str) -> int:
        if text not in self.numbers:
            self.numbers[text] = len(self.numbers)
            self.lists.frames.append(parse_frame(text))
        return self.numbers[text]

    def moment(self, name: str, content: Content, held: Callable[[Point], LiveHeap]) -> Moment:
        live: dict[int, LiveHeap] = {}
        for stack, point in self.stacks(content):
            if (more := held(point)) != (0, 0):
                live[stack] = add_live(live.get(stack, LiveHeap(0, 0)), more)
        return Moment(name, sum_live(live).bytes, live)

    def allocated(self, content: Content) -> dict[int, AllocationTotals]:
        found: dict[int, AllocationTotals] = {}
        for stack, point in self.stacks(content):
            had = found.get(stack, AllocationTotals(0, 0, None))
            found[stack] = AllocationTotals(had.blocks + point.tbk, had.bytes + point.tb, None)
        return found


def contents(file: Path | str, progress: Progress | None) -> Iterator[tuple[str, Content]]:
    """By the name of the moment at which it ended; at least one."""
    content = read_whole(file, progress, LARGEST)
    if not content.startswith(DHAT_ZIP):
        yield END, parsed(content, file)
        return
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for member in archive.infolist():
                place = f"{file}: {member.filename}"
                if member.file_size > LARGEST:
                    raise Unreadable(f"{place}: more than {LARGEST >> 20} MiB, too large to be read at once")
                if (read := archive.read(member)).startswith(CALL_TREES):
                    raise Unreadable(describe_call_trees(file))
                yield PurePosixPath(member.filename).stem, parsed(read, place)
            if not archive.infolist():
                raise Unreadable(f"{file}: an empty zip, where one DHAT file per phase is expected")
    except Unreadable:
        raise
    except DAMAGED as error:
        raise Unreadable(f"{file}: a zip that is cut off or damaged: {error or type(error).__name__}") from None


def describe_call_trees(file: Path | str) -> str:
    """The sentence for call trees."""
    name = Path(file).name
    beside = f"{name.removesuffix(TREES)}.zst beside it" if name.endswith(TREES) else "what massif wrote itself"
    return f"{file}: call trees for KCachegrind, and no profile; the profile is {beside}"


def parsed(content: bytes, place: Path | str) -> Content:
    try:
        return Content.model_validate_json(content)
    except ValidationError as error:
        if error.errors()[0]["type"] == "json_invalid":
            raise Unreadable(f"{place}: cut off, or no DHAT file: it is not JSON") from None
        raise Unreadable(f"{place}: not as DHAT writes it: {describe_error(error)}") from None
