"""A heap profile as pprof's file, for `go tool pprof` and all that reads its form.

A sample is a call stack at a moment, with the labels `phase`, `role` and `stack`. pprof adds up all samples that it is
not told to leave out, so `-tagfocus='phase=^peak$'` shows one moment."""

import gzip
import io
import shlex
from collections.abc import Iterator, Sequence

from tlsmem.base.printable import printable_text
from tlsmem.explore import profile_selection
from tlsmem.explore.folded_stacks import NO_CALLSTACK, frame_label
from tlsmem.explore.profile_selection import Pattern
from tlsmem.profile.frames import Frame
from tlsmem.profile.heap_profile import PEAK, LiveHeap, Profile, describe_unit
from tlsmem.profile.pprof_message import (
    Function,
    Label,
    Line,
    Location,
    Mapping,
    Message,
    Sample,
    ValueType,
    encode,
)
from tlsmem.profile.pprof_reader import OWN, PHASE
from tlsmem.schema.roles import Owner

ALLOCATED = (ValueType("alloc_objects", "count"), ValueType("alloc_space", "bytes"))
BLOCKS, BYTES = ValueType("inuse_objects", "count"), ValueType("inuse_space", "bytes")


def pack(profile: Profile, only: str | None = None, owner: Owner | None = None, pattern: Pattern = None) -> bytes:
    """Return the file, of every moment or of one; the same profile gives the same bytes. What was allocated over the
    run, where that is known, is in samples without a `phase`.

    Raises PatternNotFound with a sentence when the pattern finds nothing at any moment."""
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=0) as content:
        content.write(encode(build_message(profile, only, owner, pattern)))
    return packed.getvalue()


def build_message(profile: Profile, only: str | None, owner: Owner | None, pattern: Pattern) -> Message:
    """Return the message. Raises as `pack` does."""
    live, totals = profile_selection.choose(profile, only, owner, pattern)
    has_blocks = all(held.blocks is not None for by_stack in live.values() for held in by_stack.values())
    places = Places(profile)
    before = (0, 0) if profile.allocated is not None else ()
    after = (0, 0)[not has_blocks :]
    samples = [
        Sample(places.locations(stack), (*before, *values(held, has_blocks)), labels(profile, stack, name))
        for name, by_stack in live.items()
        for stack, held in by_stack.items()
        if held.bytes or held.blocks
    ]
    samples += [
        Sample(places.locations(stack), (one.blocks, one.bytes, *after), labels(profile, stack))
        for stack, one in totals.items()
    ]
    types = (*ALLOCATED[: len(before)], *(BLOCKS, BYTES)[not has_blocks :])
    return Message(
        types,
        tuple(samples),
        tuple(places.mappings.values()),
        tuple(places.made.values()),
        tuple(places.functions.values()),
        duration_ns=round((profile.runtime_s or 0) * 1e9),
        period_type=ValueType("space", "bytes") if profile.sampled_every_bytes else ValueType(),
        period=profile.sampled_every_bytes or 0,
        comments=tuple(describe(profile, [*live])),
        default_sample_type=BYTES.type,
    )


def describe(profile: Profile, names: Sequence[str]) -> Iterator[str]:
    """Yield what `go tool pprof -comments` shows."""
    yield f"{OWN}{printable_text(profile.file)}, by {profile.tool}: {describe_unit(profile)}"
    if len(names) > 1:
        yield f"Samples of {len(names)} moments: {printable_text(', '.join(names))}. {printable_text(advise(names))}."


def advise(names: Sequence[str]) -> str:
    """Return how pprof shows one of several moments, which it would add up."""
    shown = PEAK if PEAK in names else names[0]
    return f"pprof adds them up; -tagfocus='phase=^{shown}$' shows one"


def values(held: LiveHeap, has_blocks: bool) -> tuple[int, ...]:
    """Return the values of what is live."""
    return (held.blocks or 0, held.bytes)[not has_blocks :]


def labels(profile: Profile, stack: int, phase: str | None = None) -> tuple[Label, ...]:
    """Return the labels of a call stack at the end of a phase; a program without roles has none for these."""
    found = {PHASE: phase}
    if profile.run or profile_selection.has_roles(profile):
        found["role"] = profile.stacks.owner(stack)
    if profile.run:
        found["stack"] = profile.run.stack
    return tuple(Label(key, printable_text(text)) for key, text in found.items() if text)


class Places:
    """Numbers locations, functions and mappings as they are met; mapping 1 is the program, for which pprof takes it."""

    def __init__(self, profile: Profile) -> None:
        self.stacks = profile.stacks
        self.made: dict[object, Location] = {}
        self.functions: dict[tuple[str, str], Function] = {}
        self.mappings: dict[str, Mapping] = {}
        self.numbers: dict[int, int] = {}  # of locations, by place
        self.mapping(find_program(profile))

    def locations(self, stack: int) -> tuple[int, ...]:
        """Return the numbers of the locations of a call stack, innermost first."""
        if not stack:
            return (self.location((Frame(NO_CALLSTACK, None, None, None, None),)),)
        return tuple(self.place(one) for one in self.stacks.walk(stack) if self.stacks.places[one])

    def place(self, number: int) -> int:
        if number not in self.numbers:
            self.numbers[number] = self.location(self.stacks.places[number])
        return self.numbers[number]

    def location(self, frames: tuple[Frame, ...]) -> int:
        """Return the number of the location of these frames, of which all but the last are inlined."""
        if frames not in self.made:
            outer = frames[-1]
            mapping = self.mapping(outer.module) if outer.module else 0
            lines = tuple(Line(self.function(one), one.line or 0) for one in frames)
            self.made[frames] = Location(len(self.made) + 1, mapping, outer.address or 0, lines)
        return self.made[frames].id

    def function(self, frame: Frame) -> int:
        name = printable_text(frame.function) if frame.function else frame_label(frame)
        key = name, printable_text(frame.file or "")
        if key not in self.functions:
            self.functions[key] = Function(len(self.functions) + 1, name, file=key[1])
        return self.functions[key].id

    def mapping(self, file: str) -> int:
        if file not in self.mappings:
            number = len(self.mappings) + 1
            self.mappings[file] = Mapping(
                number,
                file=printable_text(file),
                has_functions=True,  # else pprof asks for symbols
                has_files=True,
                has_lines=True,
                has_inlined=True,
            )
        return self.mappings[file].id


def find_program(profile: Profile) -> str:
    """Return the module that is the program: the one of the command's name, as frames have it; else that name."""
    try:
        word = (shlex.split(profile.command) or ["program"])[0]
    except ValueError:  # a quote that does not end
        word = profile.command.split()[0]
    modules = {frame.module for place in profile.stacks.places for frame in place if frame.module}
    same = sorted(one for one in modules if one == word or one.rpartition("/")[2] == word.rpartition("/")[2])
    return same[0] if same and word not in same else word
