"""One massif file out of several of one run: a snapshot of each phase, and the peak of the whole run in its place."""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from capture.portable import portable
from profiles.unreadable import Unreadable

RULE = b"#-----------\n"
OUT_FILE = b" --massif-out-file="


def join(whole: Path, phases: list[Path], to: BinaryIO, root: Path) -> None:
    """Into `to`: the header of `whole`, all snapshots of `phases` and the peak of `whole`, numbered in order of time.

    Places below `root` are written relative to it. Unreadable, with a sentence, when a part is not as massif writes it.
    """
    for line in header(whole):
        kept = line.partition(OUT_FILE)[0].rstrip(b"\n") + b"\n" if line.startswith(b"desc:") else line
        to.write(portable(kept, root))
    peak = next((lines for lines in snapshots(whole) if kind(lines) == b"peak"), None)
    if peak is None:
        raise Unreadable(f"{whole}: massif wrote no snapshot of the peak")
    number = 0
    for file in phases:
        found = 0
        for lines in snapshots(file):
            if peak and time(peak) <= time(lines):
                number, peak = write(to, peak, number, root), None
            number, found = write(to, lines, number, root), found + 1
        if found != 1:
            raise Unreadable(f"{file}: one snapshot is expected, and there are {found}")
    if peak:
        write(to, peak, number, root)


def header(file: Path) -> list[bytes]:
    with file.open("rb") as lines:
        found = [next(lines, b"") for _ in range(3)]
    if [line.partition(b":")[0] for line in found] != [b"desc", b"cmd", b"time_unit"]:
        raise Unreadable(f"{file}: it does not begin as massif's files do")
    return found


def snapshots(file: Path) -> Iterator[list[bytes]]:
    """The lines of each, but the first three: its number between two rules."""
    header(file)
    with file.open("rb") as lines:
        found: list[bytes] | None = None
        for line in lines:
            if line == RULE and found != []:  # before the number; the one after it follows an empty list
                if found:
                    yield found
                if not next(lines, b"").startswith(b"snapshot="):
                    raise Unreadable(f"{file}: a snapshot without a number")
                found = []
            elif found is not None and line != RULE:
                found.append(line)
        if found:
            if not found[-1].endswith(b"\n"):
                raise Unreadable(f"{file}: cut off")
            yield found


def field(lines: list[bytes], name: bytes) -> bytes:
    value = next((line for line in lines[:5] if line.startswith(name + b"=")), None)
    if value is None:
        raise Unreadable(f"a snapshot of massif without {name.decode()}")
    return value.partition(b"=")[2].strip()


def kind(lines: list[bytes]) -> bytes:
    return field(lines, b"heap_tree")


def time(lines: list[bytes]) -> int:
    return int(field(lines, b"time"))


def write(to: BinaryIO, lines: list[bytes], number: int, root: Path) -> int:
    """The number of the next snapshot."""
    to.write(RULE + b"snapshot=%d\n" % number + RULE + portable(b"".join(lines), root))
    return number + 1
