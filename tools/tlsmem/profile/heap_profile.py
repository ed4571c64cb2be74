"""A heap profile, whatever tool took it: what was live at chosen moments, by call stack, and what was allocated.

Readers fill it, one per form of file (see open_profile.py); all views are made of it."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, TypedDict

from tlsmem.base.phase_names import PEAK_OF
from tlsmem.profile.frames import Frame, find_owner
from tlsmem.schema.roles import Owner

if TYPE_CHECKING:  # pydantic takes longer to import than most profiles take to read
    from tlsmem.store.record import Record

Tool = Literal["heaptrack", "massif", "dhat", "sites"]
PEAK, END, BASE = "peak", "end", "contexts"  # names of moments; what is live at BASE is no session's


class LiveHeap(NamedTuple):
    """Requested and live. `blocks` is None where the tool does not count them."""

    bytes: int
    blocks: int | None


class AllocationTotals(NamedTuple):
    """Over the whole run; temporary are those that were freed before anything else was allocated."""

    blocks: int
    bytes: int
    temporary: int | None


Held = Sequence[int | None]  # a LiveHeap, or the list that it is when it comes back from JSON


class SumsByMoment(TypedDict):
    """What BucketSums finds, as JSON values: [bytes, blocks], by moment in order of time and by owner."""

    live_by_bucket: dict[str, Mapping[Owner, Mapping[str, Held]]]
    live_total: dict[str, Mapping[Owner, Held]]


class CallstackTree:
    """Call stacks as a tree: a stack is a place and the stack that called it, 0 where nobody is known.

    A place is the frames of one address, innermost first: several where functions were inlined there."""

    def __init__(self) -> None:
        self.places: list[tuple[Frame, ...]] = [()]
        self.nodes: list[tuple[int, int]] = [(0, 0)]  # (place, calling stack)
        self.numbers: dict[tuple[int, int], int] = {}
        self.owners: dict[int, Owner] = {0: "harness"}
        self.numbers_of_owners: dict[tuple[int, Owner], int] = {}

    def place(self, frames: tuple[Frame, ...]) -> int:
        self.places.append(frames)
        return len(self.places) - 1

    def add(self, place: int, caller: int) -> int:
        """The number of this stack; the same each time."""
        found = self.numbers.setdefault((place, caller), len(self.nodes))
        if found == len(self.nodes):
            self.nodes.append((place, caller))
        return found

    def walk(self, stack: int) -> Iterator[int]:
        """Its places, innermost first."""
        while stack:
            place, stack = self.nodes[stack]
            yield place

    def frames(self, stack: int) -> tuple[Frame, ...]:
        """Innermost first."""
        return tuple(frame for place in self.walk(stack) for frame in self.places[place])

    def owned_stack(self, stack: int, known: Owner) -> int:
        """This stack, as the owner's whom its tool knows. Raises ValueError when its frames tell of another one.

        Where they tell nobody's, a stack of two owners has a number for each."""
        told = self.owner(stack)
        if told != "harness":
            if told != known:
                raise ValueError(f"a block of the {known} is allocated by a call for the {told}")
            return stack
        number = self.numbers_of_owners.setdefault((stack, known), len(self.nodes))
        if number == len(self.nodes):
            self.nodes.append(self.nodes[stack])
            self.owners[number] = known
        return number

    def owner(self, stack: int) -> Owner:
        """Of the stack that called it, or where that is nobody's, of its own place: each stack is looked at once."""
        if stack in self.owners:  # as most often
            return self.owners[stack]
        unknown = []
        while stack not in self.owners:
            unknown.append(stack)
            stack = self.nodes[stack][1]
        found = self.owners[stack]
        for one in reversed(unknown):
            if found == "harness":
                found = find_owner(self.places[self.nodes[one][0]])
            self.owners[one] = found
        return found


@dataclass
class Moment:
    """`bytes` as the tool tells them; what no call stack explains of them is in `live` under the stack 0."""

    name: str  # a phase, PEAK_OF one, or PEAK or END; `mark 3`, `snapshot 12` where phases are not known
    bytes: int
    live: dict[int, LiveHeap]  # by stack


@dataclass
class Profile:
    tool: Tool
    file: str  # for messages
    command: str
    stacks: CallstackTree
    moments: dict[str, Moment]  # in order of time; then PEAK and END, those that the tool tells
    allocated: dict[int, AllocationTotals] | None = None  # by stack; None: the tool does not tell
    sizes: Counter[int] | None = None  # how many blocks of how many bytes were allocated
    runtime_s: float | None = None
    of_one_pair: bool = False  # one session of each role, and nothing else: a sites run
    run: "Record | None" = None  # what the profiled harness printed, when the record is there
    sessions_of_role: int | None = None  # of which the bytes are; None: not known. 1 in a sites run
    warnings: list[str] = field(default_factory=list)  # sentences that do not name the file: it is torn, ...
    torn: str | None = None  # the one of them that says that a part of the file is missing

    def sums_by_moment(self) -> SumsByMoment | None:
        """Sums by bucket that are known without the call stacks; None: they are not."""
        return None

    def moment(self, name: str) -> Moment:
        """Raises ValueError with a sentence that names those that there are."""
        if name not in self.moments:
            raise ValueError(f"{self.file}: no moment {name}; it has {', '.join(self.moments) or 'none'}")
        return self.moments[name]

    def live(self, name: str, owner: Owner | None = None) -> dict[int, LiveHeap]:
        """By stack; of one owner, or of all."""
        live = self.moment(name).live
        return {stack: held for stack, held in live.items() if owner in (None, self.stacks.owner(stack))}

    def live_of_sessions(self, name: str, owner: Owner | None = None) -> dict[int, LiveHeap]:
        """What is live above BASE, by stack: of what was there before any session only the change; without BASE all."""
        live, before = self.live(name, owner), self.moments.get(BASE)
        if before is None or name == BASE:
            return live
        base = {stack: held for stack, held in before.live.items() if owner in (None, self.stacks.owner(stack))}
        nothing = LiveHeap(0, 0)
        above = {stack: subtract_live(live.get(stack, nothing), base.get(stack, nothing)) for stack in {**live, **base}}
        return {stack: held for stack, held in above.items() if held.bytes or held.blocks}

    def owners(self, name: str) -> Iterator[Owner]:
        """Each once, in the order of their stacks."""
        yield from dict.fromkeys(self.stacks.owner(stack) for stack in self.moment(name).live)


def is_phase_end(name: str) -> bool:
    """Whether the moment is the end of a phase, or a mark or snapshot in its place."""
    return name not in (PEAK, END) and not name.startswith(PEAK_OF)


def profiler_name(tool: str) -> str:
    """As people know it."""
    return "DHAT" if tool == "dhat" else tool


def add_live(held: LiveHeap, more: LiveHeap) -> LiveHeap:
    blocks = None if held.blocks is None or more.blocks is None else held.blocks + more.blocks
    return LiveHeap(held.bytes + more.bytes, blocks)


def subtract_live(held: LiveHeap, base: LiveHeap) -> LiveHeap:
    blocks = None if held.blocks is None or base.blocks is None else held.blocks - base.blocks
    return LiveHeap(held.bytes - base.bytes, blocks)


def sum_live(live: dict[int, LiveHeap]) -> LiveHeap:
    counted = [held.blocks for held in live.values() if held.blocks is not None]
    return LiveHeap(sum(held.bytes for held in live.values()), sum(counted) if len(counted) == len(live) else None)
