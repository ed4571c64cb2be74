"""A heap profile of any tool: what was live at chosen moments, by call stack, and what was allocated over the run.

A reader for each form of file fills it (see open_profile.py); all views are made of it. For programs,
`tlsmem.read_profile` returns one, and `Profile.call_sites` is the way to begin."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict

from tlsmem.base.errors import Usage
from tlsmem.base.phase_names import PEAK_OF
from tlsmem.profile.frames import Frame, entrance_owner, find_owner, is_allocator_frame, skip_allocators
from tlsmem.schema.roles import OWNERS, Owner

if TYPE_CHECKING:  # pydantic takes longer to import than most profiles take to read
    from tlsmem.store.record import Record

CapturedTool = Literal["heaptrack", "massif", "dhat", "sites"]  # by which profiles are taken here
Tool = CapturedTool | Literal["gperftools", "jemalloc", "memray", "pprof", "tcmalloc"]
Unit = Literal[
    "requested", "usable", "size class", "mapped", "unspecified", "copied", "counted"
]  # what a byte of a profile is; see `describe_unit`
PEAK, END, BASE = "peak", "end", "contexts"  # names of moments; what is live at BASE is no session's
DUMP = "dump"  # the one moment of a file that a program wrote while it ran, or when it ended
SITE_FRAMES = 3  # of a call stack, which tell one call site from another


class LiveHeap(NamedTuple):
    """Live heap: the bytes requested from the allocator and not freed, and in how many blocks (allocations); `blocks`
    is None where the tool does not count them."""

    bytes: int
    blocks: int | None


class AllocationTotals(NamedTuple):
    """What was allocated over the whole run, freed or not. `temporary` counts the blocks that were temporary, as
    Profile.temporary_means says; None where the tool does not count them. `lifetime` is the sum of the lifetimes of the
    blocks, in Profile.lifetime_unit; None where the tool does not measure them."""

    blocks: int
    bytes: int
    temporary: int | None
    lifetime: int | None = None


class CallSite(NamedTuple):
    """The live heap of one call site: the bytes, the blocks (None: not counted), whose memory it is ("server",
    "client", ...), and who called the allocator: at most three frames, innermost first, none where the tool knows no
    call stack. `str` of a frame is `function (file:line)`."""

    bytes: int
    blocks: int | None
    owner: Owner
    callers: tuple[Frame, ...]


Held = Sequence[int | None]  # a LiveHeap, or the list that it is when it comes back from JSON


class SumsByMoment(TypedDict):
    """What BucketSums finds, as JSON values: [bytes, blocks], by moment in order of time and by owner."""

    live_by_bucket: dict[str, Mapping[Owner, Mapping[str, Held]]]
    live_total: dict[str, Mapping[Owner, Held]]


class CallstackTree:
    """Call stacks by number. `frames(number)` are the frames of one, `owner(number)` says whose memory it allocates.

    They are a tree: a stack is a place and the stack that called it, 0 where that is not known. A place is the frames
    of one address, innermost first: several where functions were inlined there."""

    def __init__(self) -> None:
        self.places: list[tuple[Frame, ...]] = [()]
        self.nodes: list[tuple[int, int]] = [(0, 0)]  # (place, calling stack)
        self.numbers: dict[tuple[int, int], int] = {}
        self.owners: dict[int, Owner] = {0: "harness"}
        self.numbers_of_owners: dict[tuple[int, Owner], int] = {}
        self.enters_driver, self.searched = False, 0  # whether a frame of the places that were searched does
        self.caller_counts: dict[int, int] = {}  # by place: see `inner_places`

    def place(self, frames: tuple[Frame, ...]) -> int:
        """Add a place and return its number."""
        self.places.append(frames)
        return len(self.places) - 1

    def add(self, place: int, caller: int) -> int:
        """Return the number of this stack, the same each time."""
        found = self.numbers.setdefault((place, caller), len(self.nodes))
        if found == len(self.nodes):
            self.nodes.append((place, caller))
        return found

    def walk(self, stack: int) -> Iterator[int]:
        """Yield the numbers of the places of a stack, innermost first."""
        while stack:
            place, stack = self.nodes[stack]
            yield place

    def frames(self, stack: int) -> tuple[Frame, ...]:
        """Return the frames of a stack, innermost first: the allocator, its caller, ... `main`. Stack 0 has none."""
        return tuple(frame for place in self.walk(stack) for frame in self.places[place])

    def callers(self, stack: int, most: int | None = None) -> tuple[Frame, ...]:
        """Return the callers of the allocator, innermost first, at most so many; two calls in one line are equal."""
        callers = skip_allocators(self.frames(stack))[:most]
        return tuple(frame._replace(address=None) if frame.line else frame for frame in callers)

    def inner_places(self, stack: int, most: int) -> tuple[int, ...]:
        """Return the innermost places of a stack that say what `callers(stack, most)` are: of a million stacks that is
        far less work."""
        found, count, counts, nodes = [], 0, self.caller_counts, self.nodes
        while stack and count < most:
            place, stack = nodes[stack]
            found.append(place)
            if count:
                count += len(self.places[place])
                continue
            if place not in counts:
                frames = self.places[place]
                counts[place] = len(skip_allocators(frames)) if not all(map(is_allocator_frame, frames)) else 0
            count = counts[place]
        return tuple(found)

    def owned_stack(self, stack: int, known: Owner) -> int:
        """Return the number of this stack as one of the owner that the tool knows. Where its frames name no owner, a
        stack of two owners has a number for each.

        Raises ValueError where its frames name another owner."""
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
        """Return whose memory a stack allocates: "client", "server", "client context", "server context", or "harness"
        where none of its frames calls a driver for one of them, as in any program but a harness of tls-memtest.

        It is the owner of the calling stack or, where that has none, of the stack's own place; each is found once."""
        if stack in self.owners:  # as most often
            return self.owners[stack]
        if self.searched == len(self.places):  # looked at here, since a call for each stack takes long
            if not self.enters_driver:
                return "harness"
        elif not self.has_drivers():
            return "harness"
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

    def has_drivers(self) -> bool:
        """Return whether any frame calls a driver. Each place is searched once."""
        if self.searched < len(self.places) and not self.enters_driver:
            new = self.places[self.searched :]
            self.enters_driver = any(entrance_owner(frame) for place in new for frame in place)
        self.searched = len(self.places)
        return self.enters_driver


class SizedBlocks(NamedTuple):
    """Blocks of one size, in bytes, that one call stack allocated."""

    stack: int
    size: int
    blocks: int


@dataclass
class Moment:
    """What is live at one moment of the run: `bytes` in total, and `live` by number of the call stack. What belongs to
    no known call stack is under 0."""

    name: str  # a phase, PEAK_OF one, or PEAK, END or DUMP; `mark 3`, `snapshot 12` where phases are not known
    bytes: int  # as the tool counts them
    live: dict[int, LiveHeap]  # by number in Profile.stacks
    sizes: Callable[[], Iterable[SizedBlocks]] | None = field(default=None, compare=False, repr=False)  # None: not told


@dataclass
class Profile:
    """A heap profile. `call_sites` has the largest holders at a moment; `live` has the same by call stack, whose frames
    are `stacks.frames(number)`. All sizes are in bytes."""

    tool: Tool
    file: str  # for messages
    command: str  # the command line that was profiled
    stacks: CallstackTree
    moments: dict[str, Moment]  # by name, in order of time; then PEAK and END, where the tool has them
    allocated: dict[int, AllocationTotals] | None = None  # by number in `stacks`; None: the tool does not record it
    temporary_means: str = "freed before anything else was allocated"
    lifetime_unit: str | None = None  # instructions, µs, ...; None: the tool measures no lifetimes
    sizes: Counter[int] | None = None  # number of blocks allocated over the run, by their size in bytes
    runtime_s: float | None = None
    unit: Unit = "requested"
    sampled_every_bytes: int | None = (
        None  # sizes are estimates from one sample in so many, 0: not told; None: all is recorded
    )
    of_one_pair: bool = False  # a sites run: its bytes are those of one session of each role, and nothing else
    run: "Record | None" = None  # what the profiled harness printed, where its record is beside the profile
    sessions_of_role: int | None = None  # sessions of a role that share the bytes; 1 in a sites run; None: not known
    warnings: list[str] = field(default_factory=list)  # sentences that do not name the file: it is torn, ...
    untraced_peak: Moment | None = None  # the most that was live, where the tool took no call stacks there
    notes: dict[str, str] = field(default_factory=dict)  # what else the file says, by what it is about, as the tool's
    mode: str | None = None  # of the tool, where it has several: DHAT's heap, copy, rust-heap, ...
    why_no_moments: str | None = None  # a clause with the way out, where nothing is known of what was live
    torn: str | None = None  # the one of them that says that a part of the file is missing

    def sums_by_moment(self) -> SumsByMoment | None:
        """Return the sums by bucket where they are known without the call stacks, else None."""
        return None

    def recall(self, name: str, arguments: Sequence[str], code: bytes, compute: Callable[[], object]) -> Any:
        """Return `compute()`, or where the profile is a record's what that returned before: see tlsmem.base.memo."""
        return compute()

    def moment(self, name: str) -> Moment:
        """Return the moment of this name. Raises Usage with a sentence that lists the moments of the profile."""
        if name not in self.moments:
            raise Usage(f"{self.file}: no moment {name}; it has {', '.join(self.moments) or 'none'}")
        return self.moments[name]

    def call_sites(self, moment: str, owner: Owner | None = None) -> list[CallSite]:
        """Return what is live at a moment by call site, the largest first; of one owner, or of all.

        Raises Usage with a sentence where there is no such moment or owner."""
        if owner and owner not in OWNERS:
            raise Usage(f"owner {owner}: there are {', '.join(OWNERS)}")
        found: dict[tuple[Owner, tuple[Frame, ...]], LiveHeap] = {}
        for stack, held in self.live(moment, owner).items():
            site = (self.stacks.owner(stack), self.stacks.callers(stack, SITE_FRAMES))
            found[site] = add_live(found.get(site, LiveHeap(0, 0)), held)
        sites = [CallSite(held.bytes, held.blocks, *site) for site, held in found.items()]
        return sorted(sites, key=lambda site: (-site.bytes, site.owner, *map(str, site.callers)))

    def live(self, name: str, owner: Owner | None = None) -> dict[int, LiveHeap]:
        """Return what is live at a moment by number of the call stack; of one owner, or of all. Raises as `moment`."""
        return select_owner(self.stacks, self.moment(name).live, owner)

    def live_of_sessions(self, name: str, owner: Owner | None = None) -> dict[int, LiveHeap]:
        """Return what is live above BASE, by number of the call stack: of what was live before any session only the
        change is in it. A profile without the moment BASE has no such part: all is returned."""
        live, before = self.live(name, owner), self.moments.get(BASE)
        if before is None or name == BASE:
            return live
        base = select_owner(self.stacks, before.live, owner)
        nothing = LiveHeap(0, 0)
        above = {stack: subtract_live(live.get(stack, nothing), base.get(stack, nothing)) for stack in {**live, **base}}
        return {stack: held for stack, held in above.items() if held.bytes or held.blocks}

    def owners(self, name: str) -> Iterator[Owner]:
        """Yield whose memory is live at a moment, each owner once, in the order of their stacks."""
        yield from dict.fromkeys(self.stacks.owner(stack) for stack in self.moment(name).live)


def select_owner(stacks: CallstackTree, live: dict[int, LiveHeap], owner: Owner | None) -> dict[int, LiveHeap]:
    """Return what is of one owner; a copy of all without one."""
    if owner is None:
        return dict(live)
    return {stack: held for stack, held in live.items() if stacks.owner(stack) == owner}


def is_phase_end(name: str) -> bool:
    """Return whether a moment is the end of a phase, or a mark or snapshot in its place."""
    return name not in (PEAK, END, DUMP) and not name.startswith(PEAK_OF)


def profiler_name(tool: str) -> str:
    """Return the name of a tool as people know it."""
    return "DHAT" if tool == "dhat" else tool


UNITS: dict[Unit, str] = {
    "requested": "Bytes are requested bytes.",
    "usable": "Bytes are the usable sizes of blocks, which are larger than what was requested.",
    "size class": "Bytes are those of the allocator's size classes, which are larger than what was requested.",
    "mapped": "Bytes are mapped pages, not requested bytes.",
    "copied": "Bytes are those that memcpy, strcpy and others copied, not live heap.",
    "counted": "Sizes are in units that the program chose for its events; they are no bytes of the heap.",
    "unspecified": "The file does not say whether bytes are those requested or those of size classes.",
}


def describe_unit(profile: Profile) -> str:
    """Return sentences that say what the bytes of a profile are, and whether they are estimates."""
    if profile.sampled_every_bytes is None:
        return UNITS[profile.unit]
    return f"{UNITS[profile.unit]} All figures are estimates, {describe_sampling(profile)}."


def describe_sampling(profile: Profile) -> str:
    """Return how often a sampled profile took a sample, as a part of a sentence."""
    every = profile.sampled_every_bytes
    if every:
        return f"from one sample in about {every:,} B of allocations"
    return "from samples, and the file does not tell how often one was taken"


def locate_untraced_peak(profile: Profile) -> str:
    """Return where the peak is that has no call stacks, and where the most is live that has."""
    assert profile.untraced_peak
    peak, traced = profile.untraced_peak, max(profile.moments.values(), key=lambda moment: moment.bytes)
    return f"{peak.bytes:,} B at {peak.name}; call stacks of {traced.bytes:,} B at {traced.name}"


def describe_untraced_peak(profile: Profile) -> str:
    """Return a sentence, without the file, that says how the peak would have call stacks."""
    way = "with massif's --peak-inaccuracy=0 the peak has them"
    return f"no call stacks at the peak: {locate_untraced_peak(profile)}; {way}"


def add_live(held: LiveHeap, more: LiveHeap) -> LiveHeap:
    """Return the sum of both; its blocks are None where those of one are."""
    blocks = None if held.blocks is None or more.blocks is None else held.blocks + more.blocks
    return LiveHeap(held.bytes + more.bytes, blocks)


def add_totals(totals: AllocationTotals, more: AllocationTotals) -> AllocationTotals:
    """Return the sum of both; what one of them does not know, the sum does not know."""

    def add(one: int | None, other: int | None) -> int | None:
        return None if one is None or other is None else one + other

    return AllocationTotals(
        totals.blocks + more.blocks,
        totals.bytes + more.bytes,
        add(totals.temporary, more.temporary),
        add(totals.lifetime, more.lifetime),
    )


def subtract_live(held: LiveHeap, base: LiveHeap) -> LiveHeap:
    blocks = None if held.blocks is None or base.blocks is None else held.blocks - base.blocks
    return LiveHeap(held.bytes - base.bytes, blocks)


def sum_live(live: dict[int, LiveHeap]) -> LiveHeap:
    counted = [held.blocks for held in live.values() if held.blocks is not None]
    return LiveHeap(sum(held.bytes for held in live.values()), sum(counted) if len(counted) == len(live) else None)
