"""Where a line of RSS is nonlinear, by how much, and what grew, as far as the allocator's statistics tell.

A column is one entry of COLUMNS: what it takes of a nonlinear step (`stats/bends.py`), and how
that is written."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tlsmem.stats.bends import (
    ONCE_BYTES,
    Bend,
    Growth,
    SessionStep,
    find_growth,
    find_peak_phase,
    find_rss_bends,
    why_no_bends,
)
from tlsmem.stats.missing import Missing, map_present
from tlsmem.stats.repeats import ASSUMED_SPREAD
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Series, SeriesFigures
from tlsmem.stats.session_cost import ESTABLISHED, KIB
from tlsmem.tables.rss_accounts import processes_with_rss, row_name_columns
from tlsmem.tables.settings import describe_common_settings
from tlsmem.tables.table import Cell, Column, Table, text_cell

LINES: dict[str, str | None] = {"peak of the run": None, ESTABLISHED: ESTABLISHED}  # which RSS, with its phase
TABLE_OWNERS = {
    "client_context": "the client's context",
    "server_context": "the server's context",
    "harness": "the process",
}
PARTS = {
    "large_blocks": "large blocks, each a mapping of its own (glibc's hblkhd)",
    "live": "live memory, by allocator statistics",
    "free": "pages that hold nothing live: free memory",
    "file": "pages of files",
    "shmem": "shared memory",
    "anonymous": "anonymous memory that no statistics explain",
}


@dataclass(frozen=True)
class BendRow(SeriesFigures):
    """A nonlinear step of a process's line; or that its lines could not be judged."""

    line: str
    bend: Bend | Missing
    growth: Growth | Missing | None  # None: what grew is not known


def bend_value(figure: Callable[[Bend], Any]) -> Callable[[BendRow], Any]:
    """A figure of a row's step where it has one."""
    return lambda row: map_present(figure, row.bend)


def step_cell(step: SessionStep) -> Cell:
    """The two N of the step."""
    return Cell(f"{step.low:,} to {step.high:,}", {"from": step.low, "to": step.high})


def growth_cell(growth: Growth | None) -> Cell:
    """What grew, and by how many bytes."""
    if not growth:
        return text_cell("not known")
    if growth.is_table:
        size = growth.bytes_per_pair * growth.pairs
        return text_cell(f"a table of {TABLE_OWNERS[growth.part]} grew by {size:,.0f} B of live heap")
    return text_cell(f"{PARTS[growth.part]} ({growth.bytes_per_pair:+,.0f} B per pair)")


COLUMNS = (
    Column("at", "RSS", left=True, value=lambda row: row.line),
    Column("sessions", "N", left=True, value=bend_value(lambda bend: bend.step), form=step_cell),
    Column(
        "excess_bytes_per_pair",
        "bytes per pair beyond the usual",
        value=bend_value(lambda bend: bend.excess),
        form=lambda excess: Cell(f"{excess:+,.0f}", round(excess, 1)),
    ),
    Column(
        "excess_bytes",
        "in all",
        value=bend_value(lambda bend: bend.excess_bytes),
        form=lambda excess: Cell(f"{excess:+,.0f}", round(excess)),
    ),
    Column(
        "spread_bytes_per_pair",
        "spread of repeats",
        value=bend_value(lambda bend: bend.spread),
        form=lambda spread: Cell(f"{spread:,.0f}", round(spread, 1)),
    ),
    Column("reason", "what grew", left=True, value=lambda row: row.growth, form=growth_cell),
)


def has_bends(selection: Selection) -> bool:
    """Whether any line is nonlinear."""
    return any(find_rss_bends(series, phase) for series in processes_with_rss(selection) for phase in LINES.values())


def nonlinearity_table(selection: Selection) -> Table:
    """The table `bends`, of every process with RSS runs."""
    caption = (
        "Increments from one N to the next that differ from the median increment by more than the spread of repeats of "
        f"both; for runs made once, by more than {100 * ASSUMED_SPREAD:g} % of "
        f"both and by {ONCE_BYTES // KIB} KiB in all of each. All other lines are straight. "
        f"{describe_common_settings(selection)}."
    )
    table = Table("bends", "Where the line of RSS is nonlinear", caption, [*row_name_columns(selection), *COLUMNS])
    for series in processes_with_rss(selection):
        if series.full("rss"):
            table.add_rows(rows(series))
    return table


def rows(series: Series) -> Iterator[BendRow]:
    """A row for each nonlinear step; one row that says so of lines that could not be judged."""
    if (why := why_no_bends(series)) is not None:
        yield BendRow(series, "any", why, why)
        return
    for name, phase in LINES.items():
        end = phase or find_peak_phase(series.full("rss"))  # the phase whose end tells most of the line
        for bend in find_rss_bends(series, phase):
            yield BendRow(series, name, bend, find_growth(series, bend, end))
