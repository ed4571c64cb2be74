"""The same costs as a table: for JSON, CSV and Markdown."""

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from tlsmem.config.libraries import stack_title
from tlsmem.config.suite_title import suite_title
from tlsmem.cost.find_costs import Peak, Peaks, StackCosts, find_other_states, find_peaks
from tlsmem.plan.recorded_states import describe_configuration
from tlsmem.schema.roles import Role
from tlsmem.stats.configured_stack import Configuration
from tlsmem.stats.costs import COSTS, LIVE_AT_REST, LIVE_IN_USE, VOCABULARY, Cost
from tlsmem.stats.missing import Missing
from tlsmem.store import recordings
from tlsmem.tables.table import Cell, Column, Table

USUAL_STATE = "in use, 100 handshakes at a time, a process per role"
ALONE, ONE_MORE = "peak_one_session_alone_bytes", "peak_one_more_of_many_bytes"
PEAK_WORDS = (
    "Peak: the highest live heap, from the handshake on. One session alone: the most that it holds at a time. One more "
    "of many: what one more session adds to the peak of all."
)
LOW_MEMORY_WORDS = (
    "Each library with its option to hold less between records, or with its defaults where it has none; the least RSS "
    "in use first."
)
CONFIGURATIONS: tuple[Configuration, ...] = ("default", "low memory")


class CostRow(NamedTuple):
    """A role of a stack in a configuration."""

    costs: StackCosts
    role: Role
    configuration: Configuration

    @property
    def words(self) -> str:
        """The configuration as people name it."""
        return describe_configuration(self.costs.suite, self.configuration)


def cost_column(cost: Cost) -> Column:
    """Return the column of one of the three costs."""

    def value(row: CostRow) -> float | Missing:
        return row.costs.figure(row.role, cost, row.configuration)

    return Column(cost.key, f"{cost.name}, B", value=value, form=bytes_cell)


def bytes_cell(figure: float) -> Cell:
    """Bytes to the byte for people, and as measured for programs."""
    return Cell(f"{figure:,.0f}", round(figure, 1))


def peak_columns(among: Sequence[Path]) -> tuple[Column, Column]:
    """Return the columns of both peaks of live heap, from these recordings."""

    def column(key: str, name: str, of: Callable[[Peaks], Peak | Missing]) -> Column:
        def value(row: CostRow) -> Peak | Missing:
            if row.costs.state and not row.costs.state.is_in_use:
                return Missing("not recorded in use")
            return of(find_peaks(row.costs.stack, row.costs.suite, row.role, among, row.configuration))

        return Column(key, f"{name}, B", value=value, form=lambda peak: bytes_cell(peak.size))

    return (
        column(ALONE, "Peak, one session alone", lambda peaks: peaks.alone),
        column(ONE_MORE, "Peak, one more of many", lambda peaks: peaks.one_more),
    )


def recording_name(row: CostRow) -> str:
    """Return the recording as people name it."""
    return recordings.display_name(row.costs.recording) if row.costs.recording else ""


def stack_cell(stack: str) -> Cell:
    """The stack as people write it; for programs its name."""
    return Cell(stack_title(stack), stack)


COLUMNS = (
    Column("stack", "stack", left=True, value=lambda row: row.costs.stack, form=stack_cell),
    Column("suite", "suite", left=True, value=lambda row: row.costs.suite),
    Column("role", "role", left=True, value=lambda row: row.role),
    Column("configuration", "configuration", left=True, value=lambda row: row.words),
    *map(cost_column, COSTS),
    Column("state", "state", left=True, usual=USUAL_STATE, value=lambda row: row.costs.describe_state()),
    Column("recording", "recording", left=True, value=recording_name),
)


def cost_table(found: Sequence[StackCosts], roles: Sequence[Role], among: Sequence[Path] = ()) -> Table:
    """Return a row for each stack, role and configuration; none for low memory where the library has no way to it.

    With recordings in `among`, both peaks are columns, from these. Where states are others than servers run stacks in,
    the live heap at rest is a column too."""
    columns = [*COLUMNS]
    rows = [row for costs in found for row in cost_rows(costs, roles)]
    if any(row.costs.state and not row.costs.state.is_as_deployed for row in rows):
        columns.insert(columns.index(cost_column(LIVE_IN_USE)) + 1, cost_column(LIVE_AT_REST))
    if among:
        after = columns.index(cost_column(COSTS[-1])) + 1
        columns[after:after] = peak_columns(among)
    made = Table("cost", "What one session costs", VOCABULARY + f" {PEAK_WORDS}" * bool(among), columns, headed=4)
    made.add_rows(rows)
    return made


def low_memory_table(rows: Sequence[CostRow], among: Sequence[Path]) -> Table:
    """Return these rows, with both peaks."""
    columns = [*COLUMNS]
    after = columns.index(cost_column(COSTS[-1])) + 1
    columns[after:after] = peak_columns(among)
    caption = f"{LOW_MEMORY_WORDS} {VOCABULARY} {PEAK_WORDS}"
    made = Table("low-memory", "What one session costs with low memory", caption, columns, headed=4)
    made.add_rows(rows)
    return made


def cost_rows(costs: StackCosts, roles: Sequence[Role]) -> list[CostRow]:
    """Return the rows of a stack; where it is not recorded as servers run it, of the states in which it is."""
    if costs.state or not (others := find_other_states(costs)):
        rows = [CostRow(costs, *row) for row in itertools.product(roles, CONFIGURATIONS)]
        return [row for row in rows if row.configuration == "default" or costs.sizes(row.role, row.configuration)]
    return [CostRow(one.costs, role, one.configuration) for one in others for role in roles]


def cost_table_for_pages(found: Sequence[StackCosts], roles: Sequence[Role], among: Sequence[Path] = ()) -> Table:
    """Return the same table for people: what all rows have in common stands in its caption."""
    made = cost_table(found, roles, among)
    suites, names = ({getattr(one, field) for one in found} for field in ("suite", "recording"))
    common = [suite_title(suite) for suite in suites if len(suites) == 1]
    common += [f"{role} sessions" for role in roles if len(roles) == 1]
    common += [f"recorded in {recordings.display_name(name)}" for name in names if name and len(names) == 1]
    alike = ("suite",) * (len(suites) == 1) + ("role",) * (len(roles) == 1) + ("recording",) * (len(names) == 1)
    kept = [at for at, column in enumerate(made.columns) if column.key not in alike]
    made.columns = [made.columns[at] for at in kept]
    made.rows = [[row[at] for at in kept] for row in made.rows]
    made.headed = sum(column.left for column in made.columns)
    text = ", ".join(common)
    made.caption += f" {text[0].upper()}{text[1:]}." if text else ""
    return made
