"""The tables of scenarios of memory beside `memory` itself, which their topics declare."""

from collections.abc import Iterable, Sequence

from tlsmem.config.topic import topic_tables, topics
from tlsmem.schema.harness_output import TIMED_SCENARIOS
from tlsmem.store.record import Record
from tlsmem.tables.table import Table


def select_runs(records: Iterable[Record]) -> list[Record]:
    """Return the runs of these scenarios."""
    others = (one for one in records if one.scenario not in ("memory", *TIMED_SCENARIOS))
    return [one for one in others if any(topic.selects(one) for topic in topics())]


def build(records: Sequence[Record], names: Sequence[str] = ()) -> list[Table]:
    """Return the tables of these names; without names all that have rows.

    Raises ValueError when one that was asked for has no rows."""
    made: list[Table] = []
    for name, (topic, declared) in topic_tables("runs").items():
        if not names or name in names:
            table: Table = topic.find(declared.maker)([one for one in records if topic.selects(one)])
            if table.rows:
                made.append(table)
            elif names:
                raise ValueError(f"table {name} has no rows: it needs {declared.needs}")
    return made
