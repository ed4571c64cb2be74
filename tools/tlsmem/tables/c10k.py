"""The C10K figure: peak RSS of a process with 10,000 sessions, measured or from the fit."""

from tlsmem.schema.records import Record
from tlsmem.stats import allocator_statistics, session_cost
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Series
from tlsmem.stats.session_cost import MIB
from tlsmem.tables import nonlinearity
from tlsmem.tables.peaks_and_model import kib_cell
from tlsmem.tables.settings import describe_common_settings, processes_by_holder, setting_cells, setting_columns
from tlsmem.tables.table import Cell, Column, Table, missing_cell, text_cell, with_note

HELD = {"both": "5,000 clients and 5,000 servers", "client": "10,000 clients", "server": "10,000 servers"}
GARBAGE = "from {:,} sessions; a peak that has garbage between two collections in it keeps to no line"
BENDS = "the line through these peaks bends, see the table bends"


def doubt(runs: list[Record], most: int) -> str | None:
    """Why the line may not lead to what would be measured; `most` sessions were."""
    if allocator_statistics.have_runtime_statistics(runs):
        return GARBAGE.format(most)
    return BENDS if nonlinearity.find_bends(session_cost.values_by_sessions(runs, session_cost.peak_rss)) else None


def c10k_row(series: Series) -> list[Cell]:
    """KiB, MiB, and where they are from."""
    runs = series.full("rss")
    points = session_cost.medians(runs, session_cost.peak_rss)
    figure = session_cost.c10k({sessions // series.share: peak for sessions, peak in points.items()})
    if not figure:
        return [
            missing_cell(f"N = {runs[0].sessions:,} only, not enough for a line" if runs else series.reason("rss"))
        ] * 3
    value, measured = figure
    origin = (
        text_cell("measured")
        if measured
        else with_note(text_cell("from the fit"), doubt(runs, runs[-1].sessions // series.share))
    )
    return [
        kib_cell(value),
        Cell(f"{value / MIB:,.1f}", round(value / MIB, 3)),
        with_note(origin, allocator_statistics.returned_memory_note(runs)),
    ]


def c10k(selection: Selection) -> Table:
    """Of processes that hold both ends, and of those that are all clients or all servers, split or kept."""
    selection = selection.where(lambda setting: setting.peer is None)
    columns = [
        *setting_columns(selection),
        Column("stack", "stack", left=True),
        Column("process", "process of", left=True),
    ]
    columns += [Column("peak_rss_kib", "KiB"), Column("peak_rss_mib", "MiB"), Column("origin", "origin", left=True)]
    caption = (
        "Peak RSS of one process with 10,000 sessions, what it has at no sessions included. "
        f"1 MiB is 1,048,576 bytes. {describe_common_settings(selection)}."
    )
    table = Table("c10k", "C10K figure", caption, columns)
    for setting in selection.settings:
        for stack in selection.stacks:
            for holder, process in processes_by_holder(setting).items():
                row = c10k_row(selection.series(stack, setting, process))
                table.rows.append(
                    [*setting_cells(selection, setting), text_cell(stack), Cell(HELD[holder], holder), *row]
                )
    return table
