"""Which runs of OLD stand against which of NEW: of one suite and setting each, one stack against one stack."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from tlsmem.compare import declared_settings
from tlsmem.compare.declared_settings import SettingDifference
from tlsmem.compare.figure_places import timed_phase_name
from tlsmem.stats import selection, timed_selection
from tlsmem.stats.series import Setting
from tlsmem.store.record import Record

MEMORY_WORK = "memory"
TOGETHER = (("rss",), ("heap", "sites"), ("time",))  # meters whose runs go together


@dataclass(frozen=True)
class Kind:
    """What the runs of a line have in common, on either side."""

    stack: str
    suite: str
    allocator: str
    window: str
    roles: str
    peer: str
    env: str
    cpu: str
    work: str  # "memory", or of timed runs what a thread does

    @staticmethod
    def from_record(record: Record) -> "Kind":
        one = Setting.from_record(record)
        work = timed_phase_name(record) if timed_selection.is_timed(record) else MEMORY_WORK
        known = (one.allocator, str(one.window), one.roles, one.peer or declared_settings.OWN_STACK, one.env, one.cpu)
        return Kind(record.stack, one.suite, *known, work)

    def __str__(self) -> str:
        usual = {
            "allocator": "system",
            "window": "all",
            "env": "lab",
            "cpu": "all",
            "peer": declared_settings.OWN_STACK,
        }
        said = [f"{name} {getattr(self, name)}" for name, value in usual.items() if getattr(self, name) != value]
        said += [self.work] if self.work != MEMORY_WORK else [f"roles {self.roles}"] * (self.roles != "together")
        return ", ".join([self.suite, self.stack, *said])


@dataclass(frozen=True)
class Match:
    """Runs that are compared: of one kind on each side; `apart` is what differs that must not."""

    kinds: tuple[Kind, Kind]
    old: tuple[Record, ...]
    new: tuple[Record, ...]
    apart: tuple[SettingDifference, ...] = ()

    @property
    def suite(self) -> str:
        return join_arrow(*(kind.suite for kind in self.kinds))

    @property
    def stack(self) -> str:
        return join_arrow(*(kind.stack for kind in self.kinds))


@dataclass(frozen=True)
class Matching:
    matches: tuple[Match, ...]
    only: tuple[tuple[str, Kind], ...]  # ("OLD" or "NEW", what it alone has)


def join_arrow(old: str, new: str) -> str:
    return old if old == new else f"{old} -> {new}"


def select_comparable(records: Iterable[Record]) -> tuple[list[Record], tuple[str, ...]]:
    """The newest runs of each kind, and sentences of those that are left out."""
    records = list(records)
    memory, times = selection.select(records), timed_selection.select(records)
    return [*memory.records, *times.records], (*memory.left_out, *times.left_out)


def match_runs(
    old: Sequence[Record], new: Sequence[Record], by: Collection[str] = (), stacks: dict[str, str] | None = None
) -> Matching:
    """Runs that are `comparable`. `by`: aspects that differ since they are what is compared; `stacks`: OLD's to NEW's
    names where these differ, which a side of one stack each has of its own accord."""
    pairs = stacks if stacks is not None else single_stack_names(old, new)
    by = {*by, "stack"} if pairs else {*by}
    left, right = grouped(old, by, pairs), grouped(new, by, {})
    found = [make_match(left.pop(key), right.pop(key), by) for key in [key for key in left if key in right]]
    for key, other in nearly(left, right):
        found.append(make_match(left.pop(key), right.pop(other), by))
    only = [("OLD", Kind.from_record(runs[0])) for runs in left.values()]
    only += [("NEW", Kind.from_record(runs[0])) for runs in right.values()]
    return Matching(tuple(found), tuple(only))


def single_stack_names(old: Sequence[Record], new: Sequence[Record]) -> dict[str, str]:
    """OLD's one stack to NEW's, where each has one and they are called otherwise."""
    names = [{one.stack for one in side} for side in (old, new)]
    if any(len(side) != 1 for side in names) or names[0] == names[1]:
        return {}
    return {names[0].pop(): names[1].pop()}


def without_aspect(kind: Kind, aspect: str) -> Kind:
    """Return the kind, told apart by the aspect no longer."""
    if aspect == "stack":  # it has NEW's name already
        return kind
    if aspect == "compiler":
        return replace(kind, stack=without_variant(kind.stack, "clang"))
    return replace(kind, **{aspect: ""})


def without_variant(stack: str, variant: str) -> str:
    return stack.replace(f"+{variant}", "")


def grouped(records: Sequence[Record], by: Collection[str], names: dict[str, str]) -> dict[Kind, list[Record]]:
    """By what both sides must share; of records of OLD the stack is called what NEW calls it."""
    found: dict[Kind, list[Record]] = {}
    for one in records:
        kind = Kind.from_record(one)
        kind = replace(kind, stack=names.get(kind.stack, kind.stack))
        for aspect in by:
            kind = without_aspect(kind, aspect)
        found.setdefault(kind, []).append(one)
    return found


def nearly(left: dict[Kind, list[Record]], right: dict[Kind, list[Record]]) -> list[tuple[Kind, Kind]]:
    """What differs in one setting only, so that it can be said which: one on each side of a stack, suite and work."""
    found = []
    for key in left:
        alike = [other for other in right if near(key, other)]
        if len(alike) == 1 and sum(near(other, alike[0]) for other in left) == 1:
            found.append((key, alike[0]))
    return found


def near(one: Kind, other: Kind) -> bool:
    return (one.stack, one.suite, one.work) == (other.stack, other.suite, other.work)


def make_match(old: Sequence[Record], new: Sequence[Record], by: Collection[str]) -> Match:
    apart: dict[SettingDifference, None] = {}
    for meters in TOGETHER:
        left, right = ([one for one in side if one.meter in meters] for side in (old, new))
        if left and right:
            apart |= dict.fromkeys(declared_settings.find_differences(left, right, by))
    return Match((Kind.from_record(old[0]), Kind.from_record(new[0])), tuple(old), tuple(new), tuple(apart))
