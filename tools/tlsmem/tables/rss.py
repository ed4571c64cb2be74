"""What one more session costs in RSS: the tables of lines, of pairs together and of roles in processes of their own."""

from tlsmem.stats import allocator_statistics, bootstrap, session_cost
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Series
from tlsmem.stats.session_cost import MIB, Quantity
from tlsmem.tables.settings import cells_of, columns_of, constant, held
from tlsmem.tables.table import Cell, Column, Table, hole, noted, word

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


def quantity(phase: str | None) -> Quantity:
    """RSS at the end of the phase, or its peak (None)."""
    return session_cost.rss_at_end(phase) if phase else session_cost.peak_rss


def unreached(series: Series, phase: str | None) -> str | None:
    """Why such runs have no such phase; None when they have it."""
    return NO_PAYLOAD if phase == "reply" and series.setting.roles.startswith("keep") else None


def rss_row(series: Series, phase: str | None) -> list[Cell]:
    """Slope per pair, intercept, increments, largest residual, spread of repeats, interval of the slope over them."""
    if why := unreached(series, phase):
        return [hole(why)] * len(SLOPE)
    runs, of = series.full("rss"), quantity(phase)
    line = session_cost.line(session_cost.medians(runs, of))
    if not line:
        why = (
            f"N = {runs[0].sessions:,} only, and a total divided by N is not a slope" if runs else series.reason("rss")
        )
        return [hole(why)] * len(SLOPE)
    note = "a quotient of two points: nothing says that the line is straight" if line.is_quotient else None
    steps = [2 * step for step in line.increments]
    residual = {"bytes": round(line.residual), "share": round(line.residual_share, 6)}
    spread = session_cost.slope_spread(runs, of)
    found = bootstrap.interval(session_cost.repeats(runs, of))
    return [
        noted(Cell(f"{2 * line.slope:,.0f}", round(2 * line.slope, 1), note), allocator_statistics.given_back(runs)),
        Cell(f"{line.intercept / MIB:,.2f} MiB", round(line.intercept)),
        Cell(f"{min(steps):,.0f} to {max(steps):,.0f}", " ".join(f"{step:.1f}" for step in steps)),
        hole(note) if note else Cell(f"{line.residual:+,.0f} ({100 * line.residual_share:+.3f} %)", residual),
        hole("measured once") if spread is None else Cell(f"{100 * spread:.3f} %", round(spread, 6)),
        Cell(f"{found.low:,.0f} to {found.high:,.0f}", found.rounded()) if found else hole(NO_INTERVAL),
    ]


def slope_columns(unit: str) -> list[Column]:
    return [Column(key.format(unit), heading.format(unit)) for key, heading in SLOPE]


def rss_costs(selection: Selection) -> Table:
    selection = selection.where(lambda setting: setting.roles == "together")
    columns = [*columns_of(selection), Column("stack", "stack", left=True), Column("at", "RSS", left=True)]
    caption = f"The line through (sessions, RSS) by least squares; a pair is two sessions. {constant(selection)}."
    table = Table("rss", "RSS per pair of sessions", caption, columns + slope_columns("pair"))
    for setting in selection.settings:
        for stack in selection.stacks:
            for name, phase in RSS.items():
                cells = [*cells_of(selection, setting), word(stack), word(name)]
                table.rows.append([*cells, *rss_row(selection.series(stack, setting), phase)])
    return table


def role_costs(selection: Selection) -> Table:
    """A process of N sessions of a pair's two has N/2 of its role: bytes per pair are its bytes per session."""
    selection = selection.where(lambda setting: setting.roles != "together" and setting.peer is None)
    names = ("stack", "process", "at")
    columns = [*columns_of(selection), *(Column(name, "RSS" if name == "at" else name, left=True) for name in names)]
    caption = (
        "Clients or servers in a process of their own: the line through (sessions of the process, its RSS) by least "
        f"squares. Split: both at once; keep: one that frees each window's peers. {constant(selection)}."
    )
    table = Table("roles", "RSS per session, by role", caption, columns + slope_columns("session"))
    for setting in selection.settings:
        for stack in selection.stacks:
            for holder, process in held(setting).items():
                series = selection.series(stack, setting, process)
                for name, phase in RSS.items():
                    cells = [*cells_of(selection, setting), word(stack), word(holder), word(name)]
                    table.rows.append([*cells, *rss_row(series, phase)])
    return table
