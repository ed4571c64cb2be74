"""Mixed pairs: what a role of a stack costs with another stack at the other end, beside itself there."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from tlsmem.schema.harness_output import Role
from tlsmem.stats import repeats, session_cost
from tlsmem.stats.live_heap import HeapFigure, why_no_heap_cost
from tlsmem.stats.repeats import SINGLE_RUN_NOTE, WITHIN_SPREAD_NOTE, RepeatChange
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Series, Setting, limit_to_common_sessions
from tlsmem.tables.heap import heap_cell
from tlsmem.tables.settings import describe_common_settings, setting_cells, setting_columns
from tlsmem.tables.table import Cell, Column, Table, missing_cell, text_cell


def change_cell(change: RepeatChange) -> Cell:
    """Bytes and percent, or none."""
    data = {"bytes": round(change.amount, 3), "percent": round(100 * change.share, 4)}
    note = (
        SINGLE_RUN_NOTE if change.once else WITHIN_SPREAD_NOTE if change.amount and not change.beyond_spread else None
    )
    return Cell(f"{change.amount:+,.0f} ({100 * change.share:+.2f} %)" if change.beyond_spread else "none", data, note)


STAGES: dict[str, str | None] = {"established": "established", "peak": None}  # None: the peak, whichever phase it is in


@dataclass(frozen=True)
class PairEnd:
    """One stack's end of mixed pairs, beside the same end of pairs with itself."""

    stack: str
    role: Role
    peer: str
    mixed: Series
    alone: Series


def ends(selection: Selection, server: str, setting: Setting) -> Iterator[PairEnd]:
    """The server's end, then the client's."""
    assert setting.peer
    both: tuple[tuple[Role, str, str], ...] = (("server", server, setting.peer), ("client", setting.peer, server))
    itself = replace(setting, peer=None)
    for role, stack, peer in both:
        mixed = selection.series(server, setting, role)
        yield PairEnd(stack, role, peer, mixed, selection.series(stack, itself, role))


def compared(end: PairEnd, figures: Callable[[Series], list[float]], exact: bool) -> Cell:
    before, after = figures(end.alone), figures(end.mixed)
    if not before or not after:
        return missing_cell(f"no split runs of {end.stack} with itself as peer among these")
    return change_cell(RepeatChange(tuple(before), tuple(after), exact))


def heap_cells(end: PairEnd) -> list[Cell]:
    """Live heap established and at its peak, each with its difference."""
    pair = end.mixed.heap_pair()
    if not pair:
        return [missing_cell(why_no_heap_cost(end.mixed))] * 4
    cells = []
    for phase in STAGES.values():
        cost = session_cost.live_cost(*pair, end.role, phase) if phase else session_cost.peak_cost(*pair, end.role)
        cells += [
            heap_cell(HeapFigure(cost.bytes, cost.blocks)),
            compared(end, partial(repeats.live_slopes, role=end.role, phase=phase), True),
        ]
    return cells


def rss_cells(end: PairEnd) -> list[Cell]:
    """Peak of the run per session, and its difference."""
    line = session_cost.fit_line(session_cost.medians(end.mixed.full("rss"), session_cost.peak_rss))
    if not line:
        return [missing_cell(end.mixed.reason("rss"))] * 2
    slope = Cell(f"{2 * line.slope:,.0f}", round(2 * line.slope, 1))
    alone, mixed = limit_to_common_sessions((end.alone, end.mixed))
    if peak_slopes(end.alone) and not peak_slopes(alone):
        return [slope, missing_cell("no two N in common with pairs of the same stack")]
    return [slope, compared(replace(end, alone=alone, mixed=mixed), peak_slopes, False)]


def peak_slopes(series: Series) -> list[float]:
    return repeats.slopes(series, session_cost.peak_rss)


def mixed_pair_table(selection: Selection) -> Table:
    """One row an end: server and client of every mixed pair."""
    mixed = selection.where(lambda setting: setting.peer is not None)
    names = {"stack": "stack", "process": "role", "peer": "peer"}
    columns = [*setting_columns(mixed), *(Column(key, heading, left=True) for key, heading in names.items())]
    for stage in STAGES:
        columns += [Column(f"live_{stage}", f"live heap, {stage}"), Column(f"live_{stage}_change", "differs by")]
    columns += [Column("rss_bytes_per_session", "peak RSS"), Column("rss_change", "differs by")]
    caption = (
        "Per session of the role, in a process of its own: live heap in bytes (blocks), and peak RSS of the run in "
        "bytes. Beside each, by how much it differs from the same stack with itself as peer. "
        f"{describe_common_settings(mixed)}."
    )
    table = Table("interop", "Mixed pairs", caption, columns)
    for setting in mixed.settings:
        for server in mixed.stacks:
            if mixed.series(server, setting, "server").records:
                for end in ends(selection, server, setting):
                    named = [*setting_cells(mixed, setting), *map(text_cell, (end.stack, end.role, end.peer))]
                    table.rows.append([*named, *heap_cells(end), *rss_cells(end)])
    return table
