"""The tree that a page draws: functions by who called them, and what each itself holds at each moment.

Its first level says whose the memory is; below a driver's entrance come the stack's own functions. Allocators at the
inner end are left out, and so is how the harness came to the entrance: neither tells where bytes are."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from tlsmem.explore.diff import match_callstacks
from tlsmem.explore.diff.profile_diff import Diff
from tlsmem.explore.diff.rows import SESSIONS, WARM_UP, DiffRow
from tlsmem.profile.buckets import rules
from tlsmem.profile.buckets.rules import CONTEXT
from tlsmem.profile.buckets.sums import BucketSums
from tlsmem.profile.frames import Frame, format_place, skip_allocators
from tlsmem.profile.heap_profile import LiveHeap, Profile, add_live

ALL, SMALLER_SITES, UNKNOWN = "all", "(smaller sites)", "(no call stack)"
MOST = 1_000  # functions of a stack; all that those call is one more
LEAST_SHARED = 0.1  # of the bytes of two stacks: with less, their difference is one of purposes, not of functions
ANOTHER = "(for another purpose)"  # stacks with the same functions whose blocks are for something else
BEYOND = f"(calls beyond {MOST:,})"
OURS = ("memtest/", "harness-c/", "harness-rust/")
CRATE = re.compile(r"[<&*]*(?:dyn |impl |mut )*([a-z_]\w*)::")
RUST = {"std", "core", "alloc"}

FunctionKey = tuple[str, str, str]  # function, file, module; empty where not known


class CallTree:
    """Nodes are numbers: 0 is all, and whoever calls comes before those that it calls."""

    def __init__(self, buckets: Sequence[str] = ()) -> None:
        self.known = buckets  # in the order of their colours; without any it is areas that have colours
        self.keys: list[FunctionKey] = [(ALL, "", "")]
        self.callers: list[int] = [0]
        self.lines: list[set[int]] = [set()]  # that the calls, or the allocations, stand in
        self.held: list[dict[int, LiveHeap]] = [{}]  # by moment, of this node itself
        self.buckets: list[str] = [""]  # what a node's own bytes are for
        self.numbers: dict[tuple[int, FunctionKey], int] = {}

    def node(self, caller: int, key: FunctionKey, line: int | None = None) -> int:
        found = self.numbers.setdefault((caller, key), len(self.keys))
        if found == len(self.keys):
            self.keys.append(key)
            self.callers.append(caller)
            self.lines.append(set())
            self.held.append({})
            self.buckets.append("")
        if line:
            self.lines[found].add(line)
        return found

    def place(self, whose: str, keys: Iterable[tuple[FunctionKey, int | None]]) -> int:
        """Where a stack's bytes stand; functions and their lines, root first."""
        node = first = self.node(0, (whose, "", ""))
        for depth, (key, line) in enumerate(keys):
            if depth == MOST:
                node = self.node(node, (BEYOND, "", ""))
                break
            node = self.node(node, key, line)
        return self.node(node, (UNKNOWN, "", "")) if node == first else node

    def add(self, node: int, moment: int, held: LiveHeap) -> None:
        self.held[node][moment] = add_live(self.held[node].get(moment, LiveHeap(0, 0)), held)

    def totals(self) -> list[Counter[int]]:
        """Bytes by moment, of each node and all that it called."""
        sums = [Counter({moment: held.bytes for moment, held in held.items()}) for held in self.held]
        for node in range(len(sums) - 1, 0, -1):
            into = sums[self.callers[node]]
            for moment, size in sums[node].items():
                into[moment] += size
        return sums

    def kind(self, node: int) -> str:
        """What gives a node its colour; nothing where that is only what it called."""
        return self.buckets[node] if self.known else area(self.keys[node])

    def kinds(self) -> list[str]:
        """In the order of their colours."""
        if self.known:
            return [*self.known]
        sizes: Counter[str] = Counter()
        for node, held in enumerate(self.held):
            sizes[self.kind(node)] += sum(one.bytes for one in held.values())
        return [kind for kind, _ in sizes.most_common() if kind]

    def owners(self) -> dict[int, str]:
        """Nodes of the first level, by whose they are."""
        return {node: self.keys[node][0] for node in range(1, len(self.keys)) if not self.callers[node]}


def tree_from_profile(profile: Profile, stacks: Iterable[int]) -> CallTree:
    """Of these stacks, at all moments."""
    buckets = BucketSums(profile)
    tree, places = CallTree([*rules.buckets()] if buckets.family in rules.families() else ()), {}
    for stack in stacks:
        shown = frames_from_driver(profile.stacks.frames(stack))
        places[stack] = tree.place(profile.stacks.owner(stack), ((function_key(frame), frame.line) for frame in shown))
        if tree.known and profile.stacks.owner(stack) != "harness":
            tree.buckets[places[stack]] = buckets.bucket(stack)
    for at, moment in enumerate(profile.moments.values()):
        for stack, held in moment.live.items():
            if stack in places:
                tree.add(places[stack], at, held)
    return tree


def shared_share(diff: Diff) -> float:
    """The share of OLD's and NEW's bytes that are below a function of a library that both call, of those that are below
    any; of sessions, where there are some. 1 where no library function is known."""
    sizes: dict[tuple[str, str], tuple[int, int]] = {}
    for row in [row for row in diff.rows if row.part in SESSIONS] or diff.rows:
        library = (frame for frame in frames_from_driver(row.frames) if not (frame.file or "").startswith(OURS))
        if first := next(iter(library), None):
            key = row.part, match_callstacks.versionless_name(first)
            old, new = sizes.get(key, (0, 0))
            sizes[key] = old + max(0, row.old.bytes), new + max(0, row.new.bytes)
    total = sum(map(sum, sizes.values()))
    return sum(old + new for old, new in sizes.values() if old and new) / total if total else 1.0


def is_by_purpose(diff: Diff) -> bool:
    """Whether the difference is drawn by what the bytes are for: of two known libraries that share too little."""
    known = all(BucketSums(side.profile).family in rules.families() for side in (diff.old, diff.new))
    return known and shared_share(diff) < LEAST_SHARED


def purpose(diff: Diff, row: DiffRow) -> str:
    """The bucket of a row, by the rules of the side that holds it; nothing for what the harness holds."""
    if row.part == "harness":
        return ""
    side = diff.new if row.new.bytes else diff.old
    return CONTEXT if row.part == WARM_UP else rules.find_bucket(row.frames, BucketSums(side.profile).family)


def tree_from_diff(diff: Diff) -> CallTree:
    """Three moments: what OLD holds, what NEW holds, and by how much that differs. Without lines, which move. With
    buckets where the difference is drawn by these.

    Where the numbers of sessions differ, sessions' bytes are those of the larger number. What is less than nothing,
    since it was there before any session and is freed, is nothing."""
    tree = CallTree([*rules.buckets()] if is_by_purpose(diff) else ())
    for row in diff.rows:
        node = tree.place(row.part, ((versionless_key(frame), None) for frame in frames_from_driver(row.frames)))
        if tree.known:
            bucket = purpose(diff, row)
            while tree.held[node] and tree.buckets[node] != bucket:
                node = tree.node(node, (ANOTHER, "", ""))
            tree.buckets[node] = bucket
        by = diff.divisors(row.part)
        old, new = (max(0, round(side.bytes * max(by) / one)) for side, one in zip((row.old, row.new), by, strict=True))
        for at, size in enumerate((old, new, abs(new - old))):
            tree.add(node, at, LiveHeap(size, None))
    return tree


def frames_from_driver(frames: Sequence[Frame]) -> Iterable[Frame]:
    """From the entrance to a driver, or from main, to who called the allocator; root first."""
    return reversed(match_callstacks.frames_from_driver(skip_allocators(frames)))


def function_key(frame: Frame) -> FunctionKey:
    module = (frame.module or "").rpartition("/")[2]
    return frame.function or format_place(module or "?", frame), frame.file or "", module


def versionless_key(frame: Frame) -> FunctionKey:
    """As key, without what is a version's."""
    return match_callstacks.versionless_name(frame), match_callstacks.versionless_file(frame) or "", ""


def area(key: FunctionKey) -> str:
    """What a function is part of, for its colour: a crate, a directory of sources, a library, or the harness."""
    function, file, module = key
    if file.startswith(OURS):
        return "harness"
    if crate := CRATE.match(function):
        return "Rust's own" if crate[1] in RUST else crate[1]
    return "/".join(file.split("/")[:-1][-2:]) or module
