"""Every stack in one table: what a session of each costs, by suite and role, the smallest first."""

from tlsmem.profile import sites_reader
from tlsmem.profile.buckets.rules import CALLER_BUFFERS
from tlsmem.profile.buckets.sums import BucketSums
from tlsmem.run.validate import strip_suite
from tlsmem.schema.harness_output import Role
from tlsmem.stats import allocator_statistics
from tlsmem.stats.c10k_figure import C10kFigure, find_c10k
from tlsmem.stats.live_heap import is_same_stack_pair
from tlsmem.stats.rss_line import fit_rss
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Series, Setting
from tlsmem.tables import rss_accounts
from tlsmem.tables.c10k import mebibytes, origin_cell
from tlsmem.tables.heap import heap_cells
from tlsmem.tables.rss import slope_interval_cell
from tlsmem.tables.settings import describe_common_settings, setting_cells, setting_columns
from tlsmem.tables.table import Cell, Column, Table, missing_cell, text_cell, value_cell, with_note

COLUMNS = {
    "created": "created",
    "peak": "at the peak",
    "established": "established",
    "rss_established": "RSS, established",
    "c10k": "C10K, MiB",
}
CAPTION = (
    "Bytes that one more session of the role adds: live heap created, at its peak in the handshake and established, "
    "from heap runs; and the slope of RSS at `established` ± the wider half of its 95 % interval over repeats. C10K: "
    "peak RSS of a process with 10,000 sessions of the role, ≈ where it is from the fit. The smallest first."
)
ROUNDED_NOTE = "rounded: sessions are not all alike, see the table heap"
OWNED = "of which {:,.0f} B are buffers that the caller owns, see the table buckets"
RUNTIME_NOTE = "slope of its runtime's own figure, after a collection, in RSS runs: the heap meter does not see it"
RUNTIME_PEAK = "the same, the most at the end of any phase; nothing is known of within"
NEEDS_SPLIT_ROLES = "of a process for each role (make mem ROLES=split)"


def exact_bytes(established: Cell) -> float:
    """Bytes per session; what is not known is the largest."""
    size = established.value or {"bytes": float("inf")}
    return size["bytes"] + size.get("bytes_remainder", 0) / size.get("over_sessions", 1)


def rounded_cell(cell: Cell) -> Cell:
    """To the byte and without blocks, which are in the table heap."""
    if cell.value is None:
        return cell
    size = {name: cell.value[name] for name in ("bytes", "bytes_remainder", "over_sessions")}
    return Cell(f"{exact_bytes(cell):,.0f}", size, ROUNDED_NOTE if size["bytes_remainder"] else None)


def live_heap_cells(series: Series, role: Role) -> list[Cell]:
    """Created, at the peak, established."""
    if allocator_statistics.have_runtime_statistics(series.full("rss")):
        return live_of_runtime(series)
    cells = heap_cells(series, role)
    return [
        rounded_cell(cells["sessions"]),
        rounded_cell(cells["peak"]),
        with_note(rounded_cell(cells["established"]), describe_lent_buffers(series, role)),
    ]


def describe_lent_buffers(series: Series, role: Role) -> str | None:
    """What of an established session is not the library's own: known of stacks with a sites run."""
    for run in series.runs("sites")[-1:]:
        sums = BucketSums(sites_reader.profile_from_record(run))
        if held := sums.live_by_bucket("established", role).get(CALLER_BUFFERS):
            return OWNED.format(float(sums.each(held)))
    return None


def live_of_runtime(series: Series) -> list[Cell]:
    """The same by a runtime's own figure, which there is at the ends of phases only."""
    if why := rss_accounts.why_no_slope(series):
        return [missing_cell(why)] * 3
    runs = series.full("rss")
    names = [phase.phase for phase in runs[0].phases]
    slopes = [
        rss_accounts.slope_per_pair(runs, rss_accounts.quantity_at_end(allocator_statistics.runtime_live_bytes, name))
        for name in names
    ]
    ends = dict(zip(names, slopes, strict=True))
    told = [(ends["sessions"], RUNTIME_NOTE), (max(slopes), RUNTIME_PEAK), (ends["established"], RUNTIME_NOTE)]
    return [Cell(f"{round(slope):,}", {"bytes": round(float(slope), 1)}, note) for slope, note in told]


def resident(series: Series) -> list[Cell]:
    """RSS per session, and of 10,000 the peak."""
    if series.setting.roles == "together":
        return [missing_cell(NEEDS_SPLIT_ROLES)] * 2
    rests = with_note(
        value_cell(fit_rss(series, "established"), slope_interval_cell),
        allocator_statistics.returned_memory_note(series.full("rss")),
    )
    return [rests, value_cell(find_c10k(series), c10k_cell)]


def c10k_cell(figure: C10kFigure) -> Cell:
    origin, size = origin_cell(figure), mebibytes(figure)
    text = f"{'' if figure.is_measured else '≈ '}{size:,.0f}"
    return Cell(text, {"mib": size, "origin": origin.value}, origin.note)


def rank_by_live_heap(selection: Selection, setting: Setting, role: Role) -> list[tuple[Series, list[Cell]]]:
    """Live heap of each stack that was measured in this setting: by what is established, the smallest first."""
    stacks = (selection.series(stack, setting, setting.processes[role]) for stack in selection.stacks)
    measured = (series for series in stacks if any(one.status == "measured" for one in series.records))
    return sorted(((one, live_heap_cells(one, role)) for one in measured), key=lambda row: exact_bytes(row[1][2]))


def unmeasured_stacks(selection: Selection) -> dict[tuple[str, str], list[str]]:
    """Stacks that were measured in none of some suites, with the reason: those suites."""
    found: dict[tuple[str, str], list[str]] = {}
    for setting in selection.settings:
        for stack in selection.stacks:
            series = selection.series(stack, setting, next(iter(setting.processes.values())))
            if not any(one.status == "measured" for one in series.records):
                why = series.reason("rss").removeprefix("unsupported: ")
                found.setdefault((stack, strip_suite(why)), []).append(setting.suite)
    return found


def describe_unmeasured(selection: Selection) -> list[str]:
    """What has no row and why: once, however many suites it is."""
    found = unmeasured_stacks(selection).items()
    return [f"{stack} in {', '.join(dict.fromkeys(suites))}: {why}" for (stack, why), suites in found]


def stack_table(selection: Selection) -> Table:
    selection = selection.where(lambda setting: is_same_stack_pair(setting) and setting.env == "lab")
    columns = [*setting_columns(selection), Column("role", "role", left=True), Column("stack", "stack", left=True)]
    columns += [Column(key, heading) for key, heading in COLUMNS.items()]
    made = Table(
        "stacks",
        "Every stack",
        f"{CAPTION} {describe_common_settings(selection)}.",
        columns,
        without=describe_unmeasured(selection),
    )
    made.headed = len(setting_columns(selection)) + 1
    for setting in selection.settings:
        for role in setting.processes:
            for series, cells in rank_by_live_heap(selection, setting, role):
                named = [*setting_cells(selection, setting), text_cell(role), text_cell(series.stack)]
                made.rows.append([*named, *cells, *resident(series)])
    return made
