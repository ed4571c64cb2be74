"""Lines of massif's files, and the trees of call stacks among them."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from tlsmem.profile.callstack_lists import CallstackLists, parse_frame
from tlsmem.profile.compressed_file import TornFile
from tlsmem.profile.errors import Unreadable
from tlsmem.profile.heap_profile import CallstackTree

LONGEST = 1 << 20  # bytes of a line: names of C++ are long
DEEPEST = 500  # levels of a tree: massif's own --depth ends at 200, and inlined functions are levels too
DIGITS = 20  # of 64 bits, as massif's are
BELOW_THRESHOLD = re.compile(rb"in [0-9]+ places?, (all )?below massif's threshold.*")
UNKNOWN = -1  # in the place of a frame: callers that massif does not tell


class CutOff(Unreadable):
    """The file ends where more is expected."""


class LineReader:
    """Without their newline. `number` is that of the last one read."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self.number = 0
        self.iterator = self.split(chunks)

    def split(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Raises CutOff when the last line has no end or the file cannot be unpacked to its end."""
        rest, torn = b"", False
        try:
            for chunk in chunks:
                *lines, rest = (rest + chunk).split(b"\n")
                yield from lines
                if len(rest) > LONGEST:
                    raise Unreadable(
                        f"line {self.number + 1} has more than {LONGEST:,} bytes, which is none of massif's"
                    )
        except TornFile:
            torn = True
        if rest or torn:
            raise CutOff(f"cut off in line {self.number + 1}")

    def keep(self) -> list[bytes]:
        """To which every line is added that is read from now on."""
        kept, lines = [], self.iterator
        self.iterator = (kept.append(line) or line for line in lines)
        return kept

    def next(self) -> bytes | None:
        """None at the end of the file."""
        line = next(self.iterator, None)
        self.number += line is not None
        return line

    def expect(self, start: bytes) -> bytes:
        """The rest of a line that starts so."""
        line = self.next()
        if line is None:
            raise CutOff(f"cut off after line {self.number}, where `{start.decode()}` is expected")
        if not line.startswith(start):
            raise Unreadable(
                f"line {self.number} of a massif file starts with `{start.decode()}`, and this one does not"
            )
        return line[len(start) :]


class CallTrees:
    """Call stacks of all snapshots, each kept once."""

    def __init__(self, lines: LineReader) -> None:
        self.lines, self.stacks = lines, CallstackTree()
        self.lists = CallstackLists(self.stacks, [])
        self.numbers: dict[bytes, int] = {}  # of frames, by what massif writes of one

    def read(self) -> dict[int, int]:
        """Bytes by stack. A line is `nCALLERS: BYTES PLACE`; below it, indented by one more, are those who called it.

        Only bytes of those without callers count, the outermost that massif tells: all others are their sums."""
        live: dict[int, int] = defaultdict(int)
        path = [0] * (DEEPEST + 1)  # frames below the root, innermost first
        lines, numbers, expected, level = self.lines, self.numbers, 1, -1
        for number, line in enumerate(lines.iterator, lines.number + 1):
            lines.number = number
            node = line.lstrip(b" ")
            above, level = level, len(line) - len(node)
            try:
                count, size, text = node.split(b" ", 2)
                path[level] = numbers[text] if text in numbers else self.numbered(text)
                if count != b"n1:":
                    expected += callers(count) - 1
                if count == b"n0:" and size != b"0":
                    live[self.stack(path, level)] += parse_number(size)
            except (ValueError, IndexError):
                raise self.wrong(level) from None
            if level > above + 1:
                raise Unreadable(f"line {lines.number} is indented by more than one more than the one before")
            if not expected:
                return live
        raise CutOff(f"cut off after line {lines.number}, within a heap tree")

    def stack(self, path: list[int], level: int) -> int:
        """Whose bytes a line at this level tells; of those below massif's threshold, what called them is not known."""
        end = level if path[level] == UNKNOWN else level + 1
        return self.lists.stack(path[1:end])

    def numbered(self, text: bytes) -> int:
        found = UNKNOWN
        if not BELOW_THRESHOLD.fullmatch(text):
            found = len(self.lists.frames)
            self.lists.frames.append(parse_frame(text.decode(errors="replace")))
        return self.numbers.setdefault(text, found)

    def wrong(self, level: int) -> Unreadable:
        what = "is no node of a heap tree" if level <= DEEPEST else f"is in a heap tree of more than {DEEPEST} levels"
        return Unreadable(f"line {self.lines.number} {what}")


def callers(count: bytes) -> int:
    """Of `nCALLERS:`. Raises ValueError when it is something else."""
    if not (count.startswith(b"n") and count.endswith(b":")):
        raise ValueError
    return parse_number(count[1:-1])


def parse_number(digits: bytes) -> int:
    """Raises ValueError when it is no number of 64 bits."""
    if not digits.isdigit() or len(digits) > DIGITS:
        raise ValueError
    return int(digits)
