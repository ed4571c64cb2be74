"""Reads DHAT's files (version 2 of their form), and zips of them, one per phase: PHASE.json."""

import io
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Literal

from pydantic import BaseModel, ConfigDict, NonNegativeInt, ValidationError, model_validator

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
    add_live,
    sum_live,
)
from tlsmem.schema.harness_output import describe_error

TREES = ".xtree.zip"
DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError, lzma.LZMAError)


class DhatModel(BaseModel):
    """Strict, but with whatever else a newer valgrind may tell."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


class Point(DhatModel):
    """Bytes and blocks of one call stack: in total, at the peak of the whole heap (t-gmax), and at the end."""

    tb: NonNegativeInt
    tbk: NonNegativeInt
    gb: NonNegativeInt
    gbk: NonNegativeInt
    eb: NonNegativeInt
    ebk: NonNegativeInt
    fs: list[NonNegativeInt]  # frames, innermost first: indices into ftbl


class Content(DhatModel):
    dhatFileVersion: Literal[2]
    mode: Literal["heap", "rust-heap"]  # the latter is that of the crate dhat
    cmd: str
    pps: list[Point]
    ftbl: list[str]

    @model_validator(mode="after")
    def check_frame_numbers(self) -> "Content":
        if any(at >= len(self.ftbl) for point in self.pps for at in point.fs):
            raise ValueError("a program point (pps) has a frame that is not in ftbl")
        return self


def read_end(file: Path | str) -> LiveHeap:
    """What was live at the end.

    Raises Unreadable with a sentence when the file is not there, foreign, of another version or mode, or cut off."""
    points = parsed(read_whole(file, None, LARGEST), file).pps
    return LiveHeap(sum(point.eb for point in points), sum(point.ebk for point in points))


def read_profile(file: Path | str, progress: Progress | None = None) -> Profile:
    """Moments: of one JSON its peak and its end; of a zip the end of each member's run, and the peak of the last.

    What was allocated is that of the last. Raises Unreadable with a sentence, as read_end does."""
    points = Points()
    ends = {}
    for name, content in contents(file, progress):
        ends[name] = points.moment(name, content, lambda point: LiveHeap(point.eb, point.ebk))
    peak = {PEAK: points.moment(PEAK, content, lambda point: LiveHeap(point.gb, point.gbk))}
    found = Profile("dhat", str(file), content.cmd, points.lists.stacks, peak | ends if END in ends else ends | peak)
    found.allocated = points.allocated(content)
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
        raise Unreadable(f"{place}: no DHAT file of version 2 in mode heap: {describe_error(error)}") from None
