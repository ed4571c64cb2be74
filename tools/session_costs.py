"""What one more session costs: the table of live heap, in whole numbers by role and phase, and that of RSS."""

from collections.abc import Callable

import costs
from costs import MIB, HeapCost, Quotient
from records import Record
from selection import Selection, Series
from settings import cells_of, columns_of, constant
from tables import Cell, Column, Table, hole, word

ROLES = {"client": "client", "server": "server", "total": "pair"}
STAGES = {"sessions": "created", "established": "established", "reply": "after 1 KiB each way"}  # by phase
LEFTOVER = "a + r/n: r bytes or blocks are left over n sessions, so sessions are not all alike"
WINDOWED = "sessions are made window by window, so this phase has no cost per session; see the law"


def quotient_data(name: str, quotient: Quotient) -> dict[str, int]:
    return {name: quotient.whole, f"{name}_remainder": quotient.remainder}


def heap_cell(cost: HeapCost) -> Cell:
    data = (
        quotient_data("bytes", cost.bytes)
        | quotient_data("blocks", cost.blocks)
        | {"over_sessions": cost.bytes.sessions}
    )
    uneven = cost.bytes.remainder or cost.blocks.remainder
    return Cell(f"{cost.bytes} ({cost.blocks})", data, LEFTOVER if uneven else None)


def heap_holes(series: Series) -> str:
    metered = series.runs("heap")
    if not metered:
        return series.reason("heap")
    return f"heap metered at N = {metered[0].sessions:,} only, and a total divided by N is not a slope"


def heap_row(series: Series, role: str) -> list[Cell]:
    """Created, peak, its phase, established, after the reply."""
    pair = series.heap_pair()
    if not pair:
        return [hole(heap_holes(series))] * 5
    made, established, reply = (heap_cell(costs.live_cost(*pair, role, phase)) for phase in STAGES)
    if series.setting.window != "all":
        return [hole(WINDOWED), hole(WINDOWED), hole(WINDOWED), established, reply]
    peak = costs.peak_cost(*pair, role)
    return [made, heap_cell(peak), word(peak.phase), established, reply]


def heap_costs(selection: Selection) -> Table:
    created, *later = (Column(phase, heading) for phase, heading in STAGES.items())
    stages = [created, Column("peak", "at the peak"), Column("peak_phase", "peak in", left=True), *later]
    columns = [*columns_of(selection), Column("stack", "stack", left=True), Column("role", "role", left=True)]
    caption = (
        "Bytes asked of the allocator and not yet given back, and (blocks), that one more session of the role adds; "
        f"a pair is a client and a server with all that the process holds for them. {constant(selection)}."
    )
    table = Table("heap", "Live heap per session", caption, columns + stages)
    for setting in selection.settings:
        for stack in selection.stacks:
            series = selection.series(stack, setting)
            for role, name in ROLES.items():
                cells = [*cells_of(selection, setting), word(stack), word(name)]
                table.rows.append([*cells, *heap_row(series, role)])
    return table


# (b) Cost per session: RSS

RSS: dict[str, Callable[[Record], int]] = {
    "peak of the run": costs.peak_rss,
    "established": costs.rss_at_end("established"),
    "1 KiB each way": costs.rss_at_end("reply"),
}


def rss_row(series: Series, quantity: Callable[[Record], int]) -> list[Cell]:
    """Slope per pair, intercept, increments, largest residual, spread."""
    runs = series.full("rss")
    points = costs.medians(runs, quantity)
    line = costs.line(points)
    if not line:
        why = (
            f"N = {runs[0].sessions:,} only, and a total divided by N is not a slope" if runs else series.reason("rss")
        )
        return [hole(why)] * 5
    note = "a quotient of two points: nothing says that the line is straight" if line.is_quotient else None
    steps = [2 * step for step in line.increments]
    residual = {"bytes": round(line.residual), "share": round(line.residual_share, 6)}
    spread = costs.slope_spread(runs, quantity)
    return [
        Cell(f"{2 * line.slope:,.0f}", round(2 * line.slope, 1), note),
        Cell(f"{line.intercept / MIB:,.2f} MiB", round(line.intercept)),
        Cell(f"{min(steps):,.0f} to {max(steps):,.0f}", " ".join(f"{step:.1f}" for step in steps)),
        hole(note) if note else Cell(f"{line.residual:+,.0f} ({100 * line.residual_share:+.3f} %)", residual),
        hole("measured once") if spread is None else Cell(f"{100 * spread:.3f} %", round(spread, 6)),
    ]


def rss_costs(selection: Selection) -> Table:
    columns = [*columns_of(selection), Column("stack", "stack", left=True), Column("at", "RSS", left=True)]
    columns += [
        Column("slope_bytes_per_pair", "bytes per pair"),
        Column("intercept_bytes", "at no sessions"),
        Column("increments_bytes_per_pair", "per pair, from N to next N"),
        Column("largest_residual", "largest residual, bytes"),
        Column("spread", "spread of repeats"),
    ]
    caption = f"The line through (sessions, RSS) by least squares; a pair is two sessions. {constant(selection)}."
    table = Table("rss", "RSS per pair of sessions", caption, columns)
    for setting in selection.settings:
        for stack in selection.stacks:
            for name, quantity in RSS.items():
                cells = [*cells_of(selection, setting), word(stack), word(name)]
                table.rows.append([*cells, *rss_row(selection.series(stack, setting), quantity)])
    return table
