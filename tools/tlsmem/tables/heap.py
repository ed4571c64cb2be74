"""What one more session costs in live heap: a table in whole numbers, by role and phase."""

from tlsmem.schema.harness_output import Process
from tlsmem.stats import allocator_statistics, bootstrap, process_tables, remainders, role_sums, session_cost
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Series, Setting
from tlsmem.stats.session_cost import HeapCost, Quotient
from tlsmem.tables.rss import NO_PAYLOAD
from tlsmem.tables.settings import describe_common_settings, setting_cells, setting_columns
from tlsmem.tables.table import Cell, Column, Table, missing_cell, text_cell

ROLE_NAMES = {"client": "client", "server": "server", "total": "pair"}
PHASE_HEADINGS = {"sessions": "created", "established": "established", "reply": "after 1 KiB each way"}  # by phase
LEFTOVER = "a + r/n: r bytes or blocks are left over n sessions, so sessions are not all alike"
NO_COST_WHEN_WINDOWED = "sessions are made window by window, so this phase has no cost per session; see the law"


def quotient_data(name: str, quotient: Quotient) -> dict[str, int]:
    return {name: quotient.integer_part, f"{name}_remainder": quotient.remainder}


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
    name = remainders.explain_remainder(process_tables.remove_tables(series.heap_pair()), role, cost)
    if not name:
        return None
    live = session_cost.values_by_sessions(
        series.runs("heap"), lambda run: getattr(session_cost.phase_of(run, cost.phase).heap, role).live_bytes
    )
    found = bootstrap.slope_interval(live)
    return f"{name}; {found.low:,.2f} to {found.high:,.2f} over repeats" if found else name


def why_no_heap_cost(series: Series) -> str:
    metered = series.runs("heap")
    if not metered:
        return allocator_statistics.unmetered_reason(series.runs("rss")) or series.reason("heap")
    return f"heap metered at N = {metered[0].sessions:,} only, and a total divided by N is not a slope"


def stage_cell(series: Series, role: str, phase: str) -> Cell:
    pair = process_tables.remove_tables(series.heap_pair())
    if phase == "reply" and pair[0].roles.startswith("keep"):
        return missing_cell(NO_PAYLOAD)
    cost = session_cost.live_cost(*pair, role, phase)
    return heap_cell(cost, remainder(series, role, cost))


def is_same_stack_pair(setting: Setting) -> bool:
    """Mixed pairs are in a table of their own."""
    return setting.peer is None


def processes_by_role(setting: Setting) -> dict[str, Process]:
    """Rows of a setting: role to the process that holds it; the total is a pair's where one process holds both ends."""
    return setting.processes | ({"total": "both"} if setting.roles == "together" else {})


def heap_row(series: Series, role: str) -> list[Cell]:
    """Created, peak, its phase, established, after the reply."""
    pair = series.heap_pair()
    if not pair:
        return [missing_cell(why_no_heap_cost(series))] * 5
    pair = process_tables.remove_tables(pair)
    made, established, reply = (stage_cell(series, role, phase) for phase in PHASE_HEADINGS)
    if series.setting.window != "all":
        return [
            missing_cell(NO_COST_WHEN_WINDOWED),
            missing_cell(NO_COST_WHEN_WINDOWED),
            missing_cell(NO_COST_WHEN_WINDOWED),
            established,
            reply,
        ]
    peak = session_cost.peak_cost(*pair, role)
    named = heap_cell(peak, remainders.explain_peak_remainder(pair, role, peak))
    return [made, named, text_cell(peak.phase), established, reply]


def rest_row(series: Series, role: str) -> list[Cell] | None:
    """What the process has besides: of the larger run's tables, less the smaller's. None where there are none."""
    pair = series.heap_pair()
    if not pair or role not in process_tables.find_tables(pair):
        return None
    alone = process_tables.remove_tables(pair)
    made, established, reply = (
        rest_cell(pair, *(session_cost.live_cost(*two, role, name) for two in (pair, alone))) for name in PHASE_HEADINGS
    )
    if series.setting.window != "all":
        return [
            missing_cell(NO_COST_WHEN_WINDOWED),
            missing_cell(NO_COST_WHEN_WINDOWED),
            missing_cell(NO_COST_WHEN_WINDOWED),
            established,
            reply,
        ]
    peak = session_cost.peak_cost(*alone, role)
    return [
        made,
        rest_cell(pair, session_cost.phase_peak_cost(*pair, role, peak.phase), peak),
        text_cell(peak.phase),
        established,
        reply,
    ]


def rest_cell(pair: remainders.HeapPair, whole: HeapCost, alone: HeapCost) -> Cell:
    """In all, not per session."""
    size, blocks = (getattr(whole, one).amount - getattr(alone, one).amount for one in ("bytes", "blocks"))
    few, many = (f"{run.sessions:,}" for run in pair)
    data = {"bytes": size, "blocks": blocks, "over_sessions": 1}
    return Cell(
        f"{size:,} ({blocks:,})",
        data,
        f"in all, of N = {many} less N = {few}: {process_tables.TABLE_NOTE}" if size else None,
    )


def sum_row(selection: Selection, stack: str, setting: Setting) -> list[Cell] | None:
    """What the roles of a split run have live less what they have together: nought when all is well.

    None where not both were measured."""
    if setting.roles != "split":
        return None
    found = [role_sums.extra_when_split(selection, stack, setting, phase) for phase in PHASE_HEADINGS]
    if None in found:
        return None
    made, established, reply = (heap_cell(HeapCost("", *both)) for both in found)
    made = made if setting.window == "all" else missing_cell(NO_COST_WHEN_WINDOWED)
    apart = missing_cell("peaks of two processes need not come at the same time")
    return [text_cell("pair, less together"), made, apart, apart, established, reply]


def heap_costs(selection: Selection) -> Table:
    selection = selection.where(
        lambda setting: is_same_stack_pair(setting) and setting.env == "lab"
    )  # there heap is metered
    created, *later = (Column(phase, heading) for phase, heading in PHASE_HEADINGS.items())
    stages = [created, Column("peak", "at the peak"), Column("peak_phase", "peak in", left=True), *later]
    columns = [*setting_columns(selection), Column("stack", "stack", left=True), Column("role", "role", left=True)]
    caption = (
        "Bytes asked of the allocator and not yet given back, and (blocks), that one more session of the role adds; "
        "a pair is a client and a server with all that the process holds for them. "
        f"{describe_common_settings(selection)}."
    )
    table = Table("heap", "Live heap per session", caption, columns + stages)
    for setting in selection.settings:
        for stack in selection.stacks:
            for role, process in processes_by_role(setting).items():
                cells = [*setting_cells(selection, setting), text_cell(stack), text_cell(ROLE_NAMES[role])]
                table.rows.append([*cells, *heap_row(selection.series(stack, setting, process), role)])
            for role in ("total",) if "total" in processes_by_role(setting) else processes_by_role(setting):
                if row := rest_row(selection.series(stack, setting, processes_by_role(setting)[role]), role):
                    named = text_cell("rest" if role == "total" else f"rest, {role}")
                    table.rows.append([*setting_cells(selection, setting), text_cell(stack), named, *row])
            if row := sum_row(selection, stack, setting):
                table.rows.append([*setting_cells(selection, setting), text_cell(stack), *row])
    return table
