"""Every table of timed runs by name: who makes it, what runs it needs, and which are shown when nobody asks."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from tlsmem.config.table_names import TIMED_NEEDS
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Setting
from tlsmem.stats.timed_selection import TimedSelection
from tlsmem.tables import settings
from tlsmem.tables.table import Table
from tlsmem.topics.timing import ratios
from tlsmem.topics.timing.configurations import configurations
from tlsmem.topics.timing.handshakes import handshakes, sessions
from tlsmem.topics.timing.harness_overhead import harness_overhead_table
from tlsmem.topics.timing.instructions import instructions
from tlsmem.topics.timing.latency import latency
from tlsmem.topics.timing.noise import noise
from tlsmem.topics.timing.threads import threads
from tlsmem.topics.timing.transfer import transfer


def conditions(timed: TimedSelection) -> Table:
    """As of runs of memory, but without windows, of which timed runs have none."""
    records = timed.every_record
    stacks = tuple(dict.fromkeys([*timed.stacks, *(timed.counted.stacks if timed.counted else ())]))
    made = settings.settings(Selection(records, stacks, tuple({*map(Setting.from_record, records)})))
    kept = [at for at, column in enumerate(made.columns) if column.key != "window"]
    columns, rows = [made.columns[at] for at in kept], [[row[at] for at in kept] for row in made.rows]
    return replace(made, columns=columns, rows=rows)


MAKERS: dict[str, Callable[[TimedSelection], Table]] = {  # in the order in which they are shown
    "settings": conditions,
    "factor": ratios.ratio_table,
    "transfer": transfer,
    "handshakes": handshakes,
    "sessions": sessions,
    "configurations": configurations,
    "threads": threads,
    "latency": latency,
    "instructions": instructions,
    "harness": harness_overhead_table,
    "noise": noise,
}


def build(timed: TimedSelection, names: Sequence[str] | None = None) -> list[Table]:
    """The tables of these names; without names all that have rows, side by side only what fits.

    Raises ValueError when one that was asked for has no rows."""
    chosen = names or [name for name in MAKERS if name != "factor" or len(timed.stacks) <= ratios.MAX_STACKS]
    made = [MAKERS[name](timed) for name in MAKERS if name in chosen]
    for table in made:
        if names and not table.rows:
            raise ValueError(f"table {table.name} has no rows: it needs {TIMED_NEEDS[table.name]}")
    return [table for table in made if table.rows]
