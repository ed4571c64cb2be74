"""Where in its module a frame is that has no name: from the addresses of a run, which differ in the next, to offsets
that do not, and that addr2line takes.

heaptrack and valgrind's tools write addresses only. Where the module's file is still there, it says where it was
loaded: a return address lies behind a call, and modules are loaded at whole pages. Few addresses leave one place only.
Another version of the file has none; then the addresses stay what they are, and are marked."""

import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tlsmem.base.paths import ROOT
from tlsmem.profile.frames import Frame
from tlsmem.profile.heap_profile import CallstackTree

Addresses = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

PAGE = 4096
MOST = 64  # addresses of a module that are looked at
EXCEPTIONS = 16  # one of so many may lie elsewhere than behind a call: a signal's, or hand-written code
CALLS = 0.05  # of all places in code, at most, that lie behind a call
CHANCE = 0.01  # at most, that another file would have had such a place too
ELF_64, LOADABLE, EXECUTABLE, X86_64, FIXED = b"\x7fELF\x02", 1, 1, 62, 2
LONGEST_CALL = 7
IN_CALL = 1  # the tools write a caller's address as this many bytes before the one to return to


class Code(NamedTuple):
    """The part of a file that is mapped to be executed."""

    start: int  # offset in the module, as addr2line takes it
    content: npt.NDArray[np.uint8]

    @property
    def end(self) -> int:
        return self.start + len(self.content)


def relate_to_modules(stacks: CallstackTree) -> None:
    """Replace the addresses of frames, in modules that have frames of which no file is known."""
    addresses: dict[str, set[int]] = defaultdict(set)
    unknown: dict[str, None] = {}
    for frame in (frame for place in stacks.places for frame in place):
        if frame.module and frame.address is not None:
            addresses[frame.module].add(frame.address)
            if frame.file is None:
                unknown[frame.module] = None
    bases = {module: find_base(module, addresses[module]) for module in unknown}
    stacks.places = [tuple(relate(frame, bases) for frame in place) for place in stacks.places]


def relate(frame: Frame, bases: dict[str, int | None]) -> Frame:
    if frame.module not in bases or frame.address is None:
        return frame
    base = bases[frame.module]
    return frame._replace(is_absolute=True) if base is None else frame._replace(address=frame.address - base)


def find_base(module: str, addresses: Iterable[int]) -> int | None:
    """The address from which offsets in the module count; None where its file does not tell."""
    try:
        codes, is_fixed = read_code(ROOT / module)
    except (OSError, ValueError, struct.error):
        return None
    some = np.array(sorted(addresses)[:: max(1, len(set(addresses)) // MOST)], dtype=np.uint64).astype(np.int64)
    some += IN_CALL
    bases = np.zeros(1, np.int64) if is_fixed else np.unique(np.concatenate([*possible_bases(codes, int(some[0]))]))
    needed = len(some) - len(some) // EXCEPTIONS
    if not is_fixed and len(bases) * CALLS**needed > CHANCE:
        return None
    behind = sum(behind_calls(codes, address - bases).astype(np.int64) for address in some)
    found = bases[behind >= needed]
    return int(found[0]) if len(found) == 1 else None


def possible_bases(codes: list[Code], address: int) -> Iterator[Addresses]:
    for code in codes:
        lowest = (address - code.end) // PAGE * PAGE
        yield np.arange(lowest, address - code.start + 1, PAGE, dtype=np.int64)


def read_code(file: Path) -> tuple[list[Code], bool]:
    """And whether it is always loaded at the same addresses. OSError; ValueError or struct.error for other files."""
    if not file.is_file():
        raise ValueError(f"{file}: no file")
    content = np.memmap(file, np.uint8, "r")
    head = content[:64].tobytes()
    kind, machine = struct.unpack_from("<HH", head, 16)
    if not head.startswith(ELF_64) or machine != X86_64:
        raise ValueError(f"{file}: no ELF file of x86-64")
    (table,), (each, count) = struct.unpack_from("<Q", head, 32), struct.unpack_from("<HH", head, 54)
    codes = []
    for at in range(table, table + each * count, each):
        entry = content[at : at + 56].tobytes()
        part, flags, offset, start, _, size = struct.unpack_from("<IIQQQQ", entry)
        if part == LOADABLE and flags & EXECUTABLE and size:
            codes.append(Code(start, content[offset : offset + size]))
    if not codes:
        raise ValueError(f"{file}: no code")
    return codes, kind == FIXED


def behind_calls(codes: list[Code], offsets: Addresses) -> Mask:
    """Which lie behind a call: of a place in the module, or through a pointer."""
    found = np.zeros(len(offsets), bool)
    for code in codes:
        here = np.flatnonzero((offsets >= code.start + LONGEST_CALL) & (offsets <= code.end))
        at = offsets[here] - code.start
        before = [np.zeros(0, np.int64), *(code.content[at - back].astype(np.int64) for back in range(1, 8))]
        distance = before[4] + (before[3] << 8) + (before[2] << 16) + (before[1] << 24)
        target = offsets[here] + np.where(distance >= 1 << 31, distance - (1 << 32), distance)
        inside = np.zeros(len(here), bool)
        for other in codes:
            inside |= (target >= other.start) & (target < other.end)
        found[here] = (before[5] == 0xE8) & inside | is_indirect(before)
    return found


def is_indirect(before: list[Addresses]) -> Mask:
    """`FF /2`, with what stands for the place of the pointer: `before[n]` is the byte n before the end of the call."""
    found = np.zeros(len(before[1]), bool)
    for length, mode, has_scale in ((2, 3, False), (2, 0, False), (3, 0, True), (3, 1, False), (4, 1, True),
                                    (6, 2, False), (7, 2, True), (6, 0, None)):  # fmt: skip
        operand = before[length - 1]
        register = operand & 7
        fits = (before[length] == 0xFF) & (operand >> 3 & 7 == 2) & (operand >> 6 == mode)
        if has_scale is None:  # from the place of the instruction
            fits &= register == 5
        elif mode != 3:
            fits &= (register == 4) == has_scale
        found |= fits
    return found
