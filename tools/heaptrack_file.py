"""Reads heaptrack's files, as its interpreter writes them (format 3): what was live at each mark, at the end, at most.

A file is read once, from its beginning to its end, as fast as Python reads lines; in memory are its tables of strings,
addresses and call stacks, which do not grow with the length of the run, and one row of block counts per mark."""

import gzip
import io
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import zstandard

from heaptrack_profile import Frame, Moment, Place, Profile
from unreadable import Unreadable

FORMAT = 3
MARK = "meter_mark"  # the function whose allocations are marks: of memtest/meter.c
CHUNK = 1 << 18
LONGEST_LINE = 1 << 20
NUMBER = re.compile(rb"[0-9a-f]{1,16}")  # hexadecimal, of 64 bits, as heaptrack writes them
ZSTD, GZIP = b"\x28\xb5\x2f\xfd", b"\x1f\x8b"


def read(file: Path | str, mark: str = MARK) -> Profile:
    """Unreadable, with a sentence, when the file is not there, foreign, of another format, or cut off."""
    try:
        with open(file, "rb") as packed, unpacked(packed) as content:
            return Reader(mark).read(chunks(content))
    except OSError as error:
        raise Unreadable(f"{file}: cannot read it: {error.strerror or error}") from None
    except (EOFError, zlib.error, zstandard.ZstdError):
        raise Unreadable(f"{file}: cut off, or damaged: it cannot be unpacked to its end") from None
    except Unreadable as error:
        raise Unreadable(f"{file}: {error}") from None


def unpacked(packed: BinaryIO) -> BinaryIO:
    """By what the file begins with, not by its name."""
    start = packed.read(4)
    packed.seek(0)
    if start == ZSTD:
        return zstandard.ZstdDecompressor().stream_reader(packed)
    return gzip.GzipFile(fileobj=packed) if start.startswith(GZIP) else io.BufferedReader(packed)


def chunks(content: BinaryIO) -> Iterator[list[bytes]]:
    """Whole lines, many at a time."""
    rest = b""
    while chunk := content.read(CHUNK):
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > LONGEST_LINE:
            break
        yield lines
    if rest:
        raise Unreadable("cut off in the middle of a line, or no heaptrack file")


class Reader:
    """The state of one reading: the profile so far, and blocks by site."""

    def __init__(self, mark: str):
        self.profile, self.mark = Profile(), mark
        self.marks: set[int] = set()  # sites that are marks
        self.live: list[int] = []  # blocks by site
        self.sites: dict[bytes, int] = {}  # by what stands after + or -: their number has one spelling
        self.announced: dict[str, int] = {}  # the last lines of a file say how much it has
        self.entries = {b"v": self.version, b"x": self.raw, b"X": self.command, b"s": self.string, b"i": self.place}
        self.entries |= {b"t": self.stack, b"a": self.site, b"#": self.comment}
        self.entries |= dict.fromkeys((b"c", b"R", b"I", b"A", b"S", b""), ignored)  # time, RSS, page size, ...

    def read(self, lists: Iterator[list[bytes]]) -> Profile:
        lines = next(lists, [])
        if not lines or not lines[0].startswith(b"v "):
            raise Unreadable("no heaptrack file")
        live_bytes = 0
        while lines is not None:
            live_bytes = self.take(lines, live_bytes)
            lines = next(lists, None)
        self.profile.end = self.moment(live_bytes)
        self.check()
        return self.profile

    def take(self, lines: list[bytes], live_bytes: int) -> int:
        """The cost of a long file is this loop: no function is called for a block. Live bytes before and after."""
        entries, marks, sizes, live, line = self.entries, self.marks, self.profile.sizes, self.live, b""
        sites, peak_bytes = self.sites, self.profile.peak_bytes
        try:
            for line in lines:
                kind = line[:1]
                if kind == b"+":
                    site = sites[line[1:]]
                    if site in marks:
                        self.profile.marks.append(self.moment(live_bytes))
                    live[site] += 1
                    live_bytes += sizes[site]
                    if live_bytes > peak_bytes:
                        peak_bytes = live_bytes
                elif kind == b"-":
                    site = sites[line[1:]]
                    live[site] -= 1
                    if live[site] < 0:
                        raise Unreadable("no sound heaptrack file: more blocks of a site are freed than were allocated")
                    live_bytes -= sizes[site]
                else:
                    entries[kind](line[2:])
        except (LookupError, ValueError) as error:
            if isinstance(error, Unreadable):
                raise
            raise Unreadable(f"no line of heaptrack's format {FORMAT}: {line[:60].decode(errors='replace')}") from None
        self.profile.peak_bytes = peak_bytes
        return live_bytes

    def moment(self, live_bytes: int) -> Moment:
        return Moment(live_bytes, sum(self.live), self.live.copy())

    def version(self, rest: bytes) -> None:
        found = numbers(rest)[1]
        if found != FORMAT:
            raise Unreadable(f"heaptrack's format {found}; read is {FORMAT}, that of heaptrack 1.3 and later")

    def raw(self, _: bytes) -> None:
        raise Unreadable("a raw recording of heaptrack: have heaptrack_interpret read it first")

    def command(self, rest: bytes) -> None:
        self.profile.command = rest.decode(errors="replace")

    def string(self, rest: bytes) -> None:
        size, _, text = rest.partition(b" ")
        if len(text) != number(size):
            raise ValueError
        self.profile.strings.append(text.decode(errors="replace"))

    def place(self, rest: bytes) -> None:
        """ADDRESS MODULE, then FUNCTION FILE LINE of each function that is there; a last one may lack its file."""
        address, module, *words = (*numbers(rest), 0)
        names, frames = self.profile.strings, []
        for at in range(0, len(words) - 1, 3):
            function, file, line = (*words[at:-1], 0, 0)[:3]
            frames.append(Frame(names[function], names[file] or None, line or None))
        self.profile.places.append(Place(address, names[module], tuple(frames)))

    def stack(self, rest: bytes) -> None:
        place, caller = numbers(rest)
        self.profile.places[place], self.profile.stacks[caller]  # must be there already
        self.profile.stacks.append((place, caller))

    def site(self, rest: bytes) -> None:
        size, stack = numbers(rest)
        place = self.profile.places[self.profile.stacks[stack][0]]
        if any(frame.function == self.mark for frame in place.frames):
            self.marks.add(len(self.live))
        self.sites[b" %x" % len(self.live)] = len(self.live)
        self.profile.sizes.append(size)
        self.profile.sites.append(stack)
        self.live.append(0)

    def comment(self, rest: bytes) -> None:
        found = re.fullmatch(rb"(strings|ips): ([0-9]{1,20})", rest)
        if found:
            self.announced[found[1].decode()] = int(found[2])

    def check(self) -> None:
        """What heaptrack_interpret writes last tells a whole file from one whose program or compressor was killed."""
        if self.announced != {"strings": len(self.profile.strings) - 1, "ips": len(self.profile.places) - 1}:
            raise Unreadable("cut off: the counts that end a heaptrack file are missing, or are others'")


def numbers(words: bytes) -> list[int]:
    return [number(word) for word in words.split(b" ")]


def number(word: bytes) -> int:
    """Strictly: int() also takes signs, spaces, underscores and 0x."""
    if not NUMBER.fullmatch(word):
        raise ValueError
    return int(word, 16)


def ignored(_: bytes) -> None:
    pass
