"""The same costs as a table: for JSON, CSV and Markdown."""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

from tlsmem.config.libraries import stack_title
from tlsmem.config.suite_title import suite_title
from tlsmem.cost.find_costs import StackCosts, find_other_states
from tlsmem.plan import recordings
from tlsmem.plan.recorded_states import describe_configuration
from tlsmem.schema.roles import Role
from tlsmem.stats.configured_stack import Configuration
from tlsmem.stats.costs import COSTS, LIVE_AT_REST, LIVE_IN_USE, VOCABULARY, Cost
from tlsmem.stats.missing import Missing
from tlsmem.tables.table import Cell, Column, Table

USUAL_STATE = "in use, 100 handshakes at a time, a process per role"
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


def cost_table(found: Sequence[StackCosts], roles: Sequence[Role]) -> Table:
    """Return a row for each stack, role and configuration; none for low memory where the library has no way to it.

    Where states are others than servers run stacks in, the live heap at rest is a column too."""
    made = Table("cost", "What one session costs", VOCABULARY, [*COLUMNS])
    made.headed = 4
    rows = [row for costs in found for row in cost_rows(costs, roles)]
    if any(row.costs.state and not row.costs.state.is_as_deployed for row in rows):
        made.columns.insert(made.columns.index(cost_column(LIVE_IN_USE)) + 1, cost_column(LIVE_AT_REST))
    made.add_rows(rows)
    return made


def cost_rows(costs: StackCosts, roles: Sequence[Role]) -> list[CostRow]:
    """Return the rows of a stack; where it is not recorded as servers run it, of the states in which it is."""
    if costs.state or not (others := find_other_states(costs)):
        rows = [CostRow(costs, *row) for row in itertools.product(roles, CONFIGURATIONS)]
        return [row for row in rows if row.configuration == "default" or costs.sizes(row.role, row.configuration)]
    return [CostRow(one.costs, role, one.configuration) for one in others for role in roles]


def cost_table_for_pages(found: Sequence[StackCosts], roles: Sequence[Role]) -> Table:
    """Return the same table for people: what all rows have in common stands in its caption."""
    made = cost_table(found, roles)
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
