"""Reads massif's files, those of a whole run and those of one snapshot that `detailed_snapshot FILE` asked for."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from unreadable import Unreadable

HEADER = ("desc", "cmd", "time_unit")
NUMBERS = ("time", "mem_heap_B", "mem_heap_extra_B", "mem_stacks_B")
KINDS = ("empty", "detailed", "peak")
DEEPEST = 500  # levels of a tree: massif's own --depth ends at 200, and inlined functions are levels too
NUMBER = re.compile(r"[0-9]{1,20}")  # of 64 bits, as massif's are
NODE = re.compile(rf"n({NUMBER.pattern}): ({NUMBER.pattern}) (.+)")
PLACE = re.compile(r"(0x[0-9A-F]+): (.*?)(?: \((?:in )?([^()]*)\))?")


@dataclass(frozen=True)
class Node:
    """Requested bytes allocated below one caller. `address` is None for a sum of places below massif's threshold and
    for the root; `where` is FILE:LINE, or a module without debug information."""

    heap_bytes: int
    address: int | None
    function: str
    where: str | None
    callers: tuple["Node", ...]


@dataclass(frozen=True)
class Snapshot:
    """`heap_bytes` are those requested and live. `extra_bytes` is what massif supposes an allocator adds, no fact.
    `time` is in the unit of the file: with --time-unit=B bytes allocated and freed so far."""

    number: int
    time: int
    heap_bytes: int
    extra_bytes: int
    stacks_bytes: int
    kind: str
    tree: Node | None


def read(file: Path | str) -> Iterator[Snapshot]:
    """One snapshot at a time, in order. Unreadable, with a sentence, when the file is not there, foreign or cut off
    within a snapshot; that a later snapshot is missing cannot be seen."""
    try:
        with open(file, encoding="utf-8", errors="replace") as lines:
            yield from Reader(lines).snapshots()
    except OSError as error:
        raise Unreadable(f"{file}: cannot read it: {error.strerror}") from None
    except Unreadable as error:
        raise Unreadable(f"{file}: {error}") from None


def only(file: Path | str) -> Snapshot:
    """Of a file with one snapshot."""
    first, *more = chain(read(file), [None])
    if first is None or len(more) != 1:
        raise Unreadable(f"{file}: one snapshot is expected, and there are {len(more) if first else 0}")
    return first


class Reader:
    def __init__(self, lines: Iterator[str]):
        self.lines, self.number = iter(lines), 0

    def line(self) -> str | None:
        """None at the end of the file."""
        line = next(self.lines, None)
        self.number += 1
        if line is not None and not line.endswith("\n"):
            raise Unreadable(f"cut off in line {self.number}")
        return line and line.rstrip("\n")

    def expect(self, start: str) -> str:
        """The rest of a line that starts so."""
        line = self.line()
        if line is None:
            raise Unreadable(f"cut off: `{start}` is expected after line {self.number - 1}")
        if not line.startswith(start):
            raise Unreadable(f"line {self.number} of a massif file starts with `{start}`, and this one does not")
        return line.removeprefix(start)

    def snapshots(self) -> Iterator[Snapshot]:
        for name in HEADER:
            self.expect(f"{name}:")
        while (line := self.line()) is not None:
            if line != "#-----------":
                raise Unreadable(f"line {self.number}: a snapshot begins with `#-----------`")
            yield self.snapshot()

    def snapshot(self) -> Snapshot:
        number = self.value("snapshot")
        self.expect("#-----------")
        numbers = [self.value(name) for name in NUMBERS]
        kind = self.expect("heap_tree=")
        if kind not in KINDS:
            raise Unreadable(f"line {self.number}: heap_tree is one of {', '.join(KINDS)}")
        tree = None if kind == "empty" else self.tree()
        if tree and tree.heap_bytes != numbers[1]:
            raise Unreadable(f"snapshot {number}: mem_heap_B is {numbers[1]}, its tree holds {tree.heap_bytes}")
        return Snapshot(number, *numbers, kind, tree)

    def value(self, name: str) -> int:
        text = self.expect(f"{name}=")
        if not NUMBER.fullmatch(text):
            raise Unreadable(f"line {self.number}: {name} is a number of at most 20 digits")
        return int(text)

    def tree(self) -> Node:
        """The root, and below each node as many as it says, indented by one more. Without recursion: trees are deep."""
        path = [self.node(0)]
        while True:
            while len(path[-1].callers) == path[-1].wanted:
                done = path.pop().closed()
                if not path:
                    return done
                path[-1].callers.append(done)
            path.append(self.node(len(path)))

    def node(self, depth: int) -> "Unfinished":
        """A line `nCALLERS: BYTES PLACE`."""
        found = NODE.fullmatch("n" + self.expect(" " * depth + "n"))
        if not found:
            raise Unreadable(f"line {self.number} is no node of a heap tree")
        if depth > DEEPEST:
            raise Unreadable(f"line {self.number}: a heap tree of more than {DEEPEST} levels")
        return Unfinished(self.number, int(found[1]), int(found[2]), found[3])


@dataclass(frozen=True)
class Unfinished:
    """A node whose callers are still being read."""

    line: int
    wanted: int
    heap_bytes: int
    text: str
    callers: list[Node] = field(default_factory=list)

    def closed(self) -> Node:
        if self.callers and sum(caller.heap_bytes for caller in self.callers) != self.heap_bytes:
            raise Unreadable(f"line {self.line}: a place holds other bytes than those who call it")
        return Node(self.heap_bytes, *place(self.text), tuple(self.callers))


def place(text: str) -> tuple[int | None, str, str | None]:
    """Address, function and where of `0xADDRESS: FUNCTION (FILE:LINE)` or `(in MODULE)`, else the text alone."""
    found = PLACE.fullmatch(text)
    return (int(found[1], 16), found[2], found[3]) if found else (None, text, None)
