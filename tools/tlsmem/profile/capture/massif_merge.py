"""One massif file out of several of one run: a snapshot of each phase, and the peak of the whole run in its place."""

from io import BufferedIOBase
from pathlib import Path
from typing import NamedTuple

from tlsmem.profile.capture.portable_paths import make_portable
from tlsmem.profile.errors import Unreadable
from tlsmem.profile.massif_reader import HEADER, RULE, MassifReader

OUT_FILE = b" --massif-out-file="


class Part(NamedTuple):
    """A snapshot as it is written, from the rule below its number on."""

    time: int
    kind: str
    lines: list[bytes]


def merge_snapshots(whole: Path, phases: list[Path], to: BufferedIOBase, root: Path) -> None:
    """Into `to`: the header of `whole`, all snapshots of `phases` and the peak of `whole`, numbered in order of time.

    Places below `root` are written relative to it. Raises Unreadable with a sentence when a part is not as massif
    writes it."""
    header, snapshots = read(whole)
    peak = next((part for part in snapshots if part.kind == "peak"), None)
    if peak is None:
        raise Unreadable(f"{whole}: massif wrote no snapshot of the peak")
    desc, *others = header
    write(to, [desc.partition(OUT_FILE)[0], *others], root)
    for number, part in enumerate(sorted([peak, *map(only, phases)], key=lambda part: part.time)):
        write(to, [RULE, b"snapshot=%d" % number, *part.lines], root)


def only(file: Path) -> Part:
    found = read(file)[1]
    if len(found) != 1:
        raise Unreadable(f"{file}: one snapshot is expected, and there are {len(found)}")
    return found[0]


def read(file: Path) -> tuple[list[bytes], list[Part]]:
    """The lines of the header, and the snapshots. Raises Unreadable with a sentence, as merge_snapshots does."""
    reader, found, begin = MassifReader(file), [], len(HEADER)
    lines = reader.lines.keep()
    for snapshot in reader.snapshots():
        found.append(Part(snapshot.time, snapshot.kind, lines[begin + 2 :]))
        begin = len(lines)
    return lines[: len(HEADER)], found


def write(to: BufferedIOBase, lines: list[bytes], root: Path) -> None:
    to.write(make_portable(b"".join(line + b"\n" for line in lines), root))
