"""Call stacks against live heap: the tables of accounts, by phase and in short.

A column is one entry of COLUMNS: what it takes of an account (stats/reconciliation.py), and how that is written."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tlsmem.schema.recorded_arguments import harness_arguments
from tlsmem.schema.roles import Role
from tlsmem.stats import session_cost
from tlsmem.stats.missing import Missing
from tlsmem.stats.process_tables import TABLE_NOTE
from tlsmem.stats.reconciliation import BEFORE, Reconciliation, are_process_wide_tables, reconcile, sites_of
from tlsmem.stats.remainders import repeats_exactly
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Series, SeriesFigures
from tlsmem.stats.session_cost import Quotient
from tlsmem.store.record import Record, StackDepth
from tlsmem.tables.rss_accounts import row_name_columns
from tlsmem.tables.table import Cell, Column, Table, format_bytes_in_blocks, integer_cell

TITLE = "Call stacks against live heap"
CAPTION = (
    "Live heap of sessions above `contexts`, in bytes: the pair whose call stacks are known, times all pairs, and the "
    "unexplained part{}. Alike: pairs with as many blocks from the same places. Identical: equal to the byte. Stack: "
    "the deepest byte of it that a driver call {} wrote."
)
BESIDE = "; beside it what one more pair costs in heap runs"
AT_ANY = "of any phase after `contexts`"
NEEDS_HEAP_RUNS = Missing("needs two heap runs")
NO_DEPTH = Missing("no call of this role was painted")


@dataclass(frozen=True)
class ReconciliationRow(SeriesFigures):
    """An account of a process, and how deep its stacks were."""

    account: Reconciliation
    has_tables: bool  # the rest is process-wide tables
    depths: Sequence[StackDepth]

    @property
    def slope(self) -> Quotient | Missing:
        """Bytes that one more pair keeps in heap runs."""
        return self.account.slope or NEEDS_HEAP_RUNS

    def deepest(self, role: Role) -> int | Missing:
        """Bytes."""
        sizes = [size for depth in self.depths if (size := getattr(depth, role)) is not None]
        return max(sizes) if sizes else NO_DEPTH


def rest_cell(row: ReconciliationRow) -> Cell:
    """Bytes and blocks of the rest, with a note where it is process-wide tables."""
    size, blocks = row.account.unexplained
    text = format_bytes_in_blocks(size, blocks) if blocks else f"{size:,}"
    return Cell(text, {"bytes": size, "blocks": blocks}, TABLE_NOTE if blocks and row.has_tables else None)


def count_column(key: str, heading: str, count: Callable[[Reconciliation], int]) -> Column:
    """Counts of pairs are counts: a share would be rounded."""
    return Column(key, heading, value=lambda row: count(row.account), form=integer_cell)


COLUMNS = (
    Column("phase", "phase", left=True, value=lambda row: row.account.phase),
    count_column("pair_bytes", "the pair", lambda account: account.pair_bytes),
    count_column("pairs", "pairs", lambda account: account.pairs),
    Column("rest", "rest", value=lambda row: row, form=rest_cell),
    count_column("live_bytes", "live", lambda account: account.live_bytes),
    Column("slope", "slope", value=lambda row: row.slope, form=lambda slope: Cell(str(slope), slope.integer_part)),
    count_column("alike", "alike", lambda account: account.alike),
    count_column("identical", "identical", lambda account: account.identical),
    Column("client_stack_bytes", "client stack", value=lambda row: row.deepest("client"), form=integer_cell),
    Column("server_stack_bytes", "server stack", value=lambda row: row.deepest("server"), form=integer_cell),
)
SHORT_COLUMNS = tuple(column for column in COLUMNS if column.key not in ("live_bytes", "slope"))


def reconciliation_summary_table(selection: Selection) -> Table:
    """Per stack, setting and process: the phase with the most live heap, and the deepest stack of all phases."""
    columns = [*row_name_columns(selection), *SHORT_COLUMNS]
    table = Table("sites", f"{TITLE}, where most is live", CAPTION.format("", AT_ANY), columns)
    table.add_rows(make_summary_row(series, run) for series, run in iterate_sites_runs(selection))
    return table


def reconciliation_table(selection: Selection) -> Table:
    """Per stack, setting, process and phase: what one pair's call stacks explain of all sessions' live heap."""
    columns = [*row_name_columns(selection), *COLUMNS]
    table = Table("closings", f"{TITLE}, by phase", CAPTION.format(BESIDE, "of the phase"), columns)
    for series, run in iterate_sites_runs(selection):
        table.add_rows(rows_by_phase(series, run))
    return table


def iterate_sites_runs(selection: Selection) -> Iterator[tuple[Series, Record]]:
    """The largest sites run of every process of every stack in each setting, with its series."""
    for setting in selection.settings:
        for stack in selection.stacks:
            for process in dict.fromkeys(setting.processes.values()):
                series = selection.series(stack, setting, process)
                for run in series.runs("sites")[-1:]:
                    yield series, run


def make_summary_row(series: Series, run: Record) -> ReconciliationRow:
    """Return the row of the phase with the most live heap."""
    accounts = reconcile(run, series.heap_pair())
    most = max(accounts, key=lambda one: one.live_bytes)  # the first of equals
    depths = [sites_of(phase).stack_bytes for phase in session_cost.phases_of(run) if phase.phase != BEFORE]
    return ReconciliationRow(series, most, has_tables(run, accounts), depths)


def rows_by_phase(series: Series, run: Record) -> Iterator[ReconciliationRow]:
    """Yield a row a phase of the run."""
    accounts = reconcile(run, series.heap_pair())
    tables = has_tables(run, accounts)
    for one in accounts:
        depth = sites_of(session_cost.phase_of(run, one.phase)).stack_bytes
        yield ReconciliationRow(series, one, tables, [depth])


def has_tables(run: Record, accounts: Sequence[Reconciliation]) -> bool:
    """Return whether the rests of the run are process-wide tables."""
    return are_process_wide_tables(accounts, repeats_exactly(harness_arguments(run)))
