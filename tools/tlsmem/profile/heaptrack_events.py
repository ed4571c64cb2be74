"""What is live, was live at most, and was allocated, by allocation site, as heaptrack's events come line by line."""

import operator
from collections.abc import Callable, Iterable

from tlsmem.profile.errors import Unreadable


class HeaptrackEvents:
    """A site is a size and a call stack, numbered from 0. `other` takes the lines that are no events of known sites."""

    def __init__(self, other: Callable[[bytes], None]):
        self.other = other
        self.sizes: list[int] = []  # by site: bytes requested, the same each time
        self.live: list[int] = []  # blocks by site; so are the next two
        self.allocated: list[int] = []
        self.temporary: list[int] = []
        self.by_line: dict[bytes, int] = {}  # an event's whole line: its site, or ~site where that frees
        self.live_bytes, self.peak_bytes = 0, 0
        self.latest = -1  # the site that the last event allocated; -1: it was no allocation
        self.count = 0  # lines taken
        self.rest, self.lines, self.first = iter(()), 0, 0  # of the list that is being taken; its first event
        self.highest: tuple[list[bytes], int, list[int]] = ([], 0, [])  # see at_peak()

    def add(self, size: int, watched: bool) -> None:
        """A site. Allocations of one that is watched go to `other`, which calls allocate()."""
        site = len(self.sizes)
        if not watched:
            self.by_line[b"+ %x" % site] = site
        self.by_line[b"- %x" % site] = ~site
        self.sizes.append(size)
        for counts in (self.live, self.allocated, self.temporary):
            counts.append(0)

    def allocate(self, site: int) -> None:
        self.live[site] += 1
        self.allocated[site] += 1
        self.live_bytes += self.sizes[site]
        self.peak_bytes = max(self.peak_bytes, self.live_bytes)
        self.latest = site

    def take(self, lines: list[bytes]) -> None:
        """Unreadable where more blocks are freed than were allocated; `count` is then the number of that line."""
        before, highest = self.live_bytes, self.peak_bytes
        self.rest, self.lines, self.first = iter(lines), len(lines), 0
        try:
            self.count_blocks(self.rest)
        finally:
            self.count += self.lines - operator.length_hint(self.rest)
        if self.peak_bytes > highest:
            self.highest = lines[self.first :], before, self.live.copy()

    def none_yet(self) -> None:
        """The line that is being taken is no event, whatever it looks like, and none came before it."""
        self.first = self.lines - operator.length_hint(self.rest)

    def count_blocks(self, lines: Iterable[bytes]) -> None:
        """The cost of a long file is this loop: no function is called for a block, and all is in local variables."""
        find, sizes, live, allocated, temporary = (
            self.by_line.get,
            self.sizes,
            self.live,
            self.allocated,
            self.temporary,
        )
        live_bytes, peak_bytes, latest = self.live_bytes, self.peak_bytes, self.latest
        for line in lines:
            site = find(line)
            if site is None:
                self.live_bytes, self.peak_bytes, self.latest = live_bytes, peak_bytes, latest
                self.other(line)
                live_bytes, peak_bytes, latest = self.live_bytes, self.peak_bytes, self.latest
            elif site >= 0:
                live[site] += 1
                allocated[site] += 1
                live_bytes += sizes[site]
                if live_bytes > peak_bytes:
                    peak_bytes = live_bytes
                latest = site
            else:
                site = ~site
                left = live[site] - 1
                if left < 0:
                    raise Unreadable("more blocks of a site are freed than were allocated")
                live[site] = left
                live_bytes -= sizes[site]
                if site == latest:
                    temporary[site] += 1
                latest = -1
        self.live_bytes, self.peak_bytes, self.latest = live_bytes, peak_bytes, latest

    def at_peak(self) -> list[int]:
        """Blocks by site where the peak was first reached: the lines of the last list that made a new peak are undone
        from its end. Sites that came after that list had none."""
        lines, live_bytes, after = self.highest
        changes, reached, live = [change for line in lines if (change := self.change(line))], 0, after.copy()
        while live_bytes < self.peak_bytes:
            site, blocks = changes[reached]
            live_bytes += blocks * self.sizes[site]
            reached += 1
        for site, blocks in changes[reached:]:
            live[site] -= blocks
        return live

    def change(self, line: bytes) -> tuple[int, int] | None:
        """Site and blocks of an event."""
        kind = line[:1]
        return (int(line[2:], 16), 1 if kind == b"+" else -1) if kind in (b"+", b"-") else None
