"""What one more session costs in live heap: a table in whole numbers, by role and phase."""

from tlsmem.schema.harness_output import Process
from tlsmem.stats import allocator_statistics, bootstrap, process_tables, remainders, role_sums, session_cost
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Series, Setting
from tlsmem.stats.session_cost import HeapCost, Quotient
from tlsmem.tables.rss import NO_PAYLOAD
from tlsmem.tables.settings import cells_of, columns_of, constant
from tlsmem.tables.table import Cell, Column, Table, hole, word

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
    name = remainders.remainder_of(process_tables.without(series.heap_pair()), role, cost)
    live = session_cost.repeats(
        series.runs("heap"), lambda run: getattr(session_cost.phase_of(run, cost.phase).heap, role).live_bytes
    )
    found = bootstrap.interval(live) if name else None
    return f"{name}; {found.low:,.2f} to {found.high:,.2f} over repeats" if found else name


def heap_holes(series: Series) -> str:
    metered = series.runs("heap")
    if not metered:
        return allocator_statistics.unseen(series.runs("rss")) or series.reason("heap")
    return f"heap metered at N = {metered[0].sessions:,} only, and a total divided by N is not a slope"


def stage_cell(series: Series, role: str, phase: str) -> Cell:
    pair = process_tables.without(series.heap_pair())
    if phase == "reply" and pair[0].roles.startswith("keep"):
        return hole(NO_PAYLOAD)
    cost = session_cost.live_cost(*pair, role, phase)
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
    pair = process_tables.without(pair)
    made, established, reply = (stage_cell(series, role, phase) for phase in STAGES)
    if series.setting.window != "all":
        return [hole(WINDOWED), hole(WINDOWED), hole(WINDOWED), established, reply]
    peak = session_cost.peak_cost(*pair, role)
    named = heap_cell(peak, remainders.remainder_of_peak(pair, role, peak))
    return [made, named, word(peak.phase), established, reply]


def rest_row(series: Series, role: str) -> list[Cell] | None:
    """What the process has besides: of the larger run's tables, less the smaller's. None where there are none."""
    pair = series.heap_pair()
    if not pair or role not in process_tables.tables(pair):
        return None
    alone = process_tables.without(pair)
    made, established, reply = (
        rest_cell(pair, *(session_cost.live_cost(*two, role, name) for two in (pair, alone))) for name in STAGES
    )
    if series.setting.window != "all":
        return [hole(WINDOWED), hole(WINDOWED), hole(WINDOWED), established, reply]
    peak = session_cost.peak_cost(*alone, role)
    return [
        made,
        rest_cell(pair, session_cost.peak_of(*pair, role, peak.phase), peak),
        word(peak.phase),
        established,
        reply,
    ]


def rest_cell(pair: remainders.Pair, whole: HeapCost, alone: HeapCost) -> Cell:
    """In all, not per session."""
    size, blocks = (getattr(whole, one).amount - getattr(alone, one).amount for one in ("bytes", "blocks"))
    few, many = (f"{run.sessions:,}" for run in pair)
    data = {"bytes": size, "blocks": blocks, "over_sessions": 1}
    return Cell(
        f"{size:,} ({blocks:,})", data, f"in all, of N = {many} less N = {few}: {process_tables.NAME}" if size else None
    )


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
            for role in ("total",) if "total" in held_roles(setting) else held_roles(setting):
                if row := rest_row(selection.series(stack, setting, held_roles(setting)[role]), role):
                    named = word("rest" if role == "total" else f"rest, {role}")
                    table.rows.append([*cells_of(selection, setting), word(stack), named, *row])
            if row := sum_row(selection, stack, setting):
                table.rows.append([*cells_of(selection, setting), word(stack), *row])
    return table
