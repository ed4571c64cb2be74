"""What one more session costs in RSS: the tables of lines, of pairs together and of roles in processes of their own.

A column is one entry of COLUMNS: what it takes of a line (stats/rss_line.py), and how that is written."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from tlsmem.stats.allocator_statistics import RETURNED_MEMORY_NOTE
from tlsmem.stats.bootstrap import Interval
from tlsmem.stats.machine_spread import MachineSpread, spread_between_machines
from tlsmem.stats.missing import Missing, map_present
from tlsmem.stats.rss_line import QUOTIENT, RSS_PHASES, Residual, RssLine, fit_rss, rss_slope
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Setting, is_one_process, is_same_stack_pair
from tlsmem.stats.session_cost import MIB
from tlsmem.tables.settings import describe_common_settings, processes_by_holder, setting_columns
from tlsmem.tables.table import Cell, Column, Table, with_note


class RssRow(NamedTuple):
    """A line of a process of a stack in a setting."""

    stack: str
    setting: Setting
    holder: str  # whose sessions stay in the process
    at: str  # which RSS
    line: RssLine | Missing
    machines: MachineSpread | Missing  # of the slope


def slope_cell(line: RssLine) -> Cell:
    """Whole bytes, to a tenth for programs."""
    note = QUOTIENT.reason if line.is_quotient else None
    cell = Cell(f"{line.slope:,.0f}", round(line.slope, 1), note)
    return with_note(cell, RETURNED_MEMORY_NOTE if line.gave_back_memory else None)


def slope_interval_cell(line: RssLine) -> Cell:
    """The slope ± the wider half of its interval."""
    slope, interval = round(line.slope, 1), line.interval_or_point
    if isinstance(interval, Missing):
        return Cell(f"{line.slope:,.0f}", {"bytes": slope}, interval.reason)
    ends = interval.rounded()
    half = max(ends["high"] - slope, slope - ends["low"])
    data = {"bytes": slope} | {f"{end}_bytes": at for end, at in ends.items()}
    return Cell(f"{line.slope:,.0f} ± {half:,.0f}", data)


def mebibyte_cell(size: float) -> Cell:
    """MiB; bytes for programs."""
    return Cell(f"{size / MIB:,.2f} MiB", round(size))


def increments_cell(steps: tuple[float, ...]) -> Cell:
    """The least and the largest; all for programs, in bytes."""
    return Cell(f"{min(steps):,.0f} to {max(steps):,.0f}", " ".join(f"{step:.1f}" for step in steps))


def residual_cell(residual: Residual) -> Cell:
    """Bytes, and percent of the value that it is off."""
    data = {"bytes": round(residual.bytes), "share": round(residual.share, 6)}
    return Cell(f"{residual.bytes:+,.0f} ({100 * residual.share:+.3f} %)", data)


def spread_cell(spread: float) -> Cell:
    """Percent; a share for programs."""
    return Cell(f"{100 * spread:.3f} %", round(spread, 6))


def interval_cell(interval: Interval) -> Cell:
    """Both ends in bytes."""
    return Cell(f"{interval.low:,.0f} to {interval.high:,.0f}", interval.rounded())


def machines_cell(spread: MachineSpread) -> Cell:
    """The spread, and of how many machines it is."""
    data = {"share": round(spread.share, 6), "machines": spread.machines}
    return Cell(f"{100 * spread.share:.1f} % of {spread.machines}", data)


def line_value(take: Callable[[RssLine], Any]) -> Callable[[RssRow], Any]:
    """What is taken of a row's line where it has one."""
    return lambda row: map_present(take, row.line)


STACK = Column("stack", "stack", left=True, value=lambda row: row.stack)
PROCESS = Column("process", "process", left=True, value=lambda row: row.holder)
AT = Column("at", "RSS", left=True, value=lambda row: row.at)
COLUMNS = (  # {} stands for what the slope is per
    Column("slope_bytes_per_{}", "bytes per {}", value=lambda row: row.line, form=slope_cell),
    Column("intercept_bytes", "at no sessions", value=line_value(lambda line: line.intercept), form=mebibyte_cell),
    Column(
        "increments_bytes_per_{}",
        "per {}, from N to next N",
        value=line_value(lambda line: line.increments),
        form=increments_cell,
    ),
    Column(
        "largest_residual", "largest residual, bytes", value=line_value(lambda line: line.residual), form=residual_cell
    ),
    Column("spread", "spread of repeats", value=line_value(lambda line: line.spread), form=spread_cell),
    Column("interval_bytes_per_{}", "95 % interval", value=line_value(lambda line: line.interval), form=interval_cell),
)


BETWEEN_MACHINES = Column(
    "between_machines", "between machines", value=lambda row: row.machines, form=machines_cell
)  # where several are recorded


def columns_per(unit: str, selection: Selection) -> Iterator[Column]:
    """Yield the columns, with what the slope is per in their names."""
    for column in (*COLUMNS, *[BETWEEN_MACHINES] * bool(selection.machines)):
        yield replace(column, key=column.key.format(unit), heading=column.heading.format(unit))


def rows(selection: Selection) -> Iterator[RssRow]:
    """Of each process whose sessions stay, at the peak and at the ends of two phases."""
    for setting in selection.settings:
        for stack in selection.stacks:
            for holder, process in processes_by_holder(setting).items():
                series = selection.series(stack, setting, process)
                for at, phase in RSS_PHASES.items():
                    machines = spread_between_machines(selection.machines, series, rss_slope(phase))
                    yield RssRow(stack, setting, holder, at, fit_rss(series, phase), machines)


def rss_costs(selection: Selection) -> Table:
    """The table `rss`, of processes that hold both ends."""
    selection = selection.where(is_one_process)
    caption = (
        "The least-squares line through (sessions, RSS); a pair is two sessions. "
        f"{describe_common_settings(selection)}."
    )
    columns = [*setting_columns(selection), STACK, AT, *columns_per("pair", selection)]
    table = Table("rss", "RSS per pair of sessions", caption, columns)
    table.add_rows(rows(selection))
    return table


def role_costs(selection: Selection) -> Table:
    """A process of N sessions of a pair's two has N/2 of its role: bytes per pair are its bytes per session."""
    selection = selection.where(lambda setting: not is_one_process(setting) and is_same_stack_pair(setting))
    caption = (
        "Clients or servers in a separate process: the least-squares line through (sessions of the process, its RSS). "
        "Split: both roles at once; keep: the process frees each window's peers. "
        f"{describe_common_settings(selection)}."
    )
    columns = [*setting_columns(selection), STACK, PROCESS, AT, *columns_per("session", selection)]
    table = Table("roles", "RSS per session, by role", caption, columns)
    table.add_rows(rows(selection))
    return table
