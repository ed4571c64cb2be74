"""Changed call sites that one call led to: a certificate that is copied is dozens of sites in generic code, and one
call of the code that copied it."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from tlsmem.explore.diff.match_callstacks import frames_from_driver, innermost_key, versionless_name
from tlsmem.explore.diff.rows import DiffRow
from tlsmem.profile.frames import Frame, entrance_owner, is_generic

Amounts = Callable[[DiffRow], tuple[Fraction, Fraction]]  # what OLD and NEW hold at a row
Path = tuple[str, ...]  # functions, the outermost first


class CommonCall(NamedTuple):
    """Rows below one call; `callers`: who made it, outside of generic code, and the callers of that."""

    callers: tuple[Frame, ...]
    rows: tuple[DiffRow, ...]


@dataclass
class Node:
    """What is below a call path."""

    old: Fraction = Fraction(0)
    new: Fraction = Fraction(0)
    grew: Fraction = Fraction(0)  # the sum of differences, and of their sizes
    moved: Fraction = Fraction(0)
    rows: list[DiffRow] = field(default_factory=list)
    changed: list[DiffRow] = field(default_factory=list)
    sites: dict[Hashable, Fraction] = field(default_factory=dict)  # what each changed site grew by
    inner: set[Path] = field(default_factory=set)

    @property
    def is_of_one_change(self) -> bool:
        """Whether most that is below has changed, nearly all of that in one direction, and not nearly all at one site,
        which says more than who called it."""
        is_most = 2 * self.moved >= max(self.old, self.new) and 10 * abs(self.grew) >= 9 * self.moved > 0
        return is_most and 10 * max(map(abs, self.sites.values())) < 9 * self.moved


def find_common_calls(rows: Sequence[DiffRow], amounts: Amounts) -> list[CommonCall]:
    """Calls below which at least two sites changed alike, and little is as before; the nearest to those sites.

    A call below which most of a session is allocated explains nothing, and is none."""
    nodes = build_nodes(rows, amounts)
    most = max(nodes[()].old, nodes[()].new) / 2
    return list(visit((), nodes, most))


def build_nodes(rows: Sequence[DiffRow], amounts: Amounts) -> dict[Path, Node]:
    nodes: dict[Path, Node] = defaultdict(Node)
    nodes[()] = Node()
    for row in rows:
        old, new = amounts(row)
        site = innermost_key(frames_from_driver(row.frames))
        path: Path = tuple(map(versionless_name, reversed(inner_frames(row))))
        for depth in range(len(path) + 1):
            node = nodes[path[:depth]]
            node.old, node.new = node.old + old, node.new + new
            node.grew, node.moved = node.grew + new - old, node.moved + abs(new - old)
            node.rows.append(row)
            if old != new:
                node.changed.append(row)
                node.sites[site] = node.sites.get(site, Fraction(0)) + new - old
                node.inner |= {path[: depth + 1]} - {path[:depth]}
    return nodes


def inner_frames(row: DiffRow) -> Sequence[Frame]:
    """Inside the driver's entrance, without it."""
    frames = frames_from_driver(row.frames)
    return frames[:-1] if frames and entrance_owner(frames[-1]) else frames


def visit(path: Path, nodes: dict[Path, Node], most: Fraction) -> Iterator[CommonCall]:
    node = nodes[path]
    if len(node.sites) < 2:
        return
    if path and node.is_of_one_change and max(node.old, node.new) <= most:
        inner = nearest_call(path, nodes)
        if callers := outside_generic_code(node.changed[0], len(inner)):
            yield CommonCall(callers, tuple(nodes[inner].rows))
            return
    for below in sorted(node.inner):
        yield from visit(below, nodes, most)


def nearest_call(path: Path, nodes: dict[Path, Node]) -> Path:
    """The path, down to the last call that all of its changed sites are below."""
    for below in nodes[path].inner:
        if len(nodes[below].changed) == len(nodes[path].changed):
            return nearest_call(below, nodes)
    return path


def outside_generic_code(row: DiffRow, depth: int) -> tuple[Frame, ...]:
    """From the nearest caller on that is not generic, of those that are at most so deep; none where all are."""
    frames = inner_frames(row)
    callers = frames[len(frames) - depth :]
    at = next((at for at, frame in enumerate(callers) if not is_generic(frame)), len(callers))
    return tuple(callers[at:])
