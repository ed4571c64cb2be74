"""The picture of a recording: memory by sessions (peak RSS, its slope), and memory by phase of the handshake or by
environment; its finding, its headings and its legend."""

import argparse
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import matplotlib
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tlsmem.config.libraries import libraries, library_key, stack_title
from tlsmem.config.suite_title import suite_title
from tlsmem.plots import line_labels, memory_panels, picture, plot_command
from tlsmem.plots.frame import INK, Style, add_frame, describe_records, points
from tlsmem.plots.memory_panels import choose_sessions, marker_styles
from tlsmem.plots.picture import PAGE_INCHES, STYLE, save
from tlsmem.schema.harness_output import Env, Process
from tlsmem.stats import allocator_statistics, repeats, session_cost
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Series, Setting
from tlsmem.stats.session_cost import KIB
from tlsmem.tables.environments import LAB
from tlsmem.tables.settings import SETTING_ASPECTS, describe_common_settings

MIDDLE_GREY = "#666666"
WIDTH = 0.16  # between stacks; a bar is as wide
BEFORE = {"window": "window ", "cpu": "CPU "}  # values that do not say what they are of
NEAR = 1.05  # a ratio below it is said in percent


AROUND, ROW_INCHES = 1.6, 3.1
PHASES = "Left: peak RSS. Right: memory when a phase ends, {}."
ENVIRONMENTS = "Left: peak RSS. Right: its slope by environment."


def select_panels(selection: Selection) -> list[tuple[Setting, Process]]:
    """One panel each: a setting, of split runs a process of it; environments that are compared share the lab's."""
    settings = [one for one in selection.settings if one.env == LAB or not compares_environments(selection)]
    return [(one, process) for one in settings for process in dict.fromkeys(one.processes.values())]


def figure(selection: Selection, sessions: int | None = None) -> Figure:
    """Draw a row for each setting: on the left memory by sessions, on the right by phase (of `sessions`, or of the
    largest N that has RSS and live heap), or by environment where there are several; one scale for all panels of a
    kind."""
    wanted, compared = select_panels(selection), compares_environments(selection)
    every_owner = list_owners(selection)
    lines = [[selection.series(stack, *one) for stack in selection.stacks] for one in wanted]
    highest = max(memory_panels.highest_rss(stacks, sessions) for stacks in lines)
    size = (PAGE_INCHES, AROUND + ROW_INCHES * len(wanted))
    made, grid = pyplot.subplots(len(wanted), 2, figsize=size, layout="constrained", squeeze=False)
    drawn: set[str] = set()
    tops = []
    for (setting, process), stacks, (left, right) in zip(wanted, lines, grid, strict=True):
        left.set_title(heading(selection, setting, process), fontsize=points(1), weight="bold", loc="left")
        ends = memory_panels.draw_by_sessions(left, stacks, every_owner)
        tops.append((left, ends))
        if compared:
            draw_by_environment(right, selection, setting, process)
        else:
            drawn |= memory_panels.draw_by_phase(right, stacks, every_owner, sessions, highest)
    picture.share_scale([right for _, right in grid], from_zero=not compared)
    for axes, ends in tops:
        axes.set_ylim(0, max(line_labels.axis_top(others) for _, others in tops))
        line_labels.label(axes, ends)
    title = describe_environments(selection, wanted) if compared else None
    title = title or describe_finding(lines)
    panels = ENVIRONMENTS if compared else PHASES.format(describe_sessions(lines, sessions))
    subtitle = f"{panels} {describe_common_settings(selection)}."
    caption = describe_records(selection.records) + describe_given_back(lines)
    add_frame(made, title, subtitle, caption, keys(selection, drawn, compared))
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


def slope(series: Series) -> float | None:
    """Return the bytes of peak RSS that one more session of the process takes; None where runs are of one N."""
    medians = session_cost.medians(series.full("rss"), session_cost.peak_rss)
    line = session_cost.fit_line({sessions // series.share: peak for sessions, peak in medians.items()})
    return line.slope if line and line.slope > 0 else None


def slopes_by_owner(lines: Sequence[Sequence[Series]]) -> list[dict[str, float]]:
    """Return the slopes of each panel's stacks, by the stack whose process it is."""
    return [{one.owner: size for one in stacks if (size := slope(one)) is not None} for stacks in lines]


def join_range(values: Sequence[float], form: str) -> str:
    """Return the least and the most of the values in this form: `6.5 to 7.1`."""
    return " to ".join(dict.fromkeys(format(value, form) for value in (min(values), max(values))))


def describe_finding(lines: Sequence[Sequence[Series]]) -> str:
    """Return how many times the smallest stack's memory the largest one takes, over the panels that have both."""
    panels = slopes_by_owner(lines)
    every_owner = list(dict.fromkeys(owner for panel in panels for owner in panel))
    owners = [owner for owner in every_owner if library_key(owner) in libraries()] or every_owner  # null is no library
    if not owners:
        return "What a TLS session costs in memory"
    every = {owner: [panel[owner] for panel in panels if owner in panel] for owner in owners}
    ordered = sorted(owners, key=lambda owner: statistics.geometric_mean(every[owner]))
    least, most = ordered[0], ordered[-1]
    ratios = [panel[most] / panel[least] for panel in panels if least in panel and most in panel]
    if least == most or not ratios:
        sizes = join_range([size / KIB for size in every[most]], ".1f")
        return f"{stack_title(most)} takes {sizes} KiB of peak RSS for each session"
    large, small = stack_title(most), stack_title(least)
    if max(ratios) < NEAR:
        return f"{small} and {large} take the same peak RSS to {max(ratios) - 1:.1%}"
    return f"{large} takes {join_range(ratios, '.1f')} times the peak RSS that {small} takes for a session"


def describe_environments(selection: Selection, wanted: Sequence[tuple[Setting, Process]]) -> str | None:
    """Return which environment changes memory most, and by how much; None where none was measured beside the usual."""
    envs = list(dict.fromkeys(one.env for one in selection.settings))
    found = [
        (statistics.median(values), env, stack)
        for stack in selection.stacks
        for setting, process in wanted
        for env, values in shares(selection, stack, setting, process, envs).items()
        if env != LAB and values
    ]
    if not found:
        return None
    share, env, stack = max(found, key=lambda one: abs(one[0]))
    return f"Environment {env} changes the memory of a session by {share:+.1f}% at most ({stack_title(stack)})"


def heading(selection: Selection, setting: Setting, process: Process) -> str:
    """Return the suite as people write it, what else tells the setting from others, and whose process it is."""
    parts = [suite_title(setting.suite)]
    several = [field for field in SETTING_ASPECTS if selection.varies(field)]
    parts += [f"{BEFORE.get(field, '')}{getattr(setting, field)}" for field in several]
    parts += [f"{process}s' process"] if process != "both" else []
    return ", ".join(parts) + (f"; clients are {stack_title(setting.peer)}" if setting.peer else "")


def describe_sessions(lines: Iterable[Iterable[Series]], sessions: int | None = None) -> str:
    """Return the N of the lines by phase, in a process: this one, or the one that each line has."""
    every = [(series, sessions or choose_sessions(series)) for stacks in lines for series in stacks]
    most = {(count // series.share, series.share) for series, count in every if count}
    if len(most) != 1:
        return "at the largest N of each line"
    ((count, share),) = most
    return f"N = {count:,}" if share == 1 else f"{count:,} sessions of the process"


def list_owners(selection: Selection) -> list[str]:
    """The stacks of processes, in the order of their colours: of mixed pairs the clients' too."""
    return list(dict.fromkeys([*selection.stacks, *(one.peer for one in selection.settings if one.peer)]))


def keys(selection: Selection, drawn: set[str], compared: bool) -> list[Line2D]:
    """The legend: stacks by colour and marker, quantities by line where phases are shown and not environments."""
    found = []
    for stack, look in memory_panels.marker_styles(list_owners(selection)).items():
        style: Style = {"color": look.colour, "marker": look.marker, "markeredgecolor": INK}
        found.append(Line2D([], [], label=stack_title(stack), **style))
    if compared:
        return found
    found.append(Line2D([], [], label="RSS", color=MIDDLE_GREY))  # without a marker: those are the stacks'
    if "peak" in drawn:
        mark: Style = {"color": MIDDLE_GREY, "marker": "_", "markersize": 9, "linestyle": "none"}
        found.append(Line2D([], [], label="peak RSS inside a phase", **mark))
    if "heap" in drawn:
        found.append(Line2D([], [], label="live heap", linestyle="--", color=MIDDLE_GREY))
    return found


def compares_environments(selection: Selection) -> bool:
    """Whether there are several environments, and the controlled one was measured wherever another was."""
    return selection.varies("env") and all(replace(one, env=LAB) in selection.settings for one in selection.settings)


def shares(
    selection: Selection, stack: str, setting: Setting, process: Process, envs: Sequence[Env]
) -> dict[Env, list[float]]:
    """By environment the slope of each repeat, in percent above the controlled one's median; none without it."""
    series = {env: selection.series(stack, replace(setting, env=env), process) for env in envs}
    found = {env: repeats.slopes(one, session_cost.peak_rss) for env, one in series.items()}
    if not found[LAB]:
        return {}
    base = statistics.median(found[LAB])
    return {env: [100 * (slope / base - 1) for slope in slopes] for env, slopes in found.items()}


def draw_by_environment(axes: Axes, selection: Selection, setting: Setting, process: Process) -> None:
    """Dots of the repeats and a bar at their median, stacks beside each other."""
    envs = list(dict.fromkeys(one.env for one in selection.settings))
    axes.axhline(0, color=MIDDLE_GREY, linewidth=1, zorder=1)
    for index, (stack, look) in enumerate(marker_styles(selection.stacks).items()):
        shift = WIDTH * (index - (len(selection.stacks) - 1) / 2)
        for env, values in shares(selection, stack, setting, process, envs).items():
            at = envs.index(env) + shift
            axes.plot([at] * len(values), values, look.marker, zorder=3, markersize=6, **look.dots)
            if values:
                ends = [at - 0.45 * WIDTH, at + 0.45 * WIDTH]
                axes.plot(ends, [statistics.median(values)] * 2, color=INK, linewidth=1.2, zorder=4)
    axes.set_xticks(range(len(envs)), envs)
    axes.set_xlim(-0.5, len(envs) - 0.5)
    axes.set_xlabel("environment; dots: repeats, bar: median")
    axes.set_ylabel("slope, % above the lab's")
