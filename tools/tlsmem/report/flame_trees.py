"""Call stacks of many sites runs as one page has them: names, frames and rules once, and a tree for each run.

A tree is columns by node, callers first: who called, as a difference; frame; rule; lines; and what the node itself
holds: moment, bytes, blocks, again where they change. They are packed by deflate, which a browser can undo."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from tlsmem.explore.flamegraph import call_tree
from tlsmem.explore.flamegraph.call_tree import Tree
from tlsmem.explore.flamegraph.page_data import Numbers, changes
from tlsmem.explore.short_function_names import short
from tlsmem.profile.buckets.rules import Rule
from tlsmem.profile.buckets.sums import Sums
from tlsmem.profile.heap_profile import Profile
from tlsmem.report.sections import deflated

ANOTHER = "(for another purpose)"  # stacks with the same functions whose blocks are for something else
ROLES = ("client", "server")


@dataclass
class Grown:
    """One pair's tree at these moments, and which rule says what a node's own bytes are for."""

    tree: Tree = field(default_factory=Tree)
    rules: dict[int, Rule | None] = field(default_factory=dict)

    def put(self, place: int, rule: Rule | None) -> int:
        """The node for bytes of this rule: the place itself, or one below it where that is taken."""
        while self.rules.setdefault(place, rule) != rule:
            place = self.tree.node(place, (ANOTHER, "", ""))
        return place


def grown(profile: Profile, moments: Sequence[str]) -> Grown:
    """Of a sites run: what its two sessions hold at the ends of these phases."""
    made, sums, places = Grown(), Sums(profile), {}
    for at, name in enumerate(moments):
        for stack, held in profile.moments[name].live.items() if name in profile.moments else ():
            if profile.stacks.owner(stack) not in ROLES:
                continue
            if stack not in places:
                frames = call_tree.inner(profile.stacks.frames(stack))
                keys = ((call_tree.key(frame), frame.line) for frame in frames)
                places[stack] = made.put(made.tree.place(profile.stacks.owner(stack), keys), sums.rule(stack))
            made.tree.add(places[stack], at, held)
    return made


def columns(one: Grown, frames: Numbers, rules: Numbers) -> dict:
    tree = one.tree
    chosen = [one.rules.get(node) for node in range(len(tree.keys))]
    return {
        "callers": [node - caller for node, caller in enumerate(tree.callers)],
        "frames": [frames[key] for key in tree.keys],
        "rules": [-1 if rule is None else rules[rule] for rule in chosen],
        "lines": [sorted(lines) for lines in tree.lines],
        "held": [changes(held) for held in tree.held],
    }


def together(trees: Sequence[Grown]) -> dict:
    """`tree` says which of `trees` each is: equal ones stand there once."""
    names, frames, rules, texts = Numbers(), Numbers(), Numbers(), Numbers()
    order = [texts[json.dumps(columns(one, frames, rules), separators=(",", ":"))] for one in trees]
    parts = [[names[part] for part in (*key, short(key[0]))] for key in frames]
    said = [[rule.bucket, rule.why] for rule in rules]
    return {"names": [*names], "frames": parts, "rules": said, "trees": list(map(json.loads, texts)), "tree": order}


def packed(value: object) -> str:
    return deflated(json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False))
