"""Call stacks against live heap: those of one pair, times all pairs, and a rest, are the live heap of all sessions.

A rest is memory that does not come from where that pair's does: tables that grow with N, pairs that are not alike."""

from collections.abc import Sequence
from dataclasses import dataclass

from tlsmem.base import memo
from tlsmem.base.cache_file import digest_code
from tlsmem.schema.roles import ROLES
from tlsmem.stats import session_cost
from tlsmem.stats.process_tables import TableSize, are_tables, remove_tables
from tlsmem.stats.session_cost import Quotient
from tlsmem.store.record import Phase, PhaseSites, Record

BEFORE, AFTER = "contexts", "freed"  # the account opens when one ends; at the end of the other the warm-up's blocks go
OF_WINDOW = ("sessions", "client ", "server ")  # phases of the last window's pairs: with a window others are elsewhere


@dataclass(frozen=True)
class Reconciliation:
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
        """Bytes that the pair times all pairs does not explain."""
        return self.live_bytes - self.pair_bytes * self.pairs

    @property
    def rest_blocks(self) -> int:
        """Blocks that the pair times all pairs does not explain."""
        return self.live_blocks - self.pair_blocks * self.pairs

    @property
    def unexplained(self) -> TableSize:
        """Bytes and blocks of the rest."""
        return TableSize(self.rest_bytes, self.rest_blocks)

    @property
    def off_slope(self) -> float | None:
        """What heap runs have more than this pair, per pair, in bytes."""
        return None if self.slope is None else self.slope.amount / self.slope.sessions - self.pair_bytes


def reconcile(run: Record, heap: tuple[Record, Record] | None = None) -> list[Reconciliation]:
    """The accounts of a sites run, beside two heap runs of the same stack in the same setting (small, large).

    All of one process. Raises ValueError with a sentence when a phase is missing."""
    before = session_cost.phase_of(run, BEFORE)
    phases = [phase for phase in session_cost.phases_of(run) if is_reconciled(run, phase.phase)]
    alone = heap and remove_tables(heap)
    code = digest_code(("stats/reconciliation.py",))
    live = memo.recall("live of the pair", [run.digest], code, lambda: [*map(live_of_pair, phases)])
    return [
        account(phase, size, before, alone and slope(alone, phase.phase))
        for phase, size in zip(phases, live, strict=True)
    ]


def live_of_pair(phase: Phase) -> tuple[int, int]:
    """Return the live bytes and blocks of the pair at the end of a phase."""
    every = sites_of(phase).live
    return sum(site.bytes for site in every), sum(site.blocks for site in every)


def is_reconciled(run: Record, phase: str) -> bool:
    """Return whether the phase has an account: all its pairs have the sessions of the phase."""
    return phase not in (BEFORE, AFTER) and (run.window == "all" or not phase.startswith(OF_WINDOW))


def sites_of(phase: Phase) -> PhaseSites:
    """Return the sites of a phase; every phase of a measured sites run has them."""
    assert phase.sites
    return phase.sites


def account(phase: Phase, live: tuple[int, int], before: Phase, of_heap: Quotient | None) -> Reconciliation:
    """Return the account of a phase at whose end the pair has so many live bytes and blocks; `before` is the phase at
    whose end the account opens."""
    sites = sites_of(phase)
    now, then = live_in_sessions(phase), live_in_sessions(before)
    pairs = (sites.pairs, sites.alike, sites.identical)
    return Reconciliation(phase.phase, *pairs, *live, now[0] - then[0], now[1] - then[1], of_heap)


def live_in_sessions(phase: Phase) -> tuple[int, int]:
    """Bytes and blocks live in sessions of both roles."""
    roles = [session_cost.heap_of(phase, role) for role in ROLES]
    return sum(role.live_bytes for role in roles), sum(role.live_blocks for role in roles)


def slope(alone: tuple[Record, Record], phase: str) -> Quotient:
    """Of heap runs without process-wide tables."""
    client, server = (session_cost.live_cost(*alone, role, phase).bytes for role in ("client", "server"))
    return Quotient(client.amount + server.amount, client.sessions)


def are_process_wide_tables(accounts: Sequence[Reconciliation], exact: bool) -> bool:
    """Whether rests are tables of the library's own: by blocks alone where bytes differ from session to session."""
    rests = [one.unexplained if exact else TableSize(0, one.rest_blocks) for one in accounts]
    return any(rest.blocks for rest in rests) and are_tables(rests, accounts[0].pairs)
