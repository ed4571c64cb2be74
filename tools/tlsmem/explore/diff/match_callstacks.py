"""Joins the call stacks of two profiles: by all that is known of their frames first, then by less and less of it.

Two tools differ in what they know of a frame. massif and DHAT tell the names of files without their directories, and
short names of functions that were inlined; some tools know no inlined functions at all.

Stacks of one side that share a key are one site. Once lines have moved, two calls of one function cannot be told apart,
so their sum is compared, which is never wrong."""

import posixpath
import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from typing import Literal, NamedTuple, get_args

from tlsmem.explore import short_function_names
from tlsmem.profile.frames import Frame, entrance_owner, skip_allocators, skip_containers
from tlsmem.profile.heap_profile import LiveHeap

Stage = Literal[
    "name, file and line",
    "name and file",
    "name",
    "short name, not inlined",
    "3 innermost callers",
    "no call stack",
    "module only",
    "not joined",
]
STAGES: tuple[Stage, ...] = get_args(Stage)  # from the best to the worst
INNERMOST_CALLERS = 3
BY_OFFSET: tuple[Stage, ...] = STAGES[:2]  # a frame without a name is compared by its place in the module

# What differs between versions and compilers: versions of packages, hashes by rustc, suffixes of clones.
PACKAGE = re.compile(r"-v?\d+\.\d[^/]*(?=/|$)")
OF_VERSION = re.compile(r"\b([a-z]+(?:_[a-z]+)*)_\d+_\d+_\d+_+")  # aws_lc_0_47_0_EVP_PKEY_keygen
HASH = re.compile(r"::h[0-9a-f]{16}$|\[[0-9a-f]{8,16}\]")
CLONE = re.compile(r"(?:\.(?:isra|part|constprop|cold|lto_priv|llvm)(?:\.\d+)*)+$")
CLOSURE = re.compile(r"\{+closure(?:#\d+)?\}+")
STACK_VERSION = re.compile(r"@[^/]*$")  # of a harness: build/harness/openssl@3.5.5

LiveCallstack = tuple[tuple[Frame, ...], LiveHeap]  # frames innermost first
Key = Callable[[Sequence[Frame]], Hashable]  # call stacks with equal keys are one site


class MatchedSite(NamedTuple):
    """The stacks of one site. One side may be empty."""

    stage: Stage
    old: list[LiveCallstack]
    new: list[LiveCallstack]


def join(
    old: Iterable[LiveCallstack], new: Iterable[LiveCallstack], keys: Mapping[Stage, Key]
) -> Iterator[MatchedSite]:
    """Sites of both sides; each stack is in one of them. All stacks are of one owner.

    `keys`: by what stacks are joined, stage by stage; OF_TWO_BUILDS, OF_TWO_TOOLS, or OF_ONE_PROFILE."""
    left, right = list(old), list(new)
    for stage, key in keys.items():
        ours, theirs = group_by_key(left, key), group_by_key(right, key)
        for shared in (at for at in ours if at in theirs):  # a set would have another order in every process
            yield MatchedSite(worsen_stage(stage, [*ours[shared], *theirs[shared]]), ours[shared], theirs[shared])
        left = [stack for at, stacks in ours.items() if at not in theirs for stack in stacks]
        right = [stack for at, stacks in theirs.items() if at not in ours for stack in stacks]
    yield from (MatchedSite("not joined", stacks, []) for stacks in group_by_key(left, name_key).values())
    yield from (MatchedSite("not joined", [], stacks) for stacks in group_by_key(right, name_key).values())


def group_by_key(stacks: Iterable[LiveCallstack], key: Key) -> dict[Hashable, list[LiveCallstack]]:
    groups = defaultdict(list)
    for frames, held in stacks:
        groups[key(frames_from_driver(frames))].append((frames, held))
    return groups


def worsen_stage(stage: Stage, stacks: Iterable[LiveCallstack]) -> Stage:
    """The stage, or a worse one: a frame without a name was compared by its module alone, but in the first stage."""
    inner = [frames_from_driver(frames) for frames, _ in stacks]
    if not all(inner):
        return "no call stack"
    if any(not is_placed(frame, stage) for frames in inner for frame in frames):
        return "module only"
    return stage


def is_placed(frame: Frame, stage: Stage) -> bool:
    """Whether the stage compares more of it than its module."""
    return frame.function is not None or (stage in BY_OFFSET and offset(frame) is not None)


def offset(frame: Frame) -> int | None:
    """Of a frame without a name: where it is in its module, if that is known."""
    return None if frame.function or frame.is_absolute else frame.address


def frames_from_driver(frames: Sequence[Frame]) -> Sequence[Frame]:
    """The frames inside the driver's entrance, with it, or inside main: those outside are the same for all, or the
    compiler's."""
    for outermost in (entrance_owner, is_main):
        for at in range(len(frames), 0, -1):
            if outermost(frames[at - 1]):
                return frames[:at]
    return frames


def is_main(frame: Frame) -> bool:
    return frame.function == "main"


@cache
def versionless_name(frame: Frame) -> str:
    """The function's name without versions and hashes; of a frame without a name, its module's."""
    if frame.function is None:
        return f"[{STACK_VERSION.sub('', posixpath.basename(frame.module or '?'))}]"
    plain = CLONE.sub("", HASH.sub("", frame.function))
    return CLOSURE.sub("{closure}", OF_VERSION.sub(r"\1_", plain))


@cache
def versionless_file(frame: Frame) -> str | None:
    """The file without the versions of packages in its path."""
    return PACKAGE.sub("", frame.file) if frame.function and frame.file else None


@cache
def place_key(frame: Frame) -> tuple[str, str | None, int | None]:
    return versionless_name(frame), versionless_file(frame), frame.line if frame.function else offset(frame)


def line_key(frames: Sequence[Frame]) -> Hashable:
    return tuple(map(place_key, frames))


def file_key(frames: Sequence[Frame]) -> Hashable:
    return tuple((versionless_name(frame), versionless_file(frame), offset(frame)) for frame in frames)


def name_key(frames: Sequence[Frame]) -> Hashable:
    """Names of functions, without those of allocators: Rust's differ between compilers."""
    return tuple(map(versionless_name, skip_allocators(frames)))


def short_key(frames: Sequence[Frame]) -> Hashable:
    """Short names of the functions that are not inlined, without allocators."""
    places = (list(same) for _, same in groupby(skip_allocators(frames), key=lambda one: (one.module, one.address)))
    outermost = (frame for same in places for frame in (same[-1:] if same[0].address is not None else same))
    return tuple(short_function_names.short(versionless_name(frame)) for frame in outermost)


def innermost_key(frames: Sequence[Frame]) -> Hashable:
    """The names of a call site: those that people read of it."""
    return tuple(map(versionless_name, skip_containers(frames)[:INNERMOST_CALLERS]))


def drop_directories(key: Key) -> Key:
    """The key with files by their names alone."""
    return lambda frames: key([drop_directory(frame) for frame in frames])


@cache
def drop_directory(frame: Frame) -> Frame:
    return frame._replace(file=frame.file and posixpath.basename(frame.file))


OF_TWO_BUILDS: dict[Stage, Key] = {
    "name, file and line": line_key,
    "name and file": file_key,
    "name": name_key,
    "3 innermost callers": innermost_key,
}
OF_TWO_TOOLS: dict[Stage, Key] = {
    "name, file and line": drop_directories(line_key),
    "name and file": drop_directories(file_key),
    "name": name_key,
    "short name, not inlined": short_key,
    "3 innermost callers": innermost_key,
}
OF_ONE_PROFILE: dict[Stage, Key] = {"name, file and line": line_key}  # lines do not move
