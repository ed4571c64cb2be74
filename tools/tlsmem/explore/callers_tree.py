"""Who called the allocator, and who called them: a tree from each allocating function outwards, with its bytes."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import rich.text
import rich.tree

from tlsmem.explore import profile_selection, short_function_names
from tlsmem.explore.profile_selection import ROLES, Pattern
from tlsmem.explore.top_sites import BY_WHOM, NOT_COUNTED, ROWS, UNKNOWN, share
from tlsmem.profile import frames
from tlsmem.profile.frames import Frame, Owner, entrance
from tlsmem.profile.heap_profile import Held, Profile
from tlsmem.tables.table import Cell, Column, Table, hole, whole

LEAST = 0.01  # of all that is shown; callers with less are counted together
MOST = 1_000  # callers of a stack; whoever called those is one more
BEYOND = f"callers beyond {MOST:,}"


@dataclass
class Node:
    """A caller, and who called it; of the root all callers of the allocator. `beyond` counts callers not shown."""

    frame: Frame | None = None
    bytes: int = 0
    blocks: int | None = 0
    callers: dict[Frame | None, "Node"] = field(default_factory=dict)

    def add(self, held: Held) -> None:
        self.bytes += held.bytes
        self.blocks = None if None in (self.blocks, held.blocks) else self.blocks + held.blocks

    def caller(self, frame: Frame | None) -> "Node":
        return self.callers.setdefault(frame, Node(frame))


def tree(profile: Profile, moment: str, owner: Owner | None = None, pattern: Pattern = None) -> Node:
    """Stacks that begin alike are joined. ValueError with a sentence when the pattern finds nothing."""
    root = Node()
    for stack, held in profile_selection.live(profile, moment, owner, pattern).items():
        root.add(held)
        at = root
        for frame in bounded(inside(profile_selection.site(profile.stacks, stack), profile.stacks.owner(stack))) or [
            None
        ]:
            at = at.caller(frame)
            at.add(held)
    return root


def inside(stack: tuple[Frame, ...], owner: Owner) -> tuple[Frame, ...]:
    """Up to the core's call of the driver: who calls that is the same for all sessions."""
    if owner not in ROLES:
        return stack
    entrances = (at for at, frame in enumerate(stack) if entrance(frame))
    return stack[: 1 + max(entrances, default=len(stack))]  # without any in a stripped harness


def bounded(stack: tuple[Frame, ...]) -> tuple[Frame, ...]:
    return stack if len(stack) <= MOST else (*stack[:MOST], Frame(BEYOND, None, None, None, None))


def shown(node: Node, least: float, rows: int | None = None) -> tuple[list[Node], Node | None]:
    """The callers with most bytes, and one without a frame for the others, whose callers these are."""
    order = sorted(node.callers.values(), key=lambda one: (-one.bytes, str(one.frame)))
    large = [one for one in order if one.bytes >= least][:rows]
    rest = Node(callers={one.frame: one for one in order[len(large) :]})
    for one in rest.callers.values():
        rest.add(Held(one.bytes, one.blocks))
    return large, rest if rest.callers else None


def chain(node: Node) -> tuple[list[Node], Node]:
    """Callers in a row through which all of its bytes come, and the last of them."""
    found = [node]
    while len(node.callers) == 1 and next(iter(node.callers.values())).bytes == node.bytes:
        node = next(iter(node.callers.values()))
        found.append(node)
    return found, node


def drawn(root: Node, title: str, rows: int = ROWS) -> rich.tree.Tree:
    """For people: a row of callers without branches is one entry of several lines."""
    made = rich.tree.Tree(rich.text.Text(title, style="bold"), highlight=False)
    branches(root, root.bytes, made, rows)
    return made


def branches(node: Node, every: int, made: rich.tree.Tree, rows: int | None = None) -> None:
    waiting = [(node, made, rows)]  # no recursion: stacks may be deeper than Python's
    while waiting:
        node, made, rows = waiting.pop()
        large, rest = shown(node, LEAST * every, rows)
        for one in large:
            of_chain, last = chain(one)
            waiting.append((last, made.add(label(of_chain, every)), None))
        if rest:
            made.add(rich.text.Text(f"… {named(rest)}, {figures(rest, every)}", style="dim"))


def label(of_chain: list[Node], every: int) -> rich.text.Text:
    first, *others = of_chain
    text = rich.text.Text.assemble((figures(first, every), "bold"), " ", named(first))
    return text.append("".join(f"\n< {named(one)}" for one in others))


def named(node: Node) -> str:
    if node.frame and node.frame.function == BEYOND:
        return BEYOND
    if node.frame:
        return short_function_names.said(node.frame)
    return f"{len(node.callers):,} more" if node.callers else UNKNOWN


def figures(node: Node, every: int) -> str:
    blocks = "" if node.blocks is None else f" in {node.blocks:,}"
    return f"{node.bytes:,} B{blocks}, {share(node.bytes, every).text}"


def table(profile: Profile, root: Node, title: str, rows: int = ROWS) -> Table:
    """For programs: the nodes that people are shown, each below who it called, with its depth."""
    columns = [Column("depth", "depth"), Column("bytes", "bytes"), Column("blocks", "blocks")]
    about = (
        f"{root.bytes:,} B. Each row was called by those below it that are one deeper; depth 1 called the allocator."
    )
    columns += [Column("share", "share"), BY_WHOM]
    made = Table("callers", title, about, columns)
    for depth, node in nodes(root, root.bytes, rows):
        blocks = (
            hole(NOT_COUNTED.format(profile_selection.tool(profile))) if node.blocks is None else whole(node.blocks)
        )
        whole_name = node.frame and node.frame.function != BEYOND and frames.said(node.frame, whole=True)
        by = Cell(named(node), whole_name or named(node))
        made.rows.append([whole(depth), whole(node.bytes), blocks, share(node.bytes, root.bytes), by])
    return made


def nodes(root: Node, every: int, rows: int | None = None) -> Iterator[tuple[int, Node]]:
    """With their depth, as they are shown."""
    waiting: list[tuple[int, Node, int | None]] = [(0, root, rows)]
    while waiting:
        depth, node, rows = waiting.pop()
        if depth:
            yield depth, node
        if node.frame or not depth:  # others together are shown by their sum alone
            large, rest = shown(node, LEAST * every, rows)
            waiting += [(depth + 1, one, None) for one in reversed([*large, *filter(None, [rest])])]
