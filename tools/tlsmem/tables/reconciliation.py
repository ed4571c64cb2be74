"""Call stacks against live heap: those of one pair, times all pairs, and a rest, are the live heap of all sessions.

A rest is memory that does not come from where that pair's does: tables that grow with N, pairs that are not alike."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tlsmem.schema.harness_arguments import harness_arguments
from tlsmem.schema.harness_output import Phase, PhaseSites, StackDepth
from tlsmem.schema.records import Record
from tlsmem.schema.roles import ROLES
from tlsmem.stats import session_cost
from tlsmem.stats.process_tables import TABLE_NOTE, TableSize, are_tables, remove_tables
from tlsmem.stats.remainders import repeats_exactly
from tlsmem.stats.selection import Selection
from tlsmem.stats.session_cost import Quotient
from tlsmem.tables.rss_accounts import row_name_cells, row_name_columns
from tlsmem.tables.table import Cell, Column, Table, format_bytes_in_blocks, integer_cell, missing_cell, text_cell

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
        return self.live_bytes - self.pair_bytes * self.pairs

    @property
    def rest_blocks(self) -> int:
        return self.live_blocks - self.pair_blocks * self.pairs

    @property
    def unexplained(self) -> TableSize:
        return TableSize(self.rest_bytes, self.rest_blocks)

    @property
    def off_slope(self) -> float | None:
        """What heap runs have more than this pair, per pair, in bytes."""
        return None if self.slope is None else self.slope.amount / self.slope.sessions - self.pair_bytes


def reconcile(run: Record, heap: tuple[Record, Record] | None = None) -> list[Reconciliation]:
    """The accounts of a sites run, beside two heap runs of the same stack in the same setting (small, large).

    All of one process. ValueError with a sentence when a phase is missing."""
    before = session_cost.phase_of(run, BEFORE)
    phases = [phase for phase in session_cost.phases_of(run) if is_reconciled(run, phase.phase)]
    alone = heap and remove_tables(heap)
    return [account(phase, before, alone and slope(alone, phase.phase)) for phase in phases]


def is_reconciled(run: Record, phase: str) -> bool:
    return phase not in (BEFORE, AFTER) and (run.window == "all" or not phase.startswith(OF_WINDOW))


def sites_of(phase: Phase) -> PhaseSites:
    """Return the sites of a phase; every phase of a measured sites run has them."""
    assert phase.sites
    return phase.sites


def account(phase: Phase, before: Phase, of_heap: Quotient | None) -> Reconciliation:
    sites = sites_of(phase)
    live = [site.bytes for site in sites.live], [site.blocks for site in sites.live]
    now, then = live_in_sessions(phase), live_in_sessions(before)
    pairs = (sites.pairs, sites.alike, sites.identical)
    return Reconciliation(phase.phase, *pairs, sum(live[0]), sum(live[1]), now[0] - then[0], now[1] - then[1], of_heap)


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


def reconciliation_summary_table(selection: Selection) -> Table:
    """Per stack, setting and process: the phase with the most live heap, and the deepest stack of all phases."""
    table = Table("sites", f"{TITLE}, where most is live", CAPTION.format("", AT_ANY), columns(selection, SHORT))
    for name, run, heap in iterate_sites_runs(selection):
        accounts = reconcile(run, heap)
        most = max(accounts, key=lambda one: one.live_bytes)  # the first of equals
        of_phases = [sites_of(phase).stack_bytes for phase in session_cost.phases_of(run) if phase.phase != BEFORE]
        table.rows.append([*name, *figures(most, SHORT, why(run, accounts)), *deepest(of_phases)])
    return table


def reconciliation_table(selection: Selection) -> Table:
    """Per stack, setting, process and phase: what one pair's call stacks explain of all sessions' live heap."""
    table = Table("closings", f"{TITLE}, by phase", CAPTION.format(BESIDE, "of the phase"), columns(selection, FIGURES))
    for name, run, heap in iterate_sites_runs(selection):
        accounts = reconcile(run, heap)
        for one in accounts:
            depth = sites_of(session_cost.phase_of(run, one.phase)).stack_bytes
            table.rows.append([*name, *figures(one, FIGURES, why(run, accounts)), *deepest([depth])])
    return table


def iterate_sites_runs(selection: Selection) -> Iterator[tuple[list[Cell], Record, tuple[Record, Record] | None]]:
    """The largest sites run of every process of every stack in each setting: its name, and the heap runs beside it."""
    for setting in selection.settings:
        for stack in selection.stacks:
            for process in dict.fromkeys(setting.processes.values()):
                series = selection.series(stack, setting, process)
                for run in series.runs("sites")[-1:]:
                    yield row_name_cells(selection, series), run, series.heap_pair()


def columns(selection: Selection, shown: Mapping[str, str]) -> list[Column]:
    figures = [Column(key, heading, left=key == "phase") for key, heading in shown.items()]
    stacks = [Column(f"{role}_stack_bytes", f"{role} stack") for role in ("client", "server")]
    return [*row_name_columns(selection), *figures, *stacks]


TITLE = "Call stacks against live heap"
CAPTION = (
    "Live heap of sessions above `contexts`, in bytes: the pair whose call stacks are known, times all pairs, and the "
    "rest{}. Alike: pairs with as many blocks from the same places; "
    "identical: to the byte. Stack: the deepest byte of it that a driver call {} wrote."
)
BESIDE = "; beside it what one more pair costs in heap runs"
AT_ANY = "of any phase after `contexts`"
FIGURES = {"phase": "phase", "pair_bytes": "the pair", "pairs": "pairs", "rest": "rest", "live_bytes": "live"}
FIGURES |= {"slope": "slope", "alike": "alike", "identical": "identical"}
SHORT = {key: heading for key, heading in FIGURES.items() if key not in ("live_bytes", "slope")}


def why(run: Record, accounts: Sequence[Reconciliation]) -> str | None:
    """What rests are, where it is known."""
    return TABLE_NOTE if are_process_wide_tables(accounts, repeats_exactly(harness_arguments(run))) else None


def figures(one: Reconciliation, shown: Iterable[str], why: str | None = None) -> Iterator[Cell]:
    """Counts of pairs are counts: a share would be rounded."""
    for key in shown:
        if key == "phase":
            yield text_cell(one.phase)
        elif key == "slope":
            yield (
                missing_cell("needs two heap runs")
                if one.slope is None
                else Cell(str(one.slope), one.slope.integer_part)
            )
        elif key == "rest":
            text = format_bytes_in_blocks(one.rest_bytes, one.rest_blocks) if one.rest_blocks else f"{one.rest_bytes:,}"
            yield Cell(text, {"bytes": one.rest_bytes, "blocks": one.rest_blocks}, why if one.rest_blocks else None)
        else:
            yield integer_cell(getattr(one, key))


def deepest(depths: Sequence[StackDepth]) -> Iterator[Cell]:
    """The client's, the server's."""
    for role in ("client", "server"):
        sizes = [getattr(depth, role) for depth in depths if getattr(depth, role) is not None]
        yield integer_cell(max(sizes)) if sizes else missing_cell("no call of this role was painted")
