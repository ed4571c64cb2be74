"""Closed accounts: the call stacks of one pair, times all pairs, and a rest, are the live heap of all sessions.

A rest is memory that does not come from where that pair's does: tables that grow with N, pairs that are not alike."""

from collections.abc import Iterator
from dataclasses import dataclass

import costs
from costs import Quotient
from lines import Phase
from records import Record
from selection import Selection
from tables import Cell, Column, Table, hole, word

BEFORE, AFTER = "contexts", "freed"  # the account opens when one ends; at the end of the other the warm-up's blocks go
OF_WINDOW = ("sessions", "client ", "server ")  # phases of the last window's pairs: with a window others are elsewhere
SHARE = 0.01  # of live heap; a larger rest is an error


@dataclass(frozen=True)
class Closed:
    """pair x pairs + rest = live, in a phase of one process; live is what sessions hold above `contexts`."""

    phase: str
    pairs: int
    alike: int
    identical: int
    pair_bytes: int
    pair_blocks: int
    live_bytes: int
    live_blocks: int
    slope: Quotient | None  # bytes that one more pair keeps in heap runs; None without two of them

    @property
    def rest_bytes(self) -> int:
        return self.live_bytes - self.pair_bytes * self.pairs

    @property
    def rest_blocks(self) -> int:
        return self.live_blocks - self.pair_blocks * self.pairs

    @property
    def off_slope(self) -> float | None:
        """What heap runs have more than this pair, per pair, in bytes."""
        return self.slope and self.slope.amount / self.slope.sessions - self.pair_bytes


def close(run: Record, heap: tuple[Record, Record] | None = None) -> list[Closed]:
    """The accounts of a sites run, beside two heap runs of the same stack in the same setting (small, large).

    All of one process. ValueError with a sentence when a phase is missing."""
    before = costs.phase_of(run, BEFORE)
    phases = [phase for phase in costs.phases_of(run) if judged(run, phase.phase)]
    return [account(phase, before, heap and slope(heap, phase.phase)) for phase in phases]


def judged(run: Record, phase: str) -> bool:
    return phase not in (BEFORE, AFTER) and (run.window == "all" or not phase.startswith(OF_WINDOW))


def account(phase: Phase, before: Phase, of_heap: Quotient | None) -> Closed:
    live = [site.bytes for site in phase.sites.live], [site.blocks for site in phase.sites.live]
    now, then = of_sessions(phase), of_sessions(before)
    pairs = (phase.sites.pairs, phase.sites.alike, phase.sites.identical)
    return Closed(phase.phase, *pairs, sum(live[0]), sum(live[1]), now[0] - then[0], now[1] - then[1], of_heap)


def of_sessions(phase: Phase) -> tuple[int, int]:
    """Bytes and blocks live in sessions of both roles."""
    roles = (phase.heap.client, phase.heap.server)
    return sum(role.live_bytes for role in roles), sum(role.live_blocks for role in roles)


def slope(heap: tuple[Record, Record], phase: str) -> Quotient:
    client, server = (costs.live_cost(*heap, role, phase).bytes for role in ("client", "server"))
    return Quotient(client.amount + server.amount, client.sessions)


def findings(run: Record, heap: tuple[Record, Record] | None = None) -> Iterator[str]:
    """A sentence for each account that does not close to one part in a hundred."""
    accounts = close(run, heap)
    most = max((one.live_bytes for one in accounts), default=0)
    for one in accounts:
        whole = one.live_bytes if one.pair_bytes else most  # where a pair has nothing, nothing is a share of it
        place = f"sites: {run.stack}, {run.suite}: `{one.phase}`"
        if abs(one.rest_bytes) > SHARE * whole:
            yield f"{place}: {one.pairs:,} pairs of {one.pair_bytes:,} B leave a rest of {one.rest_bytes:,} B"
        elif one.off_slope and abs(one.off_slope) * one.pairs > SHARE * whole:
            yield f"{place}: the pair holds {one.pair_bytes:,} B, one more pair costs {one.slope} B in heap runs"


def closings(selection: Selection) -> Table:
    """Per stack, setting and phase: what one pair's call stacks explain of all sessions' live heap."""
    table = Table(
        "closings",
        "Closed accounts",
        "Live heap of sessions above `contexts`, in bytes: the pair whose call stacks are known, times all pairs, and "
        "the rest; beside it what one more pair costs in heap runs. identical: share of pairs equal to it to the byte. "
        "stack: the deepest byte of the stack that a driver call wrote.",
        [Column("suite", "suite", True), Column("stack", "stack", True), Column("phase", "phase", True), *FIGURES],
    )
    for setting in selection.settings:
        for stack in selection.stacks:
            series = selection.series(stack, setting) if setting.roles != "split" else None
            runs = series.runs("sites") if series else []
            for run in runs[-1:]:  # the largest
                table.rows += [[word(setting.suite), word(stack), *row] for row in rows(run, series.heap_pair())]
    return table


FIGURES = [
    Column("pair_bytes", "the pair"),
    Column("pairs", "pairs"),
    Column("rest_bytes", "rest"),
    Column("live_bytes", "live"),
    Column("slope", "slope"),
    Column("identical", "identical"),
    Column("client_stack_bytes", "client stack"),
    Column("server_stack_bytes", "server stack"),
]


def rows(run: Record, heap: tuple[Record, Record] | None) -> Iterator[list[Cell]]:
    for one in close(run, heap):
        depth = costs.phase_of(run, one.phase).sites.stack_bytes
        of_heap = hole("needs two heap runs") if one.slope is None else Cell(str(one.slope), one.slope.whole)
        figures = (one.pair_bytes, one.pairs, one.rest_bytes, one.live_bytes)
        identical = Cell(f"{one.identical / one.pairs:.2%}", one.identical / one.pairs)
        yield [word(one.phase), *map(whole, figures), of_heap, identical, deepest(depth.client), deepest(depth.server)]


def whole(number: int) -> Cell:
    return Cell(f"{number:,}", number)


def deepest(size: int | None) -> Cell:
    return hole("no call of this role was painted") if size is None else whole(size)
