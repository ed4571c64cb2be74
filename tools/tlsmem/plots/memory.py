"""The picture of a recording: memory by sessions (peak RSS, its slope), and memory by phase of the handshake."""

import argparse
from pathlib import Path

import matplotlib
from matplotlib import pyplot
from matplotlib.figure import Figure

from tlsmem.plots import (
    environment_panel,
    line_labels,
    memory_finding,
    memory_legend,
    memory_panels,
    picture,
    plot_command,
)
from tlsmem.plots.frame import add_frame, describe_records, points
from tlsmem.plots.picture import PAGE_INCHES, STYLE, save
from tlsmem.schema.harness_output import Process
from tlsmem.stats import allocator_statistics
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Series, Setting
from tlsmem.tables.settings import describe_common_settings

AROUND, ROW_INCHES = 1.6, 3.1
PHASES = "Left: peak RSS. Right: memory when a phase ends, {}."
ENVIRONMENTS = "Left: peak RSS. Right: its slope by environment."


def select_panels(selection: Selection) -> list[tuple[Setting, Process]]:
    """One panel each: a setting, of split runs a process of it; environments that are compared share the lab's."""
    settings = [
        one
        for one in selection.settings
        if one.env == environment_panel.LAB or not environment_panel.compares_environments(selection)
    ]
    return [(one, process) for one in settings for process in dict.fromkeys(one.processes.values())]


def figure(selection: Selection, sessions: int | None = None) -> Figure:
    """Draw a row for each setting: on the left memory by sessions, on the right by phase (of `sessions`, or of the
    largest N that has RSS and live heap), or by environment where there are several; one scale for all panels of a
    kind."""
    wanted, compared = select_panels(selection), environment_panel.compares_environments(selection)
    owners = memory_legend.owners(selection)
    lines = [[selection.series(stack, *one) for stack in selection.stacks] for one in wanted]
    highest = max(memory_panels.highest_rss(stacks, sessions) for stacks in lines)
    size = (PAGE_INCHES, AROUND + ROW_INCHES * len(wanted))
    made, grid = pyplot.subplots(len(wanted), 2, figsize=size, layout="constrained", squeeze=False)
    drawn: set[str] = set()
    tops = []
    for (setting, process), stacks, (left, right) in zip(wanted, lines, grid, strict=True):
        left.set_title(
            memory_legend.heading(selection, setting, process), fontsize=points(1), weight="bold", loc="left"
        )
        ends = memory_panels.draw_by_sessions(left, stacks, owners)
        tops.append((left, ends))
        if compared:
            environment_panel.draw_by_environment(right, selection, setting, process)
        else:
            drawn |= memory_panels.draw_by_phase(right, stacks, owners, sessions, highest)
    picture.share_scale([right for _, right in grid], from_zero=not compared)
    for axes, ends in tops:
        axes.set_ylim(0, max(line_labels.axis_top(others) for _, others in tops))
        line_labels.label(axes, ends)
    title = memory_finding.describe_environments(selection, wanted) if compared else None
    title = title or memory_finding.describe_finding(lines)
    panels = ENVIRONMENTS if compared else PHASES.format(memory_legend.describe_sessions(lines, sessions))
    subtitle = f"{panels} {describe_common_settings(selection)}."
    caption = describe_records(selection.records) + describe_given_back(lines)
    add_frame(made, title, subtitle, caption, memory_legend.keys(selection, drawn, compared))
    return made


def describe_given_back(lines: list[list[Series]]) -> str:
    """What flatters RSS of stacks with a runtime; nothing where there are none."""
    theirs = {
        one.stack for stacks in lines for one in stacks if allocator_statistics.returned_memory_note(one.runs("rss"))
    }
    return f" {', '.join(sorted(theirs))}: {allocator_statistics.RETURNED_MEMORY_NOTE}." if theirs else ""


def draw(selection: Selection, output: Path, sessions: int | None = None) -> list[Path]:
    """Draw what is selected, by phase for this N, and returns the files written.

    Raises ValueError or OSError with a sentence."""
    alone = selection.where(lambda setting: setting.peer is None)
    selection = alone if alone.records else selection  # mixed pairs where there is nothing else; else a table has them
    if not any(record.status == "measured" for record in selection.records):
        raise ValueError("nothing to draw: no run succeeded; tools/tls-memtest show tables shows why")
    if sessions and sessions not in selection.sessions():
        there = ", ".join(map(str, selection.sessions()))
        raise ValueError(f"no RSS runs with N = {sessions}; the recording has N = {there}")
    with matplotlib.rc_context(STYLE):
        return save(figure(selection, sessions), output)


def draw_from_arguments(given: argparse.Namespace) -> list[Path]:
    selection = plot_command.select_runs(given, suites=given.suite, roles=given.roles, envs=given.env, cpus=given.cpu)
    return draw(selection, given.output, given.n)
