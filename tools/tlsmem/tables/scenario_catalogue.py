"""The tables of scenarios of memory beside `memory` itself, by name: each is made of all runs of its scenario."""

from collections.abc import Callable, Iterable, Sequence

from tlsmem.config.table_names import SCENARIO_NEEDS
from tlsmem.store.record import Record
from tlsmem.tables.table import Table
from tlsmem.topics.churn.table import churn_table
from tlsmem.topics.contexts.table import contexts_table
from tlsmem.topics.resumption.table import store_table
from tlsmem.topics.stall.advisory_table import advisory_list, advisory_table
from tlsmem.topics.stall.hello_table import hello_table
from tlsmem.topics.stall.table import stall_table

MAKERS: dict[str, tuple[str, Callable[[Sequence[Record]], Table]]] = {  # table to scenario, and who makes it
    "stall": ("stall", stall_table),
    "hello": ("stall", hello_table),
    "advisories": ("stall", advisory_table),
    "advisory-list": ("stall", advisory_list),
    "churn": ("churn", churn_table),
    "contexts": ("contexts", contexts_table),
    "resumption": ("churn", store_table),
}


def select_runs(records: Iterable[Record]) -> list[Record]:
    """Return the runs of these scenarios."""
    scenarios = {scenario for scenario, _ in MAKERS.values()}
    return [one for one in records if one.scenario in scenarios]


def build(records: Sequence[Record], names: Sequence[str] = ()) -> list[Table]:
    """Return the tables of these names; without names all that have rows.

    Raises ValueError when one that was asked for has no rows."""
    made = []
    for name, (scenario, make) in MAKERS.items():
        if not names or name in names:
            table = make([one for one in records if one.scenario == scenario])
            if table.rows:
                made.append(table)
            elif names:
                raise ValueError(f"table {name} has no rows: it needs {SCENARIO_NEEDS[name]}")
    return made
