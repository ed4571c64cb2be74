"""What a page knows, as JSON: names once, nodes by number, and of each node what changed from moment to moment.

It never takes more than it may: the smallest functions are then put together, and the page says how much that is."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

from tlsmem.explore.diff import match_callstacks
from tlsmem.explore.flamegraph.call_tree import SMALLER_SITES, CallTree, FunctionKey
from tlsmem.explore.short_function_names import short
from tlsmem.profile.frames import Frame
from tlsmem.profile.heap_profile import LiveHeap

NOTHING = LiveHeap(0, 0)
Key = TypeVar("Key")
STEP = 0.95  # of the nodes that would fit if all were of one size


class Numbering(dict[Key, int]):
    """What was asked for, numbered in order."""

    def __missing__(self, key: Key) -> int:
        self[key] = found = len(self)
        return found


def fit_tree_json(tree: CallTree, room: int) -> str:
    """The tree's JSON, in at most `room` characters. Raises ValueError when not even its first level fits."""
    totals = tree.totals()
    largest = [max(bytes_.values(), default=0) for bytes_ in totals]
    order = sorted(range(len(totals)), key=lambda node: (tree.callers[node] != 0, -largest[node], node))
    kept, least = estimate_node_count(tree, order, room), 1 + len(tree.owners())
    while (size := len((text := pruned_tree_json(tree, largest, order, kept)).encode())) > room:
        if kept == least:
            raise ValueError(f"a page of {size:,} bytes cannot be made to fit into {room:,}")
        kept = max(least, min(kept - 1, int(kept * room / size * STEP)))
    return text


def estimate_node_count(tree: CallTree, order: Sequence[int], room: int) -> int:
    """How many of the largest nodes may fit: rather too many than too few."""
    known = set()
    for kept, node in enumerate(order):
        key = tree.keys[node]
        room -= 14 + 12 * len(tree.held[node]) + (0 if key in known else 12 + sum(map(len, key)))
        known.add(key)
        if room < 0:
            return max(kept, 1)
    return len(order)


def pruned_tree_json(tree: CallTree, largest: list[int], order: Sequence[int], kept: int) -> str:
    if kept == len(order):
        return pack_json(tree_as_dict(tree) | {"smaller": None})
    small, rest = prune_tree(tree, set(order[:kept]))
    merged = {
        "functions": len(order) - kept,
        "at_most": largest[order[kept]],
        "bytes": [[*one] for one in rest.items()],
    }
    return pack_json(tree_as_dict(small) | {"smaller": merged})


def prune_tree(tree: CallTree, kept: set[int]) -> tuple[CallTree, Counter[int]]:
    """The tree with these nodes, and the bytes by moment of all others, which stand with who called them.

    Who calls holds no less than what it calls and comes before it, so callers of the largest are among the largest."""
    small, rest, numbers = CallTree(tree.known), Counter[int](), dict[int, int]()
    for node, key in enumerate(tree.keys):  # callers first
        caller = numbers.get(tree.callers[node], 0)
        if small.keys[caller][0] == SMALLER_SITES:
            numbers[node] = caller
        else:
            numbers[node] = small.node(caller, key if node in kept else (SMALLER_SITES, "", "")) if node else 0
        if node in kept:
            small.lines[numbers[node]] |= tree.lines[node]
            small.buckets[numbers[node]] = tree.buckets[node]
        for moment, held in tree.held[node].items():
            small.add(numbers[node], moment, held)
            rest[moment] += held.bytes if node not in kept else 0
    return small, rest


def tree_as_dict(tree: CallTree) -> dict[str, object]:
    """`frames`: as `name_frame` has them, with numbers of `names`. `kinds`: what has a colour of its own.
    `nodes`: of each its caller, frame, kind, lines, and held: moment, bytes, blocks, again where they change."""
    names, frames, kinds = Numbering[str](), Numbering[FunctionKey](), tree.kinds()
    colour = {kind: at for at, kind in enumerate(kinds)} | {"": -1}
    nodes = [
        [
            tree.callers[node],
            frames[key],
            colour[tree.kind(node)],
            sorted(tree.lines[node]),
            held_changes(tree.held[node]),
        ]
        for node, key in enumerate(tree.keys)
    ]
    parts = [[names[part] for part in name_frame(key)] for key in frames]
    found = {"names": [*names], "frames": parts, "kinds": kinds, "nodes": nodes, "owners": tree.owners()}
    return found | {"by_bucket": bool(tree.known)}


def name_frame(key: FunctionKey) -> tuple[str, str, str, str, str]:
    """Function, file, module, short name, and the name without versions and hashes, by which links find a frame."""
    stable = match_callstacks.versionless_name(Frame(key[0], None, None, None, None))
    return *key, short(key[0]), stable


def held_changes(held: dict[int, LiveHeap]) -> list[int | None]:
    found: list[int | None] = []
    last, after = NOTHING, 0
    for moment in sorted(held):
        if moment > after and last != NOTHING:
            found += [after, *NOTHING]
            last = NOTHING
        if held[moment] != last:
            found += [moment, *held[moment]]
        last, after = held[moment], moment + 1
    return found if last == NOTHING else [*found, after, *NOTHING]


def pack_json(value: object) -> str:
    """As it may stand between tags of HTML: nothing in it begins one, or a comment."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
