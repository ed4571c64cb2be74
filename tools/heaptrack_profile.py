"""What a heaptrack file holds: call stacks, allocation sites, and what was live of them at chosen moments."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Frame:
    """One function at an address; several where functions were inlined there."""

    function: str
    file: str | None
    line: int | None


@dataclass(frozen=True)
class Place:
    """An address of the program: its module, and what debug information says of it, innermost function first."""

    address: int
    module: str
    frames: tuple[Frame, ...]


@dataclass(frozen=True)
class Moment:
    """What is live: requested bytes, blocks, and blocks by allocation site (an index into Profile.sites)."""

    live_bytes: int
    live_blocks: int
    by_site: list[int]


@dataclass
class Profile:
    """A file as read. Places and stacks are numbered from 1, as in the file; a stack is (place, calling stack or 0)."""

    strings: list[str] = field(default_factory=lambda: [""])
    places: list[Place] = field(default_factory=lambda: [Place(0, "", ())])
    stacks: list[tuple[int, int]] = field(default_factory=lambda: [(0, 0)])
    sizes: list[int] = field(default_factory=list)  # by site: bytes requested, the same each time
    sites: list[int] = field(default_factory=list)  # by site: its stack
    marks: list[Moment] = field(default_factory=list)  # in order; without the marks' own blocks
    end: Moment = Moment(0, 0, [])
    peak_bytes: int = 0
    command: str = ""

    def places_of(self, site: int) -> Iterator[Place]:
        """The call stack of a site, innermost place first."""
        stack = self.sites[site]
        while stack:
            place, stack = self.stacks[stack]
            yield self.places[place]

    def from_module(self, moment: Moment, module: str) -> tuple[int, int]:
        """Live bytes and blocks that code of this module (the start of its file's name) allocated by itself."""
        own = [
            (count, self.sizes[site])
            for site, count in enumerate(moment.by_site)
            if count and Path(next(self.places_of(site), self.places[0]).module).name.startswith(module)
        ]
        return sum(count * size for count, size in own), sum(count for count, _ in own)
