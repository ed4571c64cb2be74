"""The picture of every stack in one suite: what an established session keeps, and its peak."""

import argparse
from pathlib import Path

import matplotlib
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tlsmem.config.libraries import stack_title
from tlsmem.config.suite_title import suite_title
from tlsmem.plots import in_use, plot_command
from tlsmem.plots.frame import INK, Style, add_frame, describe_records, points
from tlsmem.plots.left_out import join_reasons, shorten_reason
from tlsmem.plots.picture import PAGE_INCHES, STYLE, save
from tlsmem.plots.stack_colours import stack_colours
from tlsmem.schema.harness_output import Role
from tlsmem.stats.configured_stack import base_settings
from tlsmem.stats.missing import Missing, keep_present, map_present
from tlsmem.stats.runtime_heap import RuntimeFigure, bytes_per_session
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Setting
from tlsmem.tables.stacks import StackRow, rank_by_live_heap, unmeasured_stacks

ROW_INCHES = 0.245
KEPT, PEAK = 1.22, 1.46  # where their columns of figures end, in parts of the scale
MARK: Style = {"color": INK, "marker": "|", "markersize": 9, "markeredgewidth": 1.4, "linestyle": "none"}


def the_one(selection: Selection) -> Setting:
    """Raises ValueError with a sentence where there are several."""
    if len(selection.settings) == 1:
        return selection.settings[0]
    for name, option in (("suite", "--suite"), ("roles", "--roles"), ("window", None), ("allocator", None)):
        if selection.varies(name):
            several = ", ".join(dict.fromkeys(str(getattr(one, name)) for one in selection.settings))
            way_out = f": {option} chooses" if option else ": --campaign chooses"
            raise ValueError(f"a picture shows one {name}, and the recording has {several}{way_out}")
    raise ValueError("the recording has no run of one stack at both ends in the controlled environment (--env lab)")


def draw_row(axes: Axes, at: int, row: StackRow, colour: str, widest: float) -> None:
    """Draw what an established session keeps as a bar and its peak as a mark; their figures are on the right."""
    peak, established = row.peak, row.established
    style: Style = {"va": "center", "fontsize": points(0.9), "color": INK}
    if isinstance(established, Missing):
        axes.text(0.004 * widest, at, f"– {established.reason}", style="italic", **style)
        return
    size = bytes_per_session(established)
    axes.barh(at, size, height=0.76, color=colour, zorder=2)
    axes.text(KEPT * widest, at, f"{size:,.0f} B", ha="right", weight="bold", **style)
    if not isinstance(peak, Missing):
        end = bytes_per_session(peak)
        axes.plot([size, end], [at, at], color="#666666", linewidth=0.9, zorder=1.5)
        axes.plot([end], [at], zorder=3, **MARK)
        axes.text(PEAK * widest, at, f"{end:,.0f} B", ha="right", **style)
        if isinstance(established, RuntimeFigure):
            axes.text(end + 0.01 * widest, at, "by its runtime", style="italic", **style)


def figure(selection: Selection, role: Role) -> Figure:
    """Draw every stack that was measured, the smallest session first."""
    selection = selection.where(lambda setting: setting.peer is None and setting.env == "lab")
    setting = the_one(selection)
    rows = rank_by_live_heap(selection, setting, role)
    if not rows:
        raise ValueError(f"the recording has no {role} run in {setting.suite}")
    figures = [figure for row in rows for figure in (row.created, row.peak, row.established)]
    ends = keep_present(map_present(bytes_per_session, figure) for figure in figures)
    widest = max(ends, default=1.0)
    made, axes = pyplot.subplots(figsize=(PAGE_INCHES, 2.0 + ROW_INCHES * len(rows)), layout="constrained")
    colours = stack_colours([row.stack for row in rows])
    for at, row in enumerate(rows):
        draw_row(axes, at, row, colours[row.stack], widest)
    for place, heading in ((KEPT, "established"), (PEAK, "peak")):
        axes.text(place * widest, -0.9, heading, ha="right", fontsize=points(0.9), weight="bold", color=INK)
    axes.set_yticks(range(len(rows)), [stack_title(row.stack) for row in rows])
    axes.set_ylim(len(rows) - 0.4, -1.0)
    axes.set_xlim(0, 1.01 * PEAK * widest)
    axes.xaxis.set_visible(False)
    axes.spines["bottom"].set_visible(False)
    axes.grid(visible=False)
    axes.tick_params(axis="y", length=0)
    subtitle = f"Live heap of one more {role} session that is established. {suite_title(setting.suite)}."
    handles = [Line2D([], [], label="peak, in the handshake: what one more of many adds", **MARK)]
    add_frame(made, describe_range(rows, role), subtitle, describe_recording(selection), handles)
    return made


def describe_range(rows: list[StackRow], role: Role) -> str:
    """Return the finding: the smallest and the largest session."""
    known = [row for row in rows if not isinstance(row.established, Missing)]
    ends = [f"{bytes_per_session(row.established):,.0f} B in {stack_title(row.stack)}" for row in known]
    return f"An established {role} session: {' to '.join(dict.fromkeys(ends[:1] + ends[-1:]))}"


def describe_recording(selection: Selection) -> str:
    """Say which stacks have no bar, and what was recorded."""
    missing = {stack_title(stack): shorten_reason(reason) for stack, reason in unmeasured_stacks(selection)}
    recorded = describe_records(selection.records)
    return f"Without a bar: {join_reasons(missing)}. {recorded}" if missing else recorded


def save_every_suite(selection: Selection, output: Path) -> list[Path]:
    """A picture of servers for each setting with a measured run, its name after `output`."""
    written = []
    for setting in selection.settings:
        alone = selection.where(setting.__eq__)
        if any(one.status == "measured" for one in alone.records):
            with matplotlib.rc_context(STYLE):
                written += save(figure(alone, "server"), Path(f"{output}-{setting.suite}"))
    return written


def draw_from_arguments(given: argparse.Namespace) -> list[Path]:
    """Draw sessions in use where there are runs with full records, else established ones."""
    used = plot_command.select_runs(given, roles=given.roles)
    if base_settings(used):
        return save(in_use.figure(used, given.role, given.suite), given.output)
    suites = [given.suite] if given.suite else None
    selection = plot_command.select_runs(given, suites=suites, roles=given.roles)
    return save(figure(selection, given.role), given.output)
