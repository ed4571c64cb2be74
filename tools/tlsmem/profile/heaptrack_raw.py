"""Raw recordings of heaptrack (`heaptrack --raw`, or a run whose interpreter was killed), as its interpreter would
write them, but without names of functions: those are in the files of the machine where it was recorded.

A raw file has addresses where an interpreted one has places in modules, and pointers where it has sites. The totals are
equal to the byte."""

import re
from bisect import bisect_right
from collections.abc import Iterator

from tlsmem.profile.errors import Unreadable
from tlsmem.profile.heaptrack_events import LARGEST_SIZE
from tlsmem.profile.heaptrack_lines import read_numbers

WITHOUT_NAMES = (
    "a raw recording, which has no names of functions. On the machine where it was recorded, "
    "`zstd -dc FILE | heaptrack_interpret | zstd -c > NEW` adds them (zcat for .gz; the command is in heaptrack's "
    "libexec directory)"
)
START = re.compile(rb"v ([0-9a-f]+)(?: ([0-9a-f]+))?\nx ")
SYSTEM = re.compile(rb"I [0-9a-f]+ [0-9a-f]+")  # the line after the command, which may have several lines
SIZED_FORMAT = 3  # from which on names have their length before them
PROGRAM, CLEAR = b"x", b"-"  # in the place of a module's name: the program; all modules are unloaded
END_COUNTS = b"# strings: %d\n# ips: %d\n"


class RawRecording:
    """Translates a raw recording, in one pass; in memory are its modules, places and sites, and all live pointers.

    `lines` counts those that were read, of a raw recording."""

    def __init__(self) -> None:
        self.is_raw = self.is_sized = self.in_command = False
        self.lines = 0
        self.program = b""
        self.strings: dict[bytes, int] = {}
        self.modules: list[tuple[int, int, int]] = []  # begin, end, number of the name; in order
        self.places: dict[int, int] = {}  # by address
        self.stacks = 0
        self.sites: dict[tuple[int, int], int] = {}  # by size and stack
        self.live: dict[int, int] = {}  # site by pointer

    def interpret(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """Yield blocks of whole lines as an interpreted file has them; the same blocks where the file is no raw one.

        Raises Unreadable with the number of the line when one is none of heaptrack's."""
        for block in blocks:
            if not self.lines:
                start = START.match(block)
                if not start:
                    yield block
                    yield from blocks
                    return
                self.is_raw, self.is_sized = True, int(start[2] or b"0", 16) >= SIZED_FORMAT
            yield b"".join(map(self.translate, block.split(b"\n")[:-1]))
        if self.is_raw:
            yield END_COUNTS % (len(self.strings), len(self.places))

    def translate(self, line: bytes) -> bytes:
        self.lines += 1
        try:
            return self.translate_known(line)
        except (ValueError, LookupError):
            said = line[:60].decode(errors="replace")
            raise Unreadable(f"line {self.lines:,}: no line of a raw recording of heaptrack: {said}") from None

    def translate_known(self, line: bytes) -> bytes:
        kind, rest = line[:2], line[2:]
        if self.in_command:
            self.in_command = not SYSTEM.fullmatch(line)
        elif kind == b"+ ":
            return self.allocate(read_numbers(rest))
        elif kind == b"- ":
            (pointer,) = read_numbers(rest)
            site = self.live.pop(pointer, None)  # None: allocated before heaptrack was attached
            return b"" if site is None else b"- %x\n" % site
        elif kind == b"t ":
            return self.add_stack(read_numbers(rest))
        elif kind == b"m ":
            return self.read_module(rest)
        elif kind == b"x ":
            self.program = self.split_name(rest)[0]
            return b""
        elif kind == b"v ":
            return b"v %s %x\n" % (rest.split()[0], SIZED_FORMAT)
        self.in_command |= kind == b"X "
        return line + b"\n"

    def allocate(self, numbers: list[int]) -> bytes:
        size, stack, pointer = numbers
        if stack > self.stacks or size > LARGEST_SIZE:
            raise ValueError
        known = len(self.sites)
        site = self.live[pointer] = self.sites.setdefault((size, stack), known)
        return b"a %x %x\n+ %x\n" % (size, stack, site) if site == known else b"+ %x\n" % site

    def add_stack(self, numbers: list[int]) -> bytes:
        address, caller = numbers
        if caller > self.stacks:
            raise ValueError
        self.stacks += 1
        place = self.places.get(address)
        if place is not None:
            return b"t %x %x\n" % (place, caller)
        place = self.places[address] = len(self.places) + 1
        return b"i %x %x\nt %x %x\n" % (address, self.find_module(address), place, caller)

    def find_module(self, address: int) -> int:
        """The number of the name of the module that is loaded there; 0 where none is."""
        at = bisect_right(self.modules, (address, 1 << 64, 0)) - 1
        if at < 0 or address >= self.modules[at][1]:
            return 0
        return self.modules[at][2]

    def read_module(self, rest: bytes) -> bytes:
        """NAME BASE, then the offset and size of each part that is loaded."""
        name, numbers = self.split_name(rest)
        if name == CLEAR:
            self.modules.clear()
            return b""
        name = self.program if name == PROGRAM else name
        base, *parts = read_numbers(numbers)
        number = self.strings.get(name)
        added = b""
        if number is None:
            number = self.strings[name] = len(self.strings) + 1
            added = b"s %x %s\n" % (len(name), name)
        for offset, size in zip(parts[0::2], parts[1::2], strict=True):
            self.modules.append((base + offset, base + offset + size, number))
        self.modules.sort()
        return added

    def split_name(self, rest: bytes) -> tuple[bytes, bytes]:
        """A name, which may have spaces where its length stands before it, and what follows."""
        if not self.is_sized:
            name, _, after = rest.partition(b" ")
            return name, after
        size, _, rest = rest.partition(b" ")
        (length,) = read_numbers(size)
        if length > len(rest):
            raise ValueError
        return rest[:length], rest[length + 1 :]
