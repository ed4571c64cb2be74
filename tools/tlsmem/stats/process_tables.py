"""Process-wide tables: what a library keeps when all sessions are closed. They grow with the number of sessions
that are open at once, and keep their size. Figures per session leave them out, and they have a row of their own.

Told apart from leaks by allocation count: a doubling table reallocates O(log N) times; a leak allocates once per
session."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from tlsmem.schema.harness_output import Phase
from tlsmem.schema.records import Record
from tlsmem.stats import session_cost
from tlsmem.stats.remainders import HeapPair, keeps_state
from tlsmem.stats.session_cost import HeapCost, Quotient

ROLES = ("client", "server")
TABLE_NOTE = (
    "tables of the library's own, one for the process: they grow with N, and keep their size when sessions are closed"
)


class TableSize(NamedTuple):
    """Live bytes and blocks of a process, above those of another moment."""

    bytes: int
    blocks: int


def remaining_heap(run: Record, role: str) -> TableSize:
    """Return what the role has live when all sessions are closed, above what it had at the end of `contexts`.

    Raises ValueError when the run did not reach one of these phases."""
    after, before = (session_cost.heap_of(session_cost.phase_of(run, phase), role) for phase in ("closed", "contexts"))
    return TableSize(after.live_bytes - before.live_bytes, after.live_blocks - before.live_blocks)


def is_table(rest: TableSize, pairs: int) -> bool:
    """Return whether this can be a table: no more blocks than one that doubled until it had room for all pairs.

    An empty remainder is a table too."""
    return rest.bytes >= 0 and 0 <= rest.blocks <= pairs.bit_length()


def are_tables(rests: Sequence[TableSize], pairs: int) -> bool:
    """Return whether remainders, in the order of phases up to `closed`, can be tables: they never shrink."""
    grows = all(
        few.bytes <= many.bytes and few.blocks <= many.blocks for few, many in pairwise([TableSize(0, 0), *rests])
    )
    return grows and is_table(rests[-1], pairs)


def find_tables(pair: HeapPair) -> dict[str, tuple[TableSize, TableSize]]:
    """Return the tables of each role in the smaller and in the larger run, and of `total`, their sum.

    Empty where no role's tables grew from one run to the other, where a run did not reach `closed`, and where the suite
    asks for resumption, whose state is no table."""
    if keeps_state(pair[0]) or not all("closed" in [phase.phase for phase in run.phases] for run in pair):
        return {}
    few, many = pair
    held = {role: (remaining_heap(few, role), remaining_heap(many, role)) for role in ROLES}
    sound = {role: two for role, two in held.items() if two[0] != two[1] and all(map(fits, two, pair))}
    if not sound:
        return {}
    return sound | {"total": (sum_sizes(two[0] for two in sound.values()), sum_sizes(two[1] for two in sound.values()))}


def fits(rest: TableSize, run: Record) -> bool:
    """Return whether what is left of a run can be a table for its pairs."""
    return is_table(rest, run.sessions // 2)


def sum_sizes(rests: Iterable[TableSize]) -> TableSize:
    """Return the sum of at least one size."""
    return TableSize(*map(sum, zip(*rests, strict=True)))


def remove_tables(pair: HeapPair) -> HeapPair:
    """Return the heap runs without process-wide tables, in the phases where leaving them out makes sessions alike."""
    found = find_tables(pair)
    if not found:
        return pair
    names = [phase.phase for phase in pair[1].phases]
    live, peak = (
        {name: {role for role, two in found.items() if explains(two, figure(*pair, role, name))} for name in names}
        for figure in (session_cost.live_cost, session_cost.phase_peak_cost)
    )

    def without(run: Record, rests: dict[str, TableSize]) -> Record:
        phases = [less(phase, rests, live[phase.phase], peak[phase.phase]) for phase in run.phases]
        return run.model_copy(update={"phases": phases})

    few, many = pair
    return (
        without(few, {role: two[0] for role, two in found.items()}),
        without(many, {role: two[1] for role, two in found.items()}),
    )


def explains(rests: tuple[TableSize, TableSize], cost: HeapCost) -> bool:
    """Return whether the tables are why this cost is not a whole number of bytes or blocks a session."""
    few, many = rests
    blocks = Quotient(cost.blocks.amount - (many.blocks - few.blocks), cost.blocks.sessions)
    uneven = cost.blocks.remainder if few.blocks != many.blocks else cost.bytes.remainder
    return bool(uneven) and not blocks.remainder


def less(phase: Phase, rests: dict[str, TableSize], live: set[str], peak: set[str]) -> Phase:
    """Return the phase without the tables: of the roles in `live` at its end, of those in `peak` at its peak."""
    heaps = {}
    for role in live | peak:
        heap = session_cost.heap_of(phase, role)
        now, most = (rests[role] if role in roles else TableSize(0, 0) for roles in (live, peak))
        figures = {"live_bytes": heap.live_bytes - now.bytes, "live_blocks": heap.live_blocks - now.blocks}
        figures |= {"peak_bytes": heap.peak_bytes - most.bytes, "peak_blocks": heap.peak_blocks - most.blocks}
        heaps[role] = heap.model_copy(update=figures)
    return phase.model_copy(update={"heap": phase.heap.model_copy(update=heaps)}) if phase.heap and heaps else phase
