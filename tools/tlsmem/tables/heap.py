"""The table `heap`: what one more session costs in live heap, in whole numbers, by role and phase.

A column is one entry of COLUMNS: what it takes of a row, which is one of the three classes of stats/live_heap.py, and
how that is written."""

from collections.abc import Iterator
from typing import NamedTuple

from tlsmem.stats import process_tables
from tlsmem.stats.live_heap import (
    TOTAL,
    HeapFigure,
    ProcessFigure,
    ProcessTables,
    Remainder,
    SessionHeap,
    SplitExcess,
    roles_and_processes,
)
from tlsmem.stats.remainders import Cause
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Series, Setting, is_same_stack_pair
from tlsmem.stats.session_cost import Quotient
from tlsmem.tables.settings import describe_common_settings, setting_columns
from tlsmem.tables.table import Cell, Column, Table

ROLE_NAMES = {"client": "client", "server": "server", TOTAL: "pair"}
LEFTOVER = "a + r/n: r bytes or blocks are left over n sessions, so sessions are not all alike"
CAUSES: dict[Cause, str] = {
    "resumption": "resumption state: tickets, or a store that grows",
    "signature": "DER signature length: ECDSA",
    "blinding": "blinding of the server's RSA key: once per process, of random length",
    "unknown": "not known",
}
CAPTION = (
    "Live heap per additional session, in bytes (allocations): requested from the allocator and not yet freed. A pair "
    "is a client and a server with everything that the process holds for them. Peak: what one more of many sessions "
    "adds to the peak of all. "
)


def heap_cell(figure: HeapFigure | ProcessFigure) -> Cell:
    """Bytes and blocks, of a session or of a process."""
    return process_cell(figure) if isinstance(figure, ProcessFigure) else session_cell(figure)


def session_cell(figure: HeapFigure) -> Cell:
    """Bytes and blocks per session, with what is left over and why."""
    size, blocks, remainder = figure
    data = quotient_data("bytes", size) | quotient_data("blocks", blocks) | {"over_sessions": size.sessions}
    is_uneven = size.remainder or blocks.remainder
    note = f"{LEFTOVER}: {describe_remainder(remainder)}" if remainder else LEFTOVER
    return Cell(f"{size} ({blocks})", data, note if is_uneven else None)


def describe_remainder(remainder: Remainder) -> str:
    """Say why sessions are not all alike."""
    cause, interval = CAUSES[remainder.cause], remainder.interval
    return f"{cause}; {interval.low:,.2f} to {interval.high:,.2f} over repeats" if interval else cause


def process_cell(figure: ProcessFigure) -> Cell:
    """Bytes and blocks of process-wide tables."""
    size, blocks, (few, many) = figure
    data = {"bytes": size, "blocks": blocks, "over_sessions": 1}
    note = f"in total, N = {many:,} minus N = {few:,}: {process_tables.TABLE_NOTE}"
    return Cell(f"{size:,} ({blocks:,})", data, note if size else None)


def quotient_data(name: str, quotient: Quotient) -> dict[str, int]:
    """Return the integer part and the remainder, by name."""
    return {name: quotient.integer_part, f"{name}_remainder": quotient.remainder}


class HeapRow(NamedTuple):
    """Sessions of a role, process-wide tables, or the excess of split roles."""

    stack: str
    name: str  # of a role, or of what else the row tells
    heap: SessionHeap | ProcessTables | SplitExcess

    @property
    def setting(self) -> Setting:
        """The setting of the figures."""
        return self.heap.setting


NAMES = (
    Column("stack", "stack", left=True, value=lambda row: row.stack),
    Column("role", "role", left=True, value=lambda row: row.name),
)
COLUMNS = (
    Column("sessions", "created", value=lambda row: row.heap.live("sessions"), form=heap_cell),
    Column("peak", "peak, one more of many", value=lambda row: row.heap.peak, form=heap_cell),
    Column("peak_phase", "peak in", left=True, value=lambda row: row.heap.peak_phase),
    Column("established", "established", value=lambda row: row.heap.live("established"), form=heap_cell),
    Column("reply", "after 1 KiB each way", value=lambda row: row.heap.live("reply"), form=heap_cell),
)


def heap_costs(selection: Selection) -> Table:
    """The table `heap`, of pairs of one stack in the controlled environment, where heap is metered."""
    selection = selection.where(
        lambda setting: is_same_stack_pair(setting) and setting.env == "lab"
    )  # there heap is metered
    columns = [*setting_columns(selection), *NAMES, *COLUMNS]
    caption = f"{CAPTION}{describe_common_settings(selection)}."
    made = Table("heap", "Live heap per session", caption, columns)
    for setting in selection.settings:
        for stack in selection.stacks:
            made.add_rows(rows(selection, stack, setting))
    return made


def rows(selection: Selection, stack: str, setting: Setting) -> Iterator[HeapRow]:
    """Sessions by role, then process-wide tables, then what roles in two processes have more than in one."""
    held = roles_and_processes(setting)
    series = {role: selection.series(stack, setting, process) for role, process in held.items()}
    for role in held:
        yield HeapRow(stack, ROLE_NAMES[role], SessionHeap(series[role], role))
    for role in [TOTAL] if TOTAL in held else held:
        tables = ProcessTables(series[role], role)
        if tables.exists:
            yield HeapRow(stack, "rest" if role == TOTAL else f"rest, {role}", tables)
    excess = SplitExcess(selection, stack, setting)
    if excess.exists:
        yield HeapRow(stack, "pair, less together", excess)


def heap_cells(series: Series, role: str) -> dict[str, Cell]:
    """The cells of a role's sessions by the key of their column."""
    row = HeapRow(series.stack, ROLE_NAMES[role], SessionHeap(series, role))
    return {column.key: column.cell(row) for column in COLUMNS}
