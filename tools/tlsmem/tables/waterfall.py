"""From requested to resident: what the allocator and the kernel make of the bytes that were asked for.

A column is one entry of COLUMNS: what it takes of the stages (stats/memory_stages.py), and how that is written."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from tlsmem.stats.memory_stages import Amount, MemoryStages, find_allocator_stages, find_stages, list_allocators
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import SeriesFigures
from tlsmem.stats.session_cost import ESTABLISHED
from tlsmem.tables.rss_accounts import bytes_cell, has_allocator_statistics, processes_with_rss, row_name_columns
from tlsmem.tables.settings import describe_common_settings
from tlsmem.tables.table import Column, Table, optional


@dataclass(frozen=True)
class WaterfallRow(SeriesFigures):
    """The memory of a process, or of one of its allocators."""

    allocators: str
    stages: MemoryStages


def stage_column(key: str, heading: str, amount: Callable[[MemoryStages], Amount]) -> Column:
    """A column of a stage: bytes."""
    return Column(key, heading, value=lambda row: amount(row.stages), form=bytes_cell)


def step_column(key: str, heading: str, amount: Callable[[MemoryStages], Amount]) -> Column:
    """With a sign: what lies between the columns beside it."""
    return optional(Column(key, heading, value=lambda row: amount(row.stages), form=partial(bytes_cell, sign="+")))


BOOKS = Column("books", "statistics of", left=True, value=lambda row: row.allocators)
COLUMNS = (  # stages, each with the step to the next behind it
    stage_column("requested_bytes", "requested", lambda stages: stages.requested),
    step_column("rounding_bytes", "rounding and headers", lambda stages: stages.rounding),
    stage_column("usable_bytes", "usable", lambda stages: stages.usable),
    step_column("free_bytes", "free, not returned", lambda stages: stages.free),
    stage_column("held_bytes", "obtained from the OS", lambda stages: stages.obtained),
    step_column("untouched_bytes", "never written or given back", lambda stages: stages.untouched),
    stage_column("resident_bytes", "resident", lambda stages: stages.resident),
)


def waterfall(selection: Selection) -> Table:
    """The table `waterfall`, of every process with RSS runs and allocator statistics."""
    caption = (
        f"Bytes per pair at `{ESTABLISHED}` (in a process with one role: per session). Requested is exact, from heap "
        "runs; the other columns are least-squares slopes through the means of RSS runs. Usable and obtained from the "
        "OS are the allocator's own figures; resident is RssAnon. The columns between two of them are their "
        f"difference. {describe_common_settings(selection)}."
    )
    columns = [*row_name_columns(selection), BOOKS, *COLUMNS]
    table = Table("waterfall", "From requested to resident", caption, columns)
    if has_allocator_statistics(selection):
        table.add_rows(rows(selection))
    return table


def rows(selection: Selection) -> Iterator[WaterfallRow]:
    """Of each process all its memory, then that of each allocator where it has several."""
    for series in processes_with_rss(selection):
        names = list_allocators(series)
        yield WaterfallRow(series, " + ".join(names) or "none", find_stages(selection, series))
        for name in names if len(names) > 1 else ():
            yield WaterfallRow(series, f"of these {name}", find_allocator_stages(series, name))
