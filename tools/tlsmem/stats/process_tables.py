"""Process-wide tables: what a library keeps when all sessions are closed. They grow with the number of sessions
that are open at once, and keep their size. Figures per session leave them out, and they have a row of their own.

Told apart from leaks by allocation count: a doubling table reallocates O(log N) times; a leak allocates once per
session."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise, product
from typing import NamedTuple

from tlsmem.stats import session_cost
from tlsmem.stats.remainders import HeapPair, keeps_state
from tlsmem.stats.session_cost import HeapCost, Quotient
from tlsmem.store.record import Phase, Record

ROLES = ("client", "server")
TABLE_NOTE = "process-wide tables of the library: they grow with N and keep their size when sessions are closed"


class TableSize(NamedTuple):
    """Live bytes and blocks of a process, above those of another moment."""

    bytes: int
    blocks: int


EMPTY = TableSize(0, 0)
TwoSizes = tuple[TableSize, TableSize]  # in the smaller run, and in the larger
Places = set[tuple[str, str]]  # phases and roles


def remaining_heap(run: Record, role: str) -> TableSize:
    """Return what the role has live when all sessions are closed, above what it had at the end of `contexts`.

    Raises ValueError when the run did not reach one of these phases."""
    after, before = (session_cost.heap_of(session_cost.phase_of(run, phase), role) for phase in ("closed", "contexts"))
    return TableSize(after.live_bytes - before.live_bytes, after.live_blocks - before.live_blocks)


def is_table(size: TableSize, pairs: int) -> bool:
    """Return whether this can be a table: no more blocks than one that doubled until it had room for all pairs.

    An empty remainder is a table too."""
    return size.bytes >= 0 and 0 <= size.blocks <= pairs.bit_length()


def are_tables(sizes: Sequence[TableSize], pairs: int) -> bool:
    """Return whether remainders, in the order of phases up to `closed`, can be tables: they never shrink."""
    steps = pairwise([EMPTY, *sizes])
    grows = all(few.bytes <= many.bytes and few.blocks <= many.blocks for few, many in steps)
    return grows and is_table(sizes[-1], pairs)


def find_tables(pair: HeapPair) -> dict[str, TwoSizes]:
    """Return the tables of each role in the smaller and in the larger run, and of `total`, their sum.

    Empty where no role's tables grew from one run to the other, where a run did not reach `closed`, and where the suite
    asks for resumption, whose state is no table."""
    if keeps_state(pair[0]) or not all("closed" in run.phase_names for run in pair):
        return {}
    few, many = pair
    tables: dict[str, TwoSizes] = {}
    for role in ROLES:
        small, large = remaining_heap(few, role), remaining_heap(many, role)
        if small != large and is_table(small, few.sessions // 2) and is_table(large, many.sessions // 2):
            tables[role] = small, large
    if not tables:
        return {}
    smaller, larger = zip(*tables.values(), strict=True)
    return tables | {"total": (sum_sizes(smaller), sum_sizes(larger))}


def sum_sizes(sizes: Iterable[TableSize]) -> TableSize:
    """Return the sum of at least one size."""
    return TableSize(*map(sum, zip(*sizes, strict=True)))


def remove_tables(pair: HeapPair) -> HeapPair:
    """Return the heap runs without process-wide tables, in the phases where leaving them out makes sessions alike."""
    tables = find_tables(pair)
    if not tables:
        return pair

    def places(cost: Callable[[Record, Record, str, str], HeapCost]) -> Places:
        found = product(pair[1].phase_names, tables)
        return {(phase, role) for phase, role in found if explains(tables[role], cost(*pair, role, phase))}

    live, peak = places(session_cost.live_cost), places(session_cost.phase_peak_cost)
    few, many = pair
    return (
        subtract(few, {role: small for role, (small, _) in tables.items()}, live, peak),
        subtract(many, {role: large for role, (_, large) in tables.items()}, live, peak),
    )


def explains(sizes: TwoSizes, cost: HeapCost) -> bool:
    """Return whether the tables are why this cost is not a whole number of bytes or blocks a session."""
    small, large = sizes
    blocks = Quotient(cost.blocks.amount - (large.blocks - small.blocks), cost.blocks.sessions)
    uneven = cost.blocks.remainder if small.blocks != large.blocks else cost.bytes.remainder
    return bool(uneven) and not blocks.remainder


def subtract(run: Record, tables: Mapping[str, TableSize], live: Places, peak: Places) -> Record:
    """Return the run without the tables: at the ends of the phases in `live`, and at the peaks of those in `peak`."""

    def reduced(phase: Phase) -> Phase:
        heaps = {}
        for role, table in tables.items():
            if (phase.phase, role) in live | peak:
                heap = session_cost.heap_of(phase, role)
                at_end = table if (phase.phase, role) in live else EMPTY
                at_peak = table if (phase.phase, role) in peak else EMPTY
                heaps[role] = heap._replace(
                    live_bytes=heap.live_bytes - at_end.bytes,
                    live_blocks=heap.live_blocks - at_end.blocks,
                    peak_bytes=heap.peak_bytes - at_peak.bytes,
                    peak_blocks=heap.peak_blocks - at_peak.blocks,
                )
        return phase.with_heap(heaps) if heaps else phase

    return run.with_phases([reduced(phase) for phase in run.phases])
