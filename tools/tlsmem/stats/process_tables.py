"""What sessions leave in their process when all are closed: tables of a library's own, which grow with the sessions
that are there at once, and keep their size. They are no session's: its figures are without them, and they are a row of
their own.

Told from memory that sessions lose by its blocks: a table that doubles is enlarged less often than sessions come."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from tlsmem.schema.harness_output import HeapCounts, Phase
from tlsmem.schema.records import Record
from tlsmem.stats import session_cost
from tlsmem.stats.remainders import HeapPair, keeps_state
from tlsmem.stats.session_cost import HeapCost, Quotient

ROLES = ("client", "server")
TABLE_NOTE = (
    "tables of the library's own, one for the process: they grow with N, and keep their size when sessions are closed"
)


class TableSize(NamedTuple):
    bytes: int
    blocks: int


def remaining_heap(run: Record, role: str) -> TableSize:
    """Live when all sessions are closed, above `contexts`."""
    after, before = (getattr(session_cost.phase_of(run, phase).heap, role) for phase in ("closed", "contexts"))
    return TableSize(after.live_bytes - before.live_bytes, after.live_blocks - before.live_blocks)


def is_table(rest: TableSize, pairs: int) -> bool:
    """Or nothing. No more blocks than a table has that doubled until there was room for all."""
    return rest.bytes >= 0 and 0 <= rest.blocks <= pairs.bit_length()


def are_tables(rests: Sequence[TableSize], pairs: int) -> bool:
    """Whether rests in the order of phases are such tables': none of it ever goes, and the last is after `closed`."""
    grows = all(
        few.bytes <= many.bytes and few.blocks <= many.blocks for few, many in pairwise([TableSize(0, 0), *rests])
    )
    return grows and is_table(rests[-1], pairs)


def find_tables(pair: HeapPair) -> dict[str, tuple[TableSize, TableSize]]:
    """By role, where they have grown from one run to the other; and their total. Resumption state is no table."""
    if keeps_state(pair[0]) or not all("closed" in [phase.phase for phase in run.phases] for run in pair):
        return {}
    held = {role: tuple(remaining_heap(run, role) for run in pair) for role in ROLES}
    sound = {role: two for role, two in held.items() if two[0] != two[1] and all(map(fits, two, pair))}
    return sound | ({"total": tuple(map(sum_sizes, zip(*sound.values(), strict=True)))} if sound else {})


def fits(rest: TableSize, run: Record) -> bool:
    return is_table(rest, run.sessions // 2)


def sum_sizes(rests: Iterable[TableSize]) -> TableSize:
    return TableSize(*map(sum, zip(*rests, strict=True)))


def remove_tables(pair: HeapPair) -> HeapPair:
    """The same heap runs as if there were no such table, in the phases where taking it away makes sessions alike."""
    found = find_tables(pair)
    if not found:
        return pair
    names = [phase.phase for phase in pair[1].phases]
    live, peak = (
        {name: {role for role, two in found.items() if explains(two, figure(*pair, role, name))} for name in names}
        for figure in (session_cost.live_cost, session_cost.phase_peak_cost)
    )
    changed = []
    for run, at in zip(pair, (0, 1), strict=True):
        rests = {role: two[at] for role, two in found.items()}
        phases = [less(phase, rests, live[phase.phase], peak[phase.phase]) for phase in run.phases]
        changed.append(run.model_copy(update={"phases": phases}))
    return tuple(changed)


def explains(rests: tuple[TableSize, TableSize], cost: HeapCost) -> bool:
    """Whether it is why this figure is not whole."""
    few, many = rests
    blocks = Quotient(cost.blocks.amount - (many.blocks - few.blocks), cost.blocks.sessions)
    uneven = cost.blocks.remainder if few.blocks != many.blocks else cost.bytes.remainder
    return bool(uneven) and not blocks.remainder


def less(phase: Phase, rests: dict[str, TableSize], live: set[str], peak: set[str]) -> Phase:
    heaps = {}
    for role in live | peak:
        heap: HeapCounts = getattr(phase.heap, role)
        now, most = (rests[role] if role in roles else TableSize(0, 0) for roles in (live, peak))
        figures = {"live_bytes": heap.live_bytes - now.bytes, "live_blocks": heap.live_blocks - now.blocks}
        figures |= {"peak_bytes": heap.peak_bytes - most.bytes, "peak_blocks": heap.peak_blocks - most.blocks}
        heaps[role] = heap.model_copy(update=figures)
    return phase.model_copy(update={"heap": phase.heap.model_copy(update=heaps)}) if heaps else phase
