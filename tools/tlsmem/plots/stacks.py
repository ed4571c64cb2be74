"""The picture of every stack in one suite: what an established session keeps, and its peak."""

import argparse
import textwrap
from pathlib import Path

import matplotlib
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from tlsmem.plots import in_use, plot_command
from tlsmem.plots.bucket_panel import INK
from tlsmem.plots.picture import STYLE, add_title_and_legend, save
from tlsmem.plots.stack_colours import colour_legend, stack_colour
from tlsmem.schema.harness_output import Role
from tlsmem.stats.configured_stack import base_settings
from tlsmem.stats.missing import Missing
from tlsmem.stats.runtime_heap import RuntimeFigure, bytes_per_session
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Setting
from tlsmem.stats.session_cost import KIB
from tlsmem.tables.settings import dates, describe_machine
from tlsmem.tables.stacks import StackRow, rank_by_live_heap, unmeasured_stacks

ROW = 0.235  # inches
WIDE = 190  # characters of a line of what has no bar
KEPT, PEAK = 1.09, 1.16  # where their columns of figures end, in parts of the scale


def the_one(selection: Selection) -> Setting:
    """ValueError with a sentence where there are several."""
    if len(selection.settings) == 1:
        return selection.settings[0]
    for name, option in (("suite", "--suite"), ("roles", "--roles"), ("window", None), ("allocator", None)):
        if selection.varies(name):
            several = ", ".join(dict.fromkeys(str(getattr(one, name)) for one in selection.settings))
            way_out = f": {option} chooses" if option else ": --campaign chooses"
            raise ValueError(f"a picture is of one {name}, and there are {several}{way_out}")
    raise ValueError("no pair of one stack was measured in the laboratory")


def bar(axes: Axes, at: int, row: StackRow, widest: float) -> None:
    """With its figures in columns on the right."""
    peak, kept = row.peak, row.established
    style = {"va": "center", "fontsize": 8.5, "color": INK}
    if isinstance(kept, Missing):
        axes.text(0.004 * widest, at, f"– {kept.reason}", style="italic", **style)
        return
    size = bytes_per_session(kept) / KIB
    axes.barh(at, size, height=0.7, color=stack_colour(row.stack), edgecolor=INK, linewidth=0.5, zorder=2)
    axes.text(KEPT * widest, at, f"{size:.1f}", ha="right", weight="bold", **style)
    if not isinstance(peak, Missing):
        end = bytes_per_session(peak) / KIB
        axes.plot([size, end], [at, at], color="#666666", linewidth=0.9, zorder=1.5)
        axes.plot([end], [at], "|", color=INK, markersize=9, markeredgewidth=1.4, zorder=3)
        axes.text(PEAK * widest, at, f"{end:.1f}", ha="right", **style)
        if isinstance(kept, RuntimeFigure):
            axes.text(end + 0.01 * widest, at, "by its runtime's own figures", style="italic", **style)


def figure(selection: Selection, role: Role) -> Figure:
    selection = selection.where(lambda setting: setting.peer is None and setting.env == "lab")
    setting = the_one(selection)
    found = rank_by_live_heap(selection, setting, role)
    if not found:
        raise ValueError(f"no {role} was measured in {setting.suite}")
    figures = [figure for row in found for figure in (row.created, row.peak, row.established)]
    ends = [bytes_per_session(figure) for figure in figures if not isinstance(figure, Missing)]
    widest = max(ends, default=KIB) / KIB
    said = describe_recording(selection)
    height = 1.75 + ROW * len(found) + 0.15 * said.count("\n")
    made, axes = pyplot.subplots(figsize=(12.8, max(4.0, height)), layout="constrained")
    for at, row in enumerate(found):
        bar(axes, at, row, widest)
    for place, heading in ((KEPT, "established"), (PEAK, "peak")):
        axes.text(place * widest, -0.75, heading, ha="right", fontsize=8.5, color=INK)
    axes.set_yticks(range(len(found)), [row.stack for row in found])
    axes.set_ylim(len(found) - 0.4, -0.6)
    axes.set_xlim(0, 1.01 * PEAK * widest)
    axes.set_xticks([tick for tick in axes.get_xticks() if tick <= widest])
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(f"KiB of live heap that one more {role} session keeps")
    axes.set_title(negotiated(selection, setting), fontsize=9, color="#444444")
    add_title_and_legend(
        made, f"What a TLS {role} session keeps, every stack", keys([row.stack for row in found]), said
    )
    return made


def negotiated(selection: Selection, setting: Setting) -> str:
    agreed = next(one.negotiated for one in selection.records if one.negotiated)
    return f"{setting.suite} ({agreed.protocol}, {agreed.cipher}, {agreed.group})"


def describe_recording(selection: Selection) -> str:
    """What was recorded, and which stacks have no bar."""
    names = ", ".join(dict.fromkeys(stack for stack, _ in unmeasured_stacks(selection)))
    lines = textwrap.wrap(f"Without a bar, as the table of stacks says why: {names}.", WIDE) if names else []
    return "\n".join([*lines, f"{describe_machine(selection.records[0])}. Recorded {dates(selection.records)}."])


def keys(stacks: list[str]) -> list[Patch | Line2D]:
    mark = {"color": INK, "marker": "|", "markersize": 9, "markeredgewidth": 1.4, "linestyle": "none"}
    return [*colour_legend(stacks), Line2D([], [], label="peak", **mark)]


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
    used = plot_command.select_runs(given, "plot_stacks", roles=given.roles)
    if base_settings(used):
        return save(in_use.figure(used, given.role, given.suite), given.output)
    suites = [given.suite] if given.suite else None
    selection = plot_command.select_runs(given, "plot_stacks", suites=suites, roles=given.roles)
    return save(figure(selection, given.role), given.output)
