"""Call sites: the call stacks of one owner with the same innermost callers of the allocator, as one, and their sums."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from tlsmem.explore import profile_selection, short_names
from tlsmem.profile import frames
from tlsmem.profile.frames import Frame, Owner
from tlsmem.profile.heap_profile import Allocated, Held, Profile
from tlsmem.tables.table import Cell, Column, hole, percent, word

FRAMES = 3  # of a site
UNKNOWN = "no call stack is known"
BY_WHOM = Column("callers", "by", left=True)

Figures = tuple[int, ...]


class Site(NamedTuple):
    """Whose memory, and who called the allocator, innermost first."""

    owner: Owner
    frames: tuple[Frame, ...]


def grouped(
    profile: Profile, by_stack: Mapping[int, Held | Allocated], figures: Callable[[Held | Allocated], Figures]
) -> dict[Site, Figures]:
    found: dict[Site, list[Figures]] = defaultdict(list)
    for stack, one in by_stack.items():
        found[Site(profile.stacks.owner(stack), profile_selection.site(profile.stacks, stack, FRAMES))].append(
            figures(one)
        )
    return {site: sums(parts) for site, parts in found.items()}


def sums(parts: Iterable[Figures], width: int = 2) -> Figures:
    return tuple(map(sum, zip(*parts, strict=True))) or (0,) * width


def ranked(sites: Mapping[Site, Figures], at: int, rows: int) -> list[tuple[list[Site], Figures]]:
    """The largest, each by itself, then all others together."""
    order = sorted(sites, key=lambda site: (-sites[site][at], site.owner, *map(str, site.frames)))
    parts = [[site] for site in order[:rows]] + ([order[rows:]] if order[rows:] else [])
    return [(names, sums(sites[name] for name in names)) for names in parts]


def said(names: list[Site]) -> list[Cell]:
    """Whose, and by whom."""
    owners = list(dict.fromkeys(name.owner for name in names))
    if len(names) > 1:
        return [word(owners[0] if len(owners) == 1 else "any"), word(f"{len(names):,} others")]
    (_, stack) = names[0]
    path = " < ".join([*map(short_names.said, stack[:1]), *map(short_names.named, stack[1:])])
    return [
        word(owners[0]),
        Cell(path or UNKNOWN, " < ".join(frames.said(one, whole=True) for one in stack) or UNKNOWN),
    ]


def share(part: int, all_of_it: int) -> Cell:
    return Cell(percent(part / all_of_it), part / all_of_it) if all_of_it else hole("nothing is a share of nothing")
