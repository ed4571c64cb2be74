"""The C10K figure: peak RSS of a process with 10,000 sessions, measured or from the fit.

A column is one entry of COLUMNS: what it takes of a figure (stats/peak_figure.py), and how that is written."""

from collections.abc import Iterator
from typing import NamedTuple

from tlsmem.stats.allocator_statistics import RETURNED_MEMORY_NOTE
from tlsmem.stats.missing import Missing
from tlsmem.stats.peak_figure import C10kFigure, find_c10k
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Setting, is_same_stack_pair
from tlsmem.stats.session_cost import MIB
from tlsmem.tables.peaks import kib_cell
from tlsmem.tables.settings import (
    describe_common_settings,
    describe_window,
    processes_by_holder,
    setting_columns,
)
from tlsmem.tables.table import Cell, Column, Table, text_cell, with_note

HELD = {"both": "5,000 clients and 5,000 servers", "client": "10,000 clients", "server": "10,000 servers"}
DOUBTS = {
    "garbage": "from {:,} sessions: garbage between two collections makes the peak nonlinear",
    "bends": "the line through these peaks is nonlinear: see the table `bends`",
}


class C10kRow(NamedTuple):
    """A process of a stack in a setting."""

    stack: str
    setting: Setting
    holder: str  # whose sessions stay in the process
    figure: C10kFigure | Missing


def holder_cell(holder: str) -> Cell:
    """Whose sessions the process has, and how many."""
    return Cell(HELD[holder], holder)


def mebibytes(figure: C10kFigure) -> float:
    """Return the figure in MiB, to three decimals."""
    return round(figure.bytes / MIB, 3)


def origin_cell(figure: C10kFigure) -> Cell:
    """Whether it was measured, with a note where the line may not lead to what would be."""
    origin = text_cell("measured" if figure.is_measured else "from the fit")
    doubt = DOUBTS[figure.doubt].format(figure.most_sessions) if figure.doubt else None
    return with_note(with_note(origin, doubt), RETURNED_MEMORY_NOTE if figure.gave_back_memory else None)


COLUMNS = (
    Column("stack", "stack", left=True, value=lambda row: row.stack),
    Column("process", "process of", left=True, value=lambda row: row.holder, form=holder_cell),
    Column("at_once", "handshakes", left=True, value=lambda row: describe_window(row.setting.window)),
    Column("peak_rss_kib", "KiB", value=lambda row: row.figure, form=lambda figure: kib_cell(figure.bytes)),
    Column(
        "peak_rss_mib",
        "MiB",
        value=lambda row: row.figure,
        form=lambda figure: Cell(f"{figure.bytes / MIB:,.1f}", mebibytes(figure)),
    ),
    Column("origin", "origin", left=True, value=lambda row: row.figure, form=origin_cell),
)


def c10k(selection: Selection) -> Table:
    """Of processes that hold both ends, and of those that are all clients or all servers, split or kept."""
    selection = selection.where(is_same_stack_pair)
    caption = (
        "Peak RSS of one process with 10,000 sessions, including the process without sessions. "
        f"1 MiB is 1,048,576 bytes. {describe_common_settings(selection)}."
    )
    table = Table("c10k", "C10K figure", caption, [*setting_columns(selection), *COLUMNS])
    table.add_rows(rows(selection))
    return table


def rows(selection: Selection) -> Iterator[C10kRow]:
    """Of each process whose sessions stay."""
    for setting in selection.settings:
        for stack in selection.stacks:
            for holder, process in processes_by_holder(setting).items():
                figure = find_c10k(selection.series(stack, setting, process))
                yield C10kRow(stack, setting, holder, figure)
