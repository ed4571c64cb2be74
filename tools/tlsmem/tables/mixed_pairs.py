"""Mixed pairs: what a role of a stack costs with another stack at the other end, beside itself there.

A column is one entry of COLUMNS: what it takes of an end (stats/mixed_pairs.py), and how that is written."""

from collections.abc import Iterator

from tlsmem.stats.mixed_pairs import PairEnd, find_pair_ends
from tlsmem.stats.repeats import SINGLE_RUN_NOTE, WITHIN_SPREAD_NOTE, RepeatChange
from tlsmem.stats.selection import Selection
from tlsmem.tables.heap import heap_cell
from tlsmem.tables.settings import describe_common_settings, setting_columns
from tlsmem.tables.table import Cell, Column, Table


def change_cell(change: RepeatChange) -> Cell:
    """Bytes and percent, or none."""
    data = {"bytes": round(change.amount, 3), "percent": round(100 * change.share, 4)}
    note = (
        SINGLE_RUN_NOTE if change.once else WITHIN_SPREAD_NOTE if change.amount and not change.beyond_spread else None
    )
    return Cell(f"{change.amount:+,.0f} ({100 * change.share:+.2f} %)" if change.beyond_spread else "none", data, note)


def slope_cell(slope: float) -> Cell:
    """Whole bytes, to a tenth for programs."""
    return Cell(f"{slope:,.0f}", round(slope, 1))


COLUMNS = (
    Column("stack", "stack", left=True, value=lambda end: end.stack),
    Column("process", "role", left=True, value=lambda end: end.role),
    Column("peer", "peer", left=True, value=lambda end: end.peer),
    Column("live_established", "live heap, established", value=lambda end: end.live("established"), form=heap_cell),
    Column("live_established_change", "differs by", value=lambda end: end.live_change("established"), form=change_cell),
    Column("live_peak", "live heap, peak", value=lambda end: end.live(None), form=heap_cell),
    Column("live_peak_change", "differs by", value=lambda end: end.live_change(None), form=change_cell),
    Column("rss_bytes_per_session", "peak RSS", value=lambda end: end.rss, form=slope_cell),
    Column("rss_change", "differs by", value=lambda end: end.rss_change, form=change_cell),
)


def mixed_pair_table(selection: Selection) -> Table:
    """The table `interop`: a row for each end of every mixed pair."""
    mixed = selection.where(lambda setting: setting.peer is not None)
    caption = (
        "Per session of the role, with a process for each role: live heap in bytes (blocks), and peak RSS of the run "
        "in bytes. Peaks are what one more of many adds. Beside each figure: the difference from the same stack with "
        "itself as peer. "
        f"{describe_common_settings(mixed)}."
    )
    table = Table("interop", "Mixed pairs", caption, [*setting_columns(mixed), *COLUMNS])
    table.add_rows(rows(selection, mixed))
    return table


def rows(selection: Selection, mixed: Selection) -> Iterator[PairEnd]:
    """The server and the client of every mixed pair. `selection` also has the pairs of one stack."""
    for setting in mixed.settings:
        for server in mixed.stacks:
            if mixed.series(server, setting, "server").records:
                yield from find_pair_ends(selection, server, setting)
