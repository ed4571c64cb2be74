"""Names for addresses of a run, where a profile has the memory map of the process but no names: what gperftools,
jemalloc and C++ programs that write pprof's files tell.

An address becomes an offset in its module: the one that addr2line takes, where the module's file is there. It becomes a
name only where that file has a symbol that covers it, by its size, and where its code is that of the run: each address
lies in a call. The nearest symbol before an address is of another function as often as not."""

import re
import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tlsmem.base.errors import UserError
from tlsmem.base.paths import ROOT
from tlsmem.profile import module_offsets
from tlsmem.profile.demangle import normalise_name
from tlsmem.profile.frames import Frame
from tlsmem.run import symbolizer

MAP_LINE = re.compile(r"\s*([0-9a-f]{1,16})-([0-9a-f]{1,16}) \S+ +([0-9a-f]{1,16}) +\S+ +\d+ +(/.*?)\s*", re.ASCII)
GONE = " (deleted)"  # what Linux puts behind the name of a file that was replaced while it ran
ELF_64, LOADABLE, LARGEST_TABLE = b"\x7fELF\x02\x01", 1, 1 << 16
HIGHEST = 1 << 62  # of an address in a file


class MappedRange(NamedTuple):
    """A part of a file, as it was mapped: addresses from `start` to before `limit` are at `offset` and on in it."""

    start: int
    limit: int
    offset: int
    file: str


class Segment(NamedTuple):
    """A part of a file that the loader maps: `size` bytes at `offset`, for addresses from `start` on."""

    offset: int
    start: int
    size: int


def parse_memory_map(lines: Iterable[str]) -> Iterator[MappedRange]:
    """Yield the files in lines of /proc/PID/maps; other lines are passed over."""
    for line in lines:
        if told := MAP_LINE.fullmatch(line):
            start, limit, offset = (int(one, 16) for one in told.groups()[:3])
            yield MappedRange(start, limit, offset, told[4])


def find_frames(calls: Iterable[int], ranges: Sequence[MappedRange]) -> tuple[dict[int, tuple[Frame, ...]], list[str]]:
    """Return the frames at each address, innermost first, and sentences on modules that have changed since.

    `calls` are addresses within call instructions: those to which the calls return, minus one."""
    found: dict[int, tuple[Frame, ...]] = {}
    by_module: dict[str, dict[int, int]] = defaultdict(dict)  # addresses in the file, by those of the run
    ordered = sorted(ranges)
    starts = np.array([one.start for one in ordered], dtype=np.uint64)
    for call in set(calls):
        at = int(np.searchsorted(starts, np.uint64(call), side="right")) - 1
        if at >= 0 and call < ordered[at].limit:
            mapped = ordered[at]
            by_module[mapped.file.removesuffix(GONE)][call] = call - mapped.start + mapped.offset
        else:
            found[call] = (Frame(None, None, None, None, call, is_absolute=True),)
    warnings = []
    for module, offsets in by_module.items():
        frames, warning = name_module(module, offsets)
        found |= frames
        warnings += [warning] if warning else []
    return found, warnings


def name_module(module: str, offsets: dict[int, int]) -> tuple[dict[int, tuple[Frame, ...]], str | None]:
    """Return the frames at the addresses of one module, of which the bytes in its file are known."""
    file = ROOT / module
    try:
        addresses = file_addresses(offsets, read_segments(file))
    except (OSError, ValueError, struct.error):
        return unnamed(module, offsets), None
    if not lie_in_calls(file, addresses.values()):
        why = f"no names for functions in {module}: its file is another one than when the profile was taken"
        return unnamed(module, offsets), why
    calls = sorted(set(addresses.values()))
    try:
        places = dict(zip(calls, symbolizer.ask(file, [one + 1 for one in calls]), strict=True))
    except (UserError, ValueError, IndexError) as error:
        return unnamed(module, addresses), f"no names for functions in {module}: {error}"
    return {
        call: tuple(
            Frame(function and normalise_name(function), source, line, module, address)
            for function, source, line in places[address]
        )
        for call, address in addresses.items()
    }, None


def unnamed(module: str, offsets: dict[int, int]) -> dict[int, tuple[Frame, ...]]:
    return {call: (Frame(None, None, None, module, offset),) for call, offset in offsets.items()}


def read_segments(file: Path) -> list[Segment]:
    """Return the parts of an ELF file of 64 bits. Raises OSError; ValueError or struct.error for any other file."""
    if not file.is_file():
        raise ValueError(f"{file}: no file")
    with open(file, "rb") as elf:
        head = elf.read(64)
        if not head.startswith(ELF_64):
            raise ValueError(f"{file}: no ELF file of 64 bits")
        (table,), (each, count) = struct.unpack_from("<Q", head, 32), struct.unpack_from("<HH", head, 54)
        elf.seek(table)
        content = elf.read(min(each * count, LARGEST_TABLE))
    found = []
    for at in range(0, len(content), each or LARGEST_TABLE):
        kind, _, offset, start, _, size = struct.unpack_from("<IIQQQQ", content, at)
        if kind == LOADABLE:
            found.append(Segment(offset, start, size))
    return found


def file_addresses(offsets: dict[int, int], segments: Sequence[Segment]) -> dict[int, int]:
    """Return the addresses that addr2line takes, for bytes of the file. Raises ValueError for a byte of no segment."""
    found = {}
    for call, offset in offsets.items():
        inside = [one for one in segments if one.offset <= offset < one.offset + one.size]
        address = offset - inside[0].offset + inside[0].start if inside else HIGHEST
        if address >= HIGHEST:
            raise ValueError(f"byte {offset:#x} is not mapped")
        found[call] = address
    return found


def lie_in_calls(file: Path, addresses: Iterable[int]) -> bool:
    """Return whether code calls something at these addresses, but for few; True for code of another CPU."""
    try:
        codes, _ = module_offsets.read_code(file)
    except (OSError, ValueError, struct.error):
        return True
    behind = np.array(sorted(set(addresses)), dtype=np.int64) + module_offsets.IN_CALL
    needed = len(behind) - len(behind) // module_offsets.EXCEPTIONS
    return int(module_offsets.behind_calls(codes, behind).sum()) >= needed
