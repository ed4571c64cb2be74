"""Call stacks as profile files hold them: lists of frames by number, and valgrind's lines of frames."""

import re
from collections.abc import Sequence
from itertools import groupby

from tlsmem.base.source_paths import shorten_path
from tlsmem.profile.demangle import demangle_names
from tlsmem.profile.frames import Frame
from tlsmem.profile.heap_profile import CallstackTree

Address = tuple[int] | tuple[str | None, int]  # the number of a frame without one; or the module and the address


class CallstackLists:
    """`frames` may grow while stacks are added."""

    def __init__(self, stacks: CallstackTree, frames: list[Frame]) -> None:
        self.stacks, self.frames = stacks, frames
        self.addresses: list[Address] = []  # of the frames
        self.places: dict[tuple[int, ...], int] = {}  # by their frames, the outermost first
        self.known: dict[tuple[int, ...], int] = {}

    def stack(self, numbers: Sequence[int]) -> int:
        """Of frames, innermost first; the same each time, and 0 without any."""
        key = tuple(numbers)
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = self.add(key)
        return found

    def add(self, numbers: tuple[int, ...]) -> int:
        self.addresses += map(address, range(len(self.addresses), len(self.frames)), self.frames[len(self.addresses) :])
        stack, places, stacks = 0, self.places, self.stacks
        for _, same in groupby(reversed(numbers), key=self.addresses.__getitem__):
            frames = tuple(same)
            place = places.get(frames)
            stack = stacks.add(self.place(frames) if place is None else place, stack)
        return stack

    def place(self, outermost_first: tuple[int, ...]) -> int:
        frames = tuple(self.frames[number] for number in reversed(outermost_first))
        found = self.places[outermost_first] = self.stacks.place(frames)
        return found

    def demangle(self) -> str | None:
        """When all stacks are known: every name once. A sentence when that is not possible."""
        return demangle_places(self.stacks)


def demangle_places(stacks: CallstackTree) -> str | None:
    """Demangle each name once. Return a sentence when that is not possible."""
    places = stacks.places
    names, missing = demangle_names(frame.function for frames in places for frame in frames if frame.function)
    places[:] = [tuple(renamed(frame, names) for frame in frames) for frames in places]
    return missing


def address(number: int, frame: Frame) -> Address:
    """Frames in a row with the same address are a function and those that were inlined there."""
    return (number,) if frame.address is None else (frame.module, frame.address)


def renamed(frame: Frame, names: dict[str, str]) -> Frame:
    return frame._replace(function=names[frame.function]) if frame.function else frame


FRAME = re.compile(r"0x([0-9A-Fa-f]{1,16}): (.*?)(?: \(in (.+)\)| \(([^()]+)\))?")
LINE = re.compile(r"(.+?):([1-9]\d{0,8})(?::\d+)?", re.ASCII)  # with a column, as the crate dhat writes
UNNAMED = "???"
NOWHERE = "???:0:0"  # where the crate dhat knows no file


def parse_frame(text: str) -> Frame:
    """What has not this form is a function's name."""
    found = FRAME.fullmatch(text)
    if not found:
        return Frame(text, None, None, None, None)
    address, function, module, where = found.groups()
    where = None if where == NOWHERE else where
    numbered = LINE.fullmatch(where or "")
    file, line = (numbered[1], int(numbered[2])) if numbered else (where, None)
    known = function if function not in (UNNAMED, "") else None
    return Frame(known, file and shorten_path(file), line, module, int(address, 16))
