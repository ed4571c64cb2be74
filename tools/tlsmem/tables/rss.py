"""What one more session costs in RSS: the tables of lines, of pairs together and of roles in processes of their own."""

from tlsmem.stats import allocator_statistics, bootstrap, session_cost
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Series
from tlsmem.stats.session_cost import MIB, Quantity
from tlsmem.tables.settings import describe_common_settings, processes_by_holder, setting_cells, setting_columns
from tlsmem.tables.table import Cell, Column, Table, missing_cell, text_cell, with_note

RSS: dict[str, str | None] = {"peak of the run": None, "established": "established", "1 KiB each way": "reply"}  # phase
SLOPE = (
    ("slope_bytes_per_{}", "bytes per {}"),
    ("intercept_bytes", "at no sessions"),
    ("increments_bytes_per_{}", "per {}, from N to next N"),
    ("largest_residual", "largest residual, bytes"),
    ("spread", "spread of repeats"),
    ("interval_bytes_per_{}", "95 % interval"),
)
NO_INTERVAL = "an interval needs two repeats at every N that are not all alike"
NO_PAYLOAD = "without its peer a session exchanges no payload"


def rss_quantity(phase: str | None) -> Quantity:
    """RSS at the end of the phase, or its peak (None)."""
    return session_cost.rss_at_end(phase) if phase else session_cost.peak_rss


def why_no_such_phase(series: Series, phase: str | None) -> str | None:
    """Why such runs have no such phase; None when they have it."""
    return NO_PAYLOAD if phase == "reply" and series.setting.roles.startswith("keep") else None


def rss_row(series: Series, phase: str | None) -> list[Cell]:
    """Slope per pair, intercept, increments, largest residual, spread of repeats, interval of the slope over them."""
    if why := why_no_such_phase(series, phase):
        return [missing_cell(why)] * len(SLOPE)
    runs, of = series.full("rss"), rss_quantity(phase)
    line = session_cost.fit_line(session_cost.medians(runs, of))
    if not line:
        why = (
            f"N = {runs[0].sessions:,} only, and a total divided by N is not a slope" if runs else series.reason("rss")
        )
        return [missing_cell(why)] * len(SLOPE)
    note = "a quotient of two points: nothing says that the line is straight" if line.is_quotient else None
    steps = [2 * step for step in line.increments]
    residual = {"bytes": round(line.residual), "share": round(line.residual_share, 6)}
    spread = session_cost.slope_spread(runs, of)
    found = bootstrap.slope_interval(session_cost.values_by_sessions(runs, of))
    return [
        with_note(
            Cell(f"{2 * line.slope:,.0f}", round(2 * line.slope, 1), note),
            allocator_statistics.returned_memory_note(runs),
        ),
        Cell(f"{line.intercept / MIB:,.2f} MiB", round(line.intercept)),
        Cell(f"{min(steps):,.0f} to {max(steps):,.0f}", " ".join(f"{step:.1f}" for step in steps)),
        missing_cell(note) if note else Cell(f"{line.residual:+,.0f} ({100 * line.residual_share:+.3f} %)", residual),
        missing_cell("measured once") if spread is None else Cell(f"{100 * spread:.3f} %", round(spread, 6)),
        Cell(f"{found.low:,.0f} to {found.high:,.0f}", found.rounded()) if found else missing_cell(NO_INTERVAL),
    ]


def slope_columns(unit: str) -> list[Column]:
    return [Column(key.format(unit), heading.format(unit)) for key, heading in SLOPE]


def rss_costs(selection: Selection) -> Table:
    selection = selection.where(lambda setting: setting.roles == "together")
    columns = [*setting_columns(selection), Column("stack", "stack", left=True), Column("at", "RSS", left=True)]
    caption = (
        "The line through (sessions, RSS) by least squares; a pair is two sessions. "
        f"{describe_common_settings(selection)}."
    )
    table = Table("rss", "RSS per pair of sessions", caption, columns + slope_columns("pair"))
    for setting in selection.settings:
        for stack in selection.stacks:
            for name, phase in RSS.items():
                cells = [*setting_cells(selection, setting), text_cell(stack), text_cell(name)]
                table.rows.append([*cells, *rss_row(selection.series(stack, setting), phase)])
    return table


def role_costs(selection: Selection) -> Table:
    """A process of N sessions of a pair's two has N/2 of its role: bytes per pair are its bytes per session."""
    selection = selection.where(lambda setting: setting.roles != "together" and setting.peer is None)
    names = ("stack", "process", "at")
    columns = [
        *setting_columns(selection),
        *(Column(name, "RSS" if name == "at" else name, left=True) for name in names),
    ]
    caption = (
        "Clients or servers in a process of their own: the line through (sessions of the process, its RSS) by least "
        "squares. Split: both at once; keep: one that frees each window's peers. "
        f"{describe_common_settings(selection)}."
    )
    table = Table("roles", "RSS per session, by role", caption, columns + slope_columns("session"))
    for setting in selection.settings:
        for stack in selection.stacks:
            for holder, process in processes_by_holder(setting).items():
                series = selection.series(stack, setting, process)
                for name, phase in RSS.items():
                    cells = [*setting_cells(selection, setting), text_cell(stack), text_cell(holder), text_cell(name)]
                    table.rows.append([*cells, *rss_row(series, phase)])
    return table
