"""Who called the allocator, and who called them: a tree from each allocating function outwards, with its bytes."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import rich.text
import rich.tree

from tlsmem.config.choices import ROWS
from tlsmem.explore import profile_selection, short_function_names
from tlsmem.explore.profile_selection import ROLES, Pattern
from tlsmem.explore.top_sites import BLOCKS_NOT_COUNTED, CALLERS_COLUMN, NO_CALLSTACK, share
from tlsmem.profile import frames
from tlsmem.profile.frames import Frame, entrance_owner
from tlsmem.profile.heap_profile import LiveHeap, Profile
from tlsmem.schema.roles import Owner
from tlsmem.tables import layout
from tlsmem.tables.table import Cell, Heading, Table, integer_cell, missing_cell

LEAST = 0.01  # of all that is shown; callers with less are counted together
MOST = 1_000  # callers of a stack; whoever called those is one more
INDENT = 4  # characters of a level of the tree
BEYOND = f"callers beyond {MOST:,}"


@dataclass
class CallerNode:
    """A caller, and who called it; of the root all callers of the allocator. `beyond` counts callers not shown."""

    frame: Frame | None = None
    bytes: int = 0
    blocks: int | None = 0
    callers: dict[Frame | None, "CallerNode"] = field(default_factory=dict)

    def add(self, held: LiveHeap) -> None:
        self.bytes += held.bytes
        self.blocks = None if self.blocks is None or held.blocks is None else self.blocks + held.blocks

    def caller(self, frame: Frame | None) -> "CallerNode":
        return self.callers.setdefault(frame, CallerNode(frame))


def tree(profile: Profile, moment: str, owner: Owner | None = None, pattern: Pattern = None) -> CallerNode:
    """Stacks that begin alike are joined. Raises ValueError with a sentence when the pattern finds nothing."""
    root = CallerNode()
    for stack, held in profile_selection.live_by_stack(profile, moment, owner, pattern).items():
        root.add(held)
        at = root
        for frame in limit_callers(frames_below_driver(profile.stacks.callers(stack), profile.stacks.owner(stack))) or [
            None
        ]:
            at = at.caller(frame)
            at.add(held)
    return root


def frames_below_driver(stack: tuple[Frame, ...], owner: Owner) -> tuple[Frame, ...]:
    """Up to the core's call of the driver: who calls that is the same for all sessions."""
    if owner not in ROLES:
        return stack
    entrances = (at for at, frame in enumerate(stack) if entrance_owner(frame))
    return stack[: 1 + max(entrances, default=len(stack))]  # without any in a stripped harness


def limit_callers(stack: tuple[Frame, ...]) -> tuple[Frame, ...]:
    return stack if len(stack) <= MOST else (*stack[:MOST], Frame(BEYOND, None, None, None, None))


def split_large_callers(
    node: CallerNode, least: float, rows: int | None = None
) -> tuple[list[CallerNode], CallerNode | None]:
    """The callers with most bytes, and one without a frame for the others, whose callers these are."""
    order = sorted(node.callers.values(), key=lambda one: (-one.bytes, str(one.frame)))
    large = [one for one in order if one.bytes >= least][:rows]
    rest = CallerNode(callers={one.frame: one for one in order[len(large) :]})
    for one in rest.callers.values():
        rest.add(LiveHeap(one.bytes, one.blocks))
    return large, rest if rest.callers else None


def chain(node: CallerNode) -> tuple[list[CallerNode], CallerNode]:
    """Callers in a row through which all of its bytes come, and the last of them."""
    found = [node]
    while len(node.callers) == 1 and next(iter(node.callers.values())).bytes == node.bytes:
        node = next(iter(node.callers.values()))
        found.append(node)
    return found, node


def draw_tree(root: CallerNode, title: str, rows: int = ROWS, width: int = 100) -> rich.tree.Tree:
    """For people: a row of callers without branches is one entry of several lines.

    A name that is longer than the room in `width` characters is shortened, so that no line breaks inside it."""
    made = rich.tree.Tree(rich.text.Text(title, style="bold"), highlight=False)
    branches(root, root.bytes, made, rows, width)
    return made


def branches(node: CallerNode, every: int, made: rich.tree.Tree, rows: int | None, width: int) -> None:
    waiting = [(node, made, rows, width - INDENT)]  # no recursion: stacks may be deeper than Python's
    while waiting:
        node, made, rows, room = waiting.pop()
        large, rest = split_large_callers(node, LEAST * every, rows)
        for one in large:
            of_chain, last = chain(one)
            waiting.append((last, made.add(label(of_chain, every, room)), None, room - INDENT))
        if rest:
            made.add(rich.text.Text(f"… {node_name(rest)}, {figures(rest, every)}", style="dim"))


def label(of_chain: list[CallerNode], every: int, room: int) -> rich.text.Text:
    first, *others = (layout.shorten_words(node_name(one), max(room - INDENT, 1)) for one in of_chain)
    text = rich.text.Text.assemble((figures(of_chain[0], every), "bold"), " ", first)
    return text.append("".join(f"\n< {name}" for name in others))


def node_name(node: CallerNode) -> str:
    if node.frame and node.frame.function == BEYOND:
        return BEYOND
    if node.frame:
        return short_function_names.describe_frame(node.frame)
    return f"{len(node.callers):,} more" if node.callers else NO_CALLSTACK


def figures(node: CallerNode, every: int) -> str:
    blocks = "" if node.blocks is None else f" in {node.blocks:,}"
    return f"{node.bytes:,} B{blocks}, {share(node.bytes, every).text}"


def callers_table(profile: Profile, root: CallerNode, title: str, rows: int = ROWS) -> Table:
    """For programs: the nodes that people are shown, each below who it called, with its depth."""
    columns = [Heading("depth", "depth"), Heading("bytes", "bytes"), Heading("blocks", "blocks")]
    about = (
        f"{root.bytes:,} B. Each row was called by those below it that are one deeper; depth 1 called the allocator."
    )
    columns += [Heading("share", "share"), CALLERS_COLUMN]
    made = Table("callers", title, about, columns)
    for depth, node in nodes(root, root.bytes, rows):
        blocks = (
            missing_cell(BLOCKS_NOT_COUNTED.format(profile_selection.describe_tool(profile)))
            if node.blocks is None
            else integer_cell(node.blocks)
        )
        whole_name = node.frame and node.frame.function != BEYOND and frames.format_frame(node.frame, whole=True)
        by = Cell(node_name(node), whole_name or node_name(node))
        made.rows.append([integer_cell(depth), integer_cell(node.bytes), blocks, share(node.bytes, root.bytes), by])
    return made


def nodes(root: CallerNode, every: int, rows: int | None = None) -> Iterator[tuple[int, CallerNode]]:
    """With their depth, as they are shown."""
    waiting: list[tuple[int, CallerNode, int | None]] = [(0, root, rows)]
    while waiting:
        depth, node, rows = waiting.pop()
        if depth:
            yield depth, node
        if node.frame or not depth:  # others together are shown by their sum alone
            large, rest = split_large_callers(node, LEAST * every, rows)
            waiting += [(depth + 1, one, None) for one in reversed([*large, *filter(None, [rest])])]
