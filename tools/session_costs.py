"""What one more session costs: the table of live heap, in whole numbers by role and phase, and those of RSS."""

from collections.abc import Callable

import costs
import intervals
import remainders
import role_sums
from costs import MIB, HeapCost, Quotient
from lines import Process
from records import Record
from selection import Selection
from series import Series, Setting
from settings import cells_of, columns_of, constant
from tables import Cell, Column, Table, hole, word

ROLES = {"client": "client", "server": "server", "total": "pair"}
STAGES = {"sessions": "created", "established": "established", "reply": "after 1 KiB each way"}  # by phase
LEFTOVER = "a + r/n: r bytes or blocks are left over n sessions, so sessions are not all alike"
WINDOWED = "sessions are made window by window, so this phase has no cost per session; see the law"


def quotient_data(name: str, quotient: Quotient) -> dict[str, int]:
    return {name: quotient.whole, f"{name}_remainder": quotient.remainder}


def heap_cell(cost: HeapCost, why: str | None = None) -> Cell:
    """`why` is what is known of a remainder."""
    data = (
        quotient_data("bytes", cost.bytes)
        | quotient_data("blocks", cost.blocks)
        | {"over_sessions": cost.bytes.sessions}
    )
    uneven = cost.bytes.remainder or cost.blocks.remainder
    return Cell(f"{cost.bytes} ({cost.blocks})", data, ": ".join(filter(None, (LEFTOVER, why))) if uneven else None)


def remainder(series: Series, role: str, cost: HeapCost) -> str | None:
    """Its name, and how far slopes of repeats lie apart where they do."""
    name = remainders.remainder_of(series.heap_pair(), role, cost)
    live = costs.repeats(
        series.runs("heap"), lambda run: getattr(costs.phase_of(run, cost.phase).heap, role).live_bytes
    )
    found = intervals.interval(live) if name else None
    return f"{name}; {found.low:,.2f} to {found.high:,.2f} over repeats" if found else name


def heap_holes(series: Series) -> str:
    metered = series.runs("heap")
    if not metered:
        return series.reason("heap")
    return f"heap metered at N = {metered[0].sessions:,} only, and a total divided by N is not a slope"


def stage_cell(series: Series, role: str, phase: str) -> Cell:
    pair = series.heap_pair()
    if phase == "reply" and pair[0].roles.startswith("keep"):
        return hole("without its peer a session exchanges no payload")
    cost = costs.live_cost(*pair, role, phase)
    return heap_cell(cost, remainder(series, role, cost))


def of_one_stack(setting: Setting) -> bool:
    """Mixed pairs are in a table of their own."""
    return setting.peer is None


def held_roles(setting: Setting) -> dict[str, Process]:
    """Rows of a setting: role to the process that holds it; the total is a pair's where one process holds both ends."""
    return setting.processes | ({"total": "both"} if setting.roles == "together" else {})


def heap_row(series: Series, role: str) -> list[Cell]:
    """Created, peak, its phase, established, after the reply."""
    pair = series.heap_pair()
    if not pair:
        return [hole(heap_holes(series))] * 5
    made, established, reply = (stage_cell(series, role, phase) for phase in STAGES)
    if series.setting.window != "all":
        return [hole(WINDOWED), hole(WINDOWED), hole(WINDOWED), established, reply]
    peak = costs.peak_cost(*pair, role)
    named = heap_cell(peak, remainders.remainder_of_peak(pair, role, peak))
    return [made, named, word(peak.phase), established, reply]


def sum_row(selection: Selection, stack: str, setting: Setting) -> list[Cell] | None:
    """What the roles of a split run have live less what they have together: nought when all is well.

    None where not both were measured."""
    if setting.roles != "split":
        return None
    found = [role_sums.less_together(selection, stack, setting, phase) for phase in STAGES]
    if None in found:
        return None
    made, established, reply = (heap_cell(HeapCost("", *both)) for both in found)
    made = made if setting.window == "all" else hole(WINDOWED)
    apart = hole("peaks of two processes need not come at the same time")
    return [word("pair, less together"), made, apart, apart, established, reply]


def heap_costs(selection: Selection) -> Table:
    selection = selection.where(lambda setting: of_one_stack(setting) and setting.env == "lab")  # there heap is metered
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
            for role, process in held_roles(setting).items():
                cells = [*cells_of(selection, setting), word(stack), word(ROLES[role])]
                table.rows.append([*cells, *heap_row(selection.series(stack, setting, process), role)])
            if row := sum_row(selection, stack, setting):
                table.rows.append([*cells_of(selection, setting), word(stack), *row])
    return table


# (b) Cost per session: RSS

RSS: dict[str, Callable[[Record], int]] = {
    "peak of the run": costs.peak_rss,
    "established": costs.rss_at_end("established"),
    "1 KiB each way": costs.rss_at_end("reply"),
}


def rss_row(series: Series, quantity: Callable[[Record], int]) -> list[Cell]:
    """Slope per pair, intercept, increments, largest residual, spread of repeats, interval of the slope over them."""
    runs = series.full("rss")
    points = costs.medians(runs, quantity)
    line = costs.line(points)
    if not line:
        why = (
            f"N = {runs[0].sessions:,} only, and a total divided by N is not a slope" if runs else series.reason("rss")
        )
        return [hole(why)] * len(SLOPE)
    note = "a quotient of two points: nothing says that the line is straight" if line.is_quotient else None
    steps = [2 * step for step in line.increments]
    residual = {"bytes": round(line.residual), "share": round(line.residual_share, 6)}
    spread = costs.slope_spread(runs, quantity)
    found = intervals.interval(costs.repeats(runs, quantity))
    return [
        Cell(f"{2 * line.slope:,.0f}", round(2 * line.slope, 1), note),
        Cell(f"{line.intercept / MIB:,.2f} MiB", round(line.intercept)),
        Cell(f"{min(steps):,.0f} to {max(steps):,.0f}", " ".join(f"{step:.1f}" for step in steps)),
        hole(note) if note else Cell(f"{line.residual:+,.0f} ({100 * line.residual_share:+.3f} %)", residual),
        hole("measured once") if spread is None else Cell(f"{100 * spread:.3f} %", round(spread, 6)),
        Cell(f"{found.low:,.0f} to {found.high:,.0f}", found.rounded()) if found else hole(NO_INTERVAL),
    ]


SLOPE = (
    ("slope_bytes_per_{}", "bytes per {}"),
    ("intercept_bytes", "at no sessions"),
    ("increments_bytes_per_{}", "per {}, from N to next N"),
    ("largest_residual", "largest residual, bytes"),
    ("spread", "spread of repeats"),
    ("interval_bytes_per_{}", "95 % interval"),
)
NO_INTERVAL = "an interval needs two repeats at every N that are not all alike"


def slope_columns(unit: str) -> list[Column]:
    return [Column(key.format(unit), heading.format(unit)) for key, heading in SLOPE]


def rss_costs(selection: Selection) -> Table:
    selection = selection.where(lambda setting: setting.roles == "together")
    columns = [*columns_of(selection), Column("stack", "stack", left=True), Column("at", "RSS", left=True)]
    caption = f"The line through (sessions, RSS) by least squares; a pair is two sessions. {constant(selection)}."
    table = Table("rss", "RSS per pair of sessions", caption, columns + slope_columns("pair"))
    for setting in selection.settings:
        for stack in selection.stacks:
            for name, quantity in RSS.items():
                cells = [*cells_of(selection, setting), word(stack), word(name)]
                table.rows.append([*cells, *rss_row(selection.series(stack, setting), quantity)])
    return table


def role_costs(selection: Selection) -> Table:
    """A process of N sessions of a pair's two has N/2 of its role: bytes per pair are its bytes per session."""
    selection = selection.where(lambda setting: setting.roles == "split" and of_one_stack(setting))
    names = ("stack", "process", "at")
    columns = [*columns_of(selection), *(Column(name, "RSS" if name == "at" else name, left=True) for name in names)]
    caption = (
        "Clients and servers in a process each: the line through (sessions of the process, its RSS) by least squares. "
        f"{constant(selection)}."
    )
    table = Table("roles", "RSS per session, by role", caption, columns + slope_columns("session"))
    for setting in selection.settings:
        for stack in selection.stacks:
            for process in setting.processes.values():
                series = selection.series(stack, setting, process)
                for name, quantity in RSS.items():
                    cells = [*cells_of(selection, setting), word(stack), word(process), word(name)]
                    table.rows.append([*cells, *rss_row(series, quantity)])
    return table
