"""The tables of all scenarios but `memory`, which their topics declare."""

from collections.abc import Iterable, Sequence

from tlsmem.config.table_names import describe_need
from tlsmem.config.topic import topic_tables, topics
from tlsmem.schema.harness_output import TIMED_SCENARIOS
from tlsmem.stats.timed_selection import TimedSelection
from tlsmem.store.record import Record
from tlsmem.tables import settings
from tlsmem.tables.table import Table


def select_runs(records: Iterable[Record]) -> list[Record]:
    """Return the runs of scenarios of memory beside `memory` itself."""
    others = (one for one in records if one.scenario not in ("memory", *TIMED_SCENARIOS))
    return [one for one in others if any(topic.selects(one) for topic in topics())]


def build(records: Sequence[Record], names: Sequence[str] = ()) -> list[Table]:
    """Return the tables of these names, of scenarios of memory; without names all that have rows.

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


def build_timed(timed: TimedSelection, names: Sequence[str] = ()) -> list[Table]:
    """Return the tables of these names, of timed runs; without names all that have rows and are shown unasked.

    Raises ValueError when one that was asked for has no rows."""
    made = [settings.timed_settings(timed)] if not names or "settings" in names else []
    for name, (topic, declared) in topic_tables("timed").items():
        if name in names or (not names and topic.shows(declared, timed)):
            made.append(topic.find(declared.maker)(timed))
    for table in made:
        if names and not table.rows:
            raise ValueError(f"table {table.name} has no rows: it needs {describe_need(table.name)}")
    return [table for table in made if table.rows]
