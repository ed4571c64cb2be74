"""The tables of a heaptrack file (format 3), line by line: strings, addresses, call stacks, sites; and its events."""

import re

from tlsmem.profile.errors import Unreadable
from tlsmem.profile.heaptrack_events import HeaptrackEvents

FORMAT = 3
NUMBERS = re.compile(rb"[0-9a-f]{1,16}(?: [0-9a-f]{1,16})*")  # of 64 bits; int() takes signs, spaces and 0x too
END_COUNTS = re.compile(rb"(strings|ips): ([0-9]{1,20})")
RAW = "a raw recording of heaptrack, without names: unpack it and have heaptrack_interpret read it first"

AddressPlace = tuple[
    int, int, list[int]
]  # address, its module, then function, file, line of each frame: numbers of strings


class HeaptrackTables:
    """Numbered as in the file: strings, places and stacks from 1, and sites, which are sizes and stacks, from 0.

    Allocations of the function `mark` are marks."""

    def __init__(self, mark: str):
        self.mark, self.events, self.command = mark, HeaptrackEvents(self.other), ""
        self.in_command = False
        self.time_ms: int | None = None
        self.strings: list[str] = [""]
        self.places: list[AddressPlace] = [(0, 0, [])]
        self.stacks: list[tuple[int, int]] = [(0, 0)]  # place, calling stack
        self.sites: list[int] = []  # by site: its stack
        self.mark_sites: dict[bytes, int] = {}  # by their number as it is written
        self.marks: list[tuple[int, list[int]]] = []  # live bytes, and blocks by site, before the mark's own block
        self.announced: dict[bytes, int] = {}  # the last lines of a file say how much it has
        self.entries = {b"v ": self.version, b"# ": self.comment, b"": ignored}

    def take(self, lines: list[bytes]) -> None:
        """Unreadable, with the number of the line, when one is none of heaptrack's, or an event cannot be."""
        try:
            self.events.take(lines)
        except Unreadable as error:
            raise Unreadable(f"line {self.events.count:,}: {error}") from None

    def whole(self) -> bool:
        """What heaptrack_interpret writes last tells a whole file from one whose program or compressor was killed."""
        found = {b"strings": len(self.strings) - 1, b"ips": len(self.places) - 1}
        for table, count in self.announced.items():
            if found[table] != count:
                raise Unreadable(f"unsound: it says that it has {count:,} {table.decode()}, and has {found[table]:,}")
        return len(self.announced) == len(found)

    def other(self, line: bytes) -> None:
        """Any line but an event of a known site."""
        try:
            self.entries[line[:2]](line[2:])
        except (LookupError, ValueError) as error:
            if isinstance(error, Unreadable):
                raise
            if self.in_command:
                self.events.none_yet()
                self.command += "\n" + line.decode(errors="replace")
                return
            what = f"no line of heaptrack's format {FORMAT}" if b"a " in self.entries else "no heaptrack file"
            what = "a number of what does not come before it" if isinstance(error, IndexError) else what
            raise Unreadable(f"{what}: {line[:60].decode(errors='replace')}") from None

    def version(self, rest: bytes) -> None:
        found = numbers(rest)[1]
        if found != FORMAT:
            raise Unreadable(f"heaptrack's format {found}; read is {FORMAT}, that of heaptrack 1.3 and later")
        self.entries |= {b"s ": self.string, b"i ": self.place, b"t ": self.stack, b"a ": self.site, b"+ ": self.marked}
        self.entries |= {b"X ": self.debuggee, b"c ": self.time, b"I ": self.system, b"x ": raw, b"m ": raw}
        self.entries |= dict.fromkeys((b"R ", b"A", b"S "), ignored)  # RSS, attached, suppressions

    def comment(self, rest: bytes) -> None:
        if found := END_COUNTS.fullmatch(rest):
            self.announced[found[1]] = int(found[2])

    def debuggee(self, rest: bytes) -> None:
        """heaptrack writes arguments as they are: a line break goes on in a line of any kind, up to that of `I`."""
        if self.sites or self.in_command:
            raise ValueError  # after that any line may be an event
        self.command, self.in_command = rest.decode(errors="replace"), True

    def system(self, rest: bytes) -> None:
        _page_size, _pages = numbers(rest)
        self.in_command = False

    def time(self, rest: bytes) -> None:
        self.time_ms = max(self.time_ms or 0, *numbers(rest))

    def string(self, rest: bytes) -> None:
        size, _, text = rest.partition(b" ")
        if [len(text)] != numbers(size):
            raise ValueError
        self.strings.append(text.decode(errors="replace"))

    def place(self, rest: bytes) -> None:
        """ADDRESS MODULE, then FUNCTION FILE LINE of each frame that is known; a last one may lack its file."""
        address, module, *frames = numbers(rest)
        if len(frames) % 3 == 1:
            frames += [0, 0]
        for string in (module, *frames[0::3], *frames[1::3]):
            self.strings[string]  # must be there already
        self.places.append((address, module, frames[: len(frames) // 3 * 3]))

    def stack(self, rest: bytes) -> None:
        place, caller = numbers(rest)
        self.places[place], self.stacks[caller]  # must be there already
        self.stacks.append((place, caller))

    def site(self, rest: bytes) -> None:
        size, stack = numbers(rest)
        place, _ = self.stacks[stack]
        marks = any(self.strings[function] == self.mark for function in self.places[place][2][0::3])
        if marks:
            self.mark_sites[b"%x" % len(self.sites)] = len(self.sites)
        self.in_command = False  # of a file that has no `I`
        self.events.add(size, marks)
        self.sites.append(stack)

    def marked(self, rest: bytes) -> None:
        site = self.mark_sites[rest]
        self.marks.append((self.events.live_bytes, self.events.live.copy()))
        self.events.allocate(site)


def numbers(words: bytes) -> list[int]:
    if not NUMBERS.fullmatch(words):
        raise ValueError
    return [int(word, 16) for word in words.split(b" ")]


def raw(_: bytes) -> None:
    raise Unreadable(RAW)


def ignored(_: bytes) -> None:
    pass
