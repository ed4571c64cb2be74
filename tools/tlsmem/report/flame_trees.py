"""Call stacks of many sites runs as one page has them: names, frames and rules once, and a tree for each run.

A tree is columns by node, callers first: who called, as a difference; frame; rule; lines; and what the node itself
holds: moment, bytes, blocks, again where they change. They are packed by deflate, which a browser can undo."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from tlsmem.explore.flamegraph import call_tree
from tlsmem.explore.flamegraph.call_tree import CallTree
from tlsmem.explore.flamegraph.page_data import Numbering, held_changes
from tlsmem.explore.short_function_names import short
from tlsmem.profile.buckets.rules import Rule
from tlsmem.profile.buckets.sums import BucketSums
from tlsmem.profile.heap_profile import Profile

ANOTHER = "(for another purpose)"  # stacks with the same functions whose blocks are for something else
ROLES = ("client", "server")


@dataclass
class PairTree:
    """One pair's tree at these moments, and which rule says what a node's own bytes are for."""

    tree: CallTree = field(default_factory=CallTree)
    rules: dict[int, Rule | None] = field(default_factory=dict)

    def node_for_rule(self, place: int, rule: Rule | None) -> int:
        """The node for bytes of this rule: the place itself, or one below it where that is taken."""
        while self.rules.setdefault(place, rule) != rule:
            place = self.tree.node(place, (ANOTHER, "", ""))
        return place


def pair_tree_from_profile(profile: Profile, moments: Sequence[str]) -> PairTree:
    """Of a sites run: what its two sessions hold at these moments."""
    made, sums, places = PairTree(), BucketSums(profile), {}
    for at, name in enumerate(moments):
        for stack, held in profile.moments[name].live.items() if name in profile.moments else ():
            if profile.stacks.owner(stack) not in ROLES:
                continue
            if stack not in places:
                frames = call_tree.frames_from_driver(profile.stacks.frames(stack))
                keys = ((call_tree.function_key(frame), frame.line) for frame in frames)
                places[stack] = made.node_for_rule(made.tree.place(profile.stacks.owner(stack), keys), sums.rule(stack))
            made.tree.add(places[stack], at, held)
    return made


def columns(one: PairTree, frames: Numbering, rules: Numbering) -> dict:
    tree = one.tree
    chosen = [one.rules.get(node) for node in range(len(tree.keys))]
    return {
        "callers": [node - caller for node, caller in enumerate(tree.callers)],
        "frames": [frames[key] for key in tree.keys],
        "rules": [-1 if rule is None else rules[rule] for rule in chosen],
        "lines": [sorted(lines) for lines in tree.lines],
        "held": [held_changes(held) for held in tree.held],
    }


def merge_trees(trees: Sequence[PairTree]) -> dict:
    """`tree` says which of `trees` each is: equal ones stand there once."""
    names, frames, rules, texts = Numbering(), Numbering(), Numbering(), Numbering()
    order = [texts[json.dumps(columns(one, frames, rules), separators=(",", ":"))] for one in trees]
    parts = [[names[part] for part in (*key, short(key[0]))] for key in frames]
    said = [[rule.bucket, rule.why] for rule in rules]
    return {"names": [*names], "frames": parts, "rules": said, "trees": list(map(json.loads, texts)), "tree": order}
