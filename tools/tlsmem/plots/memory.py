"""The picture of a recording: memory by sessions (peak RSS, its slope), and memory by phase of the handshake."""

import argparse
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

from tlsmem.plots import environment_panel, line_labels, memory_legend, memory_panels, picture, plot_command
from tlsmem.plots.picture import STYLE, add_title_and_legend, save
from tlsmem.schema.harness_output import Process
from tlsmem.stats import allocator_statistics
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Series, Setting
from tlsmem.tables.settings import dates, describe_common_settings, describe_machine

TITLE = "What a TLS session costs in memory"


def select_panels(selection: Selection) -> list[tuple[Setting, Process]]:
    """One panel each: a setting, of split runs a process of it; environments that are compared share the lab's."""
    settings = [
        one
        for one in selection.settings
        if one.env == environment_panel.LAB or not environment_panel.compares_environments(selection)
    ]
    return [(one, process) for one in settings for process in dict.fromkeys(one.processes.values())]


def figure(selection: Selection, sessions: int | None = None) -> Figure:
    """Above memory by sessions, below by phase (of the largest N, or of `sessions`), or by environment where there are
    several; one scale for all panels of a kind."""
    wanted, compared = select_panels(selection), environment_panel.compares_environments(selection)
    apart = any(process != "both" for _, process in wanted)
    made, axes_of = picture.create_grid(
        len(wanted), 2 if apart else picture.COLUMNS
    )  # clients and servers stand beside each other
    said, drawn, owners = {}, set(), memory_legend.owners(selection)
    lines = [[selection.series(stack, *one) for stack in selection.stacks] for one in wanted]
    highest = max(memory_panels.highest_rss(stacks, sessions) for stacks in lines)
    for (setting, process), stacks, (upper, lower) in zip(wanted, lines, axes_of, strict=True):
        upper.set_title(memory_legend.heading(selection, setting, process), fontsize=9)
        said[upper] = memory_panels.draw_by_sessions(upper, stacks, owners)
        if compared:
            environment_panel.draw_by_environment(lower, selection, setting, process)
        else:
            drawn |= memory_panels.draw_by_phase(lower, stacks, owners, sessions, highest)
    picture.share_scale([lower for _, lower in axes_of], from_zero=not compared)
    for axes, of_panel in said.items():
        axes.set_ylim(0, max(map(line_labels.axis_top, said.values())))
        line_labels.label(axes, of_panel)
    recorded = (
        f"{describe_machine(selection.records[0])}. Recorded {dates(selection.records)}. "
        f"{describe_common_settings(selection)}."
    )
    add_title_and_legend(
        made, TITLE, memory_legend.keys(selection, sessions, drawn, compared), recorded + describe_given_back(lines)
    )
    return made


def describe_given_back(lines: list[list[Series]]) -> str:
    """What flatters RSS of stacks with a runtime, in a line of its own; nothing where there are none."""
    theirs = {
        one.stack for stacks in lines for one in stacks if allocator_statistics.returned_memory_note(one.runs("rss"))
    }
    return f"\n{', '.join(sorted(theirs))}: {allocator_statistics.RETURNED_MEMORY_NOTE}." if theirs else ""


def draw(selection: Selection, output: Path, sessions: int | None = None) -> list[Path]:
    """Draws what is selected, the lower row for this N, and returns the files written.

    ValueError and OSError with a sentence."""
    alone = selection.where(lambda setting: setting.peer is None)
    selection = alone if alone.records else selection  # mixed pairs where there is nothing else; else a table has them
    if not any(record.status == "measured" for record in selection.records):
        raise ValueError("no run was measured, so there is nothing to draw; tabulate.py shows why")
    if sessions and sessions not in selection.sessions():
        there = ", ".join(map(str, selection.sessions()))
        raise ValueError(f"no RSS runs of N = {sessions}; there are: {there}")
    with matplotlib.rc_context(STYLE):
        return save(figure(selection, sessions), output)


def draw_from_arguments(given: argparse.Namespace) -> list[Path]:
    selection = plot_command.select_runs(
        given, "plot_mem", suites=given.suite, roles=given.roles, envs=given.env, cpus=given.cpu
    )
    return draw(selection, given.output, given.n)
