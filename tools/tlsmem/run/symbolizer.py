"""Names for the call stacks of a sites run: functions, files and lines, from the modules' own debug information."""

import os
import re
import subprocess
from bisect import bisect_right
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from tlsmem.base.errors import UserError
from tlsmem.base.source_paths import shorten_path
from tlsmem.schema.harness_output import StackLine
from tlsmem.schema.records import RecordedCallstacks, RecordedFrame

ADDR2LINE = ["addr2line", "--functions", "--demangle", "--inlines", "--addresses"]
NM = ["nm", "--defined-only", "--print-size"]
FUNCTION = re.compile(r"^([0-9a-f]+) ([0-9a-f]+) [TtWwi] ", re.MULTILINE)  # its address and size
ADDRESS = re.compile(r"0x[0-9a-f]+")
DISCRIMINATOR = re.compile(r" \(discriminator \d+\)$")
LIMIT_S = 120
OUTERMOST = "main"  # what called it is the C library's, and the same for all

Address = tuple[str, int]  # module, offset in its ELF file
Place = tuple[str | None, str | None, int | None]  # function, file, line; None: unknown
UNKNOWN: Place = (None, None, None)


def resolve_stacks(lines: list[StackLine], root: Path) -> RecordedCallstacks:
    """The stacks with names; an inlined function is a frame of its own, before the one that it was inlined into.

    Paths of modules are relative to `root`. A module without debug information has names for what it exports only.
    Raises UserError when addr2line is missing."""
    stacks = [[parse(frame) for frame in line.frames] for line in lines]
    places = names({address for stack in stacks for address in stack}, root)
    numbers: dict[RecordedFrame, int] = {}
    named = [frames(stack, places) for stack in stacks]
    indices = [[numbers.setdefault(frame, len(numbers)) for frame in stack] for stack in named]
    return RecordedCallstacks(frames=list(numbers), stacks=indices)


def parse(frame: str) -> Address:
    """MODULE+0xOFFSET, where MODULE may hold a plus itself."""
    module, _, offset = frame.rpartition("+")
    return module, int(offset, 16)


def frames(stack: list[Address], places: dict[Address, list[Place]]) -> list[RecordedFrame]:
    """Innermost first, up to main, if that is known."""
    found = [
        RecordedFrame(function=function, file=file, line=line, module=module, offset=offset)
        for module, offset in stack
        for function, file, line in places.get((module, offset), [UNKNOWN])
    ]
    mains = [index for index, frame in enumerate(found) if frame.function == OUTERMOST]
    return found[: mains[-1] + 1] if mains else found


def names(addresses: set[Address], root: Path) -> dict[Address, list[Place]]:
    """By address what addr2line says of the call before it: addresses are those to which a call returns."""
    modules: dict[str, list[int]] = {}
    for module, offset in sorted(addresses):
        modules.setdefault(module, []).append(offset)
    return {
        (module, offset): places
        for module, offsets in modules.items()
        if (root / module).is_file()
        for offset, places in zip(offsets, ask(root / module, offsets), strict=True)
    }


def ask(module: Path, offsets: list[int]) -> list[list[Place]]:
    """Per offset one place for each function, innermost first; one batch: reading the module takes longest."""
    with open(os.memfd_create("calls"), "w+") as calls:  # no pipe: a tool that breaks it would end its caller
        calls.writelines(f"{offset - 1:#x}\n" for offset in offsets)
        calls.seek(0)
        output = run_tool([*ADDR2LINE, "--exe", module], calls)
    if output is None:  # no ELF file that it knows
        return [[UNKNOWN] for _ in offsets]
    found = parse_addr2line(output.splitlines())
    guessed = [number for number, places in enumerate(found) if places[-1][0] and not places[-1][1]]
    starts, ends = exported(module) if guessed else ([], [])
    for number in guessed:
        nearest = bisect_right(starts, offsets[number] - 1)
        if starts and (nearest == 0 or offsets[number] > ends[nearest - 1]):
            found[number] = [UNKNOWN]
    return found


def exported(module: Path) -> tuple[list[int], list[int]]:
    """Where the functions of a stripped library begin and end, in order: of a call in any other addr2line tells the one
    before it. None of a module that has all its symbols."""
    if run_tool([*NM, module]):
        return [], []
    spans: dict[int, int] = {}
    for start, size in FUNCTION.findall(run_tool([*NM, "--dynamic", module]) or ""):
        spans[int(start, 16)] = max(spans.get(int(start, 16), 0), int(start, 16) + int(size, 16))
    starts = sorted(spans)
    return starts, [spans[start] for start in starts]


def run_tool(command: list[str | Path], given: IO[str] | int = subprocess.DEVNULL) -> str | None:
    """What a tool of binutils prints; None when it cannot read the module. Raises UserError when there is none."""
    try:
        done = subprocess.run(command, stdin=given, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except FileNotFoundError:
        raise UserError(f"no {command[0]}, which names the frames of a call stack: apt install binutils") from None
    except subprocess.TimeoutExpired:
        raise UserError(f"{command[0]} did not read {command[-1]} within {LIMIT_S} s") from None
    return done.stdout if done.returncode == 0 else None


def parse_addr2line(output: Iterable[str]) -> list[list[Place]]:
    """Blocks that begin with an address, of pairs of lines: function, and file:line."""
    found: list[list[Place]] = []
    function = None
    for line in output:
        if ADDRESS.fullmatch(line):
            found.append([])
        elif function is None:
            function = line
        else:
            found[-1].append(place(function, line))
            function = None
    return found


def place(function: str, where: str) -> Place:
    """addr2line writes ?? for a name, a file or a line that it does not know, and 0 for such a line too."""
    file, _, line = DISCRIMINATOR.sub("", where).rpartition(":")
    number = int(line) if line.isdigit() else 0
    return known_or_none(function), known_or_none(file) and shorten_path(file), number or None


def known_or_none(name: str) -> str | None:
    return None if name in ("??", "") else name
