"""Memory by sessions: RSS of every run, the line through them, and how far each lies off it."""

import shlex
import textwrap
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NotRequired, TypedDict

from markupsafe import Markup
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tlsmem.config.releases import sort_newest_first
from tlsmem.config.run import SYSTEM
from tlsmem.plots import line_labels
from tlsmem.plots.frame import INK
from tlsmem.plots.memory_panels import MarkerStyle, marker_styles
from tlsmem.plots.picture import add_title_and_legend
from tlsmem.report.packed_json import pack_json
from tlsmem.report.recordings import Recording, recording_arguments
from tlsmem.report.sections import Picture, Section, read_asset
from tlsmem.schema.harness_output import Process
from tlsmem.stats import allocator_statistics, session_cost
from tlsmem.stats.rss_line import RSS_PHASES, rss_quantity, why_no_such_phase
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Series, Setting
from tlsmem.stats.session_cost import KIB, MIB
from tlsmem.store.record import Record
from tlsmem.tables.environments import LAB
from tlsmem.tables.settings import dates, describe_machine

TITLE = "Memory by sessions"
WIDE = 170  # letters of what is said below


class Fit(TypedDict):
    """RSS of a stack's runs by sessions, and the line through the medians, as the page's script has them."""

    points: list[list[int]]  # sessions in the process, then the bytes of each repeat
    slope: NotRequired[float]  # of N at two places at least
    intercept: NotRequired[float]
    said: str  # the line in words


class StackFits(TypedDict):
    """The fits of a stack by quantity; why there are none."""

    stack: str
    fits: dict[str, Fit]
    why: str


class ChartGroup(TypedDict):
    """What one chart has: the stacks of a setting's process, which differ in nothing else."""

    recording: str  # its name, where there are several
    suite: str
    name: str  # whose process
    command: str
    opens: list[str]  # the stacks that are drawn at first
    usual: bool
    lines: list[StackFits]


def figure(lines: Sequence[StackFits], quantity: str, about: str, below: str) -> Figure:
    """Of these lines those that have a fit of this quantity. `about`: suite and process."""
    shown = [(line["stack"], line["fits"][quantity]) for line in lines if quantity in line["fits"]]
    styles = marker_styles([stack for stack, _ in shown])
    looks = [styles[stack] for stack, _ in shown]
    made, (upper, lower) = pyplot.subplots(
        2, 1, figsize=(11, 7.6), layout="constrained", sharex=True, height_ratios=(5, 3)
    )
    found = [
        end for (stack, fit), look in zip(shown, looks, strict=True) if (end := draw_line(upper, stack, fit, look))
    ]
    most = max(points[0] for _, fit in shown for points in fit["points"])
    upper.set(ylabel=f"RSS, {quantity}, MiB", xlim=(0, 1.04 * most))
    upper.yaxis.set_major_formatter(lambda size, _: f"{size:,g}")
    upper.set_ylim(0, max(upper.get_ylim()[1], line_labels.axis_top(found) if found else 0))
    line_labels.label(upper, found)
    for (_, fit), look in zip(shown, looks, strict=True):
        off(lower, fit, look)
    lower.axhline(0, color=INK, linewidth=0.8, zorder=1)
    lower.set(ylabel="off the line, KiB", xlabel="sessions in the process")
    lower.xaxis.set_major_formatter(lambda sessions, _: f"{sessions:,.0f}")
    lower.yaxis.set_major_formatter(lambda rest, _: directed(rest))
    names = zip(shown, looks, strict=True)
    keys = [Line2D([], [], color=look.colour, marker=look.marker, label=stack) for (stack, _), look in names]
    said = [textwrap.fill(f"{stack}: {fit['said']}.", WIDE) for stack, fit in shown]
    add_title_and_legend(made, f"{TITLE}: {about}", keys, "\n".join([*said, below]))
    return made


def directed(rest: float) -> str:
    """On the axis of what lies off the line."""
    return f"{abs(rest):g} {'more' if rest > 0 else 'less'}" if rest else "0"


def runs(fit: Fit) -> tuple[list[int], list[int]]:
    """Sessions and bytes of every run."""
    pairs = [(sessions, value) for sessions, *values in fit["points"] for value in values]
    return [sessions for sessions, _ in pairs], [value for _, value in pairs]


def draw_line(axes: Axes, stack: str, fit: Fit, look: MarkerStyle) -> line_labels.LineEnd | None:
    """Runs and line; where the line ends, if there is one."""
    sessions, sizes = runs(fit)
    axes.plot(sessions, [size / MIB for size in sizes], look.marker, zorder=3, **look.dots)
    if "slope" not in fit:
        return None
    last = max(sessions)
    low, high = fit["intercept"] / MIB, (fit["intercept"] + fit["slope"] * last) / MIB
    axes.plot([0, last], [low, high], color=look.colour, zorder=2)
    return last, high, f"{stack}\n{fit['slope']:,.0f} bytes per session"


def off(axes: Axes, fit: Fit, look: MarkerStyle) -> None:
    """How far every run lies off its line, KiB; nothing where there is no line."""
    if "slope" in fit:
        sessions, sizes = runs(fit)
        pairs = zip(sessions, sizes, strict=True)
        rest = [(size - fit["intercept"] - fit["slope"] * count) / KIB for count, size in pairs]
        axes.vlines(sessions, 0, rest, color=look.colour, linewidth=1)
        axes.plot(sessions, rest, look.marker, zorder=3, **look.dots)


NAMES = {"both": "both roles in one process", "client": "clients' process", "server": "servers' process"}
ONCE = "not all N were measured twice, so its spread is not known"
MOST = 2  # lines that are drawn when the page is opened
FAMILIES = ("openssl", "rustls")  # the newest of each, where they are there


def section(recordings: Sequence[Recording]) -> Section | None:
    """None where no recording has RSS runs."""
    groups = [one for recording in recordings for one in chart_groups(recording, len(recordings) > 1)]
    if not groups:
        return None
    groups = [group for group in groups if may_lie_off(group)] or groups
    scripts, styles = (
        (read_asset("charts.js"), read_asset("residuals.js")),
        (read_asset("charts.css"), read_asset("residuals.css")),
    )
    html = Markup(read_asset("residuals.html"))
    packed = pack_json({"groups": groups, "opens": groups.index(find_first(groups)), "quantities": list(RSS_PHASES)})
    files = tuple(pictures(recordings, groups))
    return Section("residuals", TITLE, html, packed=packed, scripts=scripts, styles=styles, files=files)


def pictures(recordings: Sequence[Recording], groups: Sequence[ChartGroup]) -> Iterator[Picture]:
    """Of each recording what the page shows of it at first."""
    several = len(recordings) > 1
    for one in recordings:
        there = [group for group in groups if group["recording"] == (one.name if several else "")]
        if not there:
            continue
        first = find_first(there)
        lines = [line for line in first["lines"] if line["stack"] in first["opens"] and line["fits"]]
        lines = lines or [line for line in first["lines"] if line["fits"]][:MOST]
        quantity = next(name for name in RSS_PHASES if any(name in line["fits"] for line in lines))
        about = f"{first['suite']}, {first['name']}"
        below = f"{describe_machine(one.records[0])}. Recorded {dates(one.records)}."
        drawn = partial(figure, lines, quantity, about, below)
        says = f"RSS of every run, the fitted line, and the residuals: {about}."
        named = f"residuals-{one.name}" if several else "residuals"
        yield Picture(named, TITLE, says, first["command"], drawn)


def may_lie_off(group: ChartGroup) -> bool:
    """Return whether a run of the group can lie off its line, which goes through any two."""
    return any(len(fit["points"]) > 2 for line in group["lines"] for fit in line["fits"].values())


def find_first(groups: Sequence[ChartGroup]) -> ChartGroup:
    """Return what the chart opens with: of the usual groups the first whose lines have the most numbers of sessions."""

    def informative(group: ChartGroup) -> tuple[bool, int, int, bool]:
        lines = [line for line in group["lines"] if line["stack"] in group["opens"] and line["fits"]]
        points = min((len(fit["points"]) for line in lines for fit in line["fits"].values()), default=0)
        return group["usual"], points, len(lines), group["suite"].startswith("tls13")

    return max(groups, key=informative)


def opens(stacks: Sequence[str]) -> list[str]:
    newest = sort_newest_first(stacks)
    wanted = [[stack for stack in newest if stack.startswith(family)][:1] for family in FAMILIES]
    return [stack for (stack,) in wanted] if all(wanted) else [*stacks[:MOST]]


def chart_groups(recording: Recording, several: bool) -> Iterator[ChartGroup]:
    selection = recording.contents.memory
    if not selection:
        return
    for setting in selection.settings:
        for process in dict.fromkeys(setting.processes.values()):
            lines = [one for stack in selection.stacks if (one := stack_fits(selection, stack, setting, process))]
            if any(line["fits"] for line in lines):
                name = describe_process(setting, process)
                command = (
                    f"tools/tls-memtest show mem {recording_arguments(recording)} -o memory --roles {setting.roles}"
                )
                yield ChartGroup(
                    recording=recording.name if several else "",
                    suite=setting.suite,
                    name=name,
                    command=f"{command} --suite {shlex.quote(setting.suite)}",
                    opens=opens([line["stack"] for line in lines if line["fits"]]),
                    usual=name in NAMES.values(),
                    lines=lines,
                )


def describe_process(setting: Setting, process: Process) -> str:
    """What stands beside the suite: whose process, and what is not the controlled environment's usual."""
    kept = "" if setting.roles in ("together", "split") else f"{setting.roles.removeprefix('keep-')}s, peers freed"
    said = [kept or NAMES[process]]
    said += [f"with clients of {setting.peer}"] if setting.peer else []
    said += [setting.allocator] if setting.allocator != SYSTEM else []
    said += [f"{setting.window:,} pairs in the handshake at a time"] if setting.window != "all" else []
    said += [setting.env] if setting.env != LAB else []
    said += [f"CPU {setting.cpu}"] if setting.cpu != "all" else []
    return ", ".join(said)


def stack_fits(selection: Selection, stack: str, setting: Setting, process: Process) -> StackFits | None:
    if (stack, setting) not in selection.runs_of:
        return None
    series = selection.series(stack, setting, process)
    fits: dict[str, Fit] = {}
    for name, phase in RSS_PHASES.items():
        if series.full("rss") and why_no_such_phase(series, phase) is None:
            fits[name] = fit(series, series.full("rss"), rss_quantity(phase))
    return {"stack": series.owner, "fits": fits, "why": "" if fits else series.reason("rss")}


def fit(series: Series, runs: Sequence[Record], of: session_cost.Quantity) -> Fit:
    found = {sessions // series.share: values for sessions, values in session_cost.values_by_sessions(runs, of).items()}
    points = [[sessions, *values] for sessions, values in found.items()]
    middle = session_cost.medians(runs, of)
    line = session_cost.fit_line({sessions // series.share: value for sessions, value in middle.items()})
    if not line:
        return {"points": points, "said": quotient(runs[0].sessions, middle, points[0][0])}
    said = words(series, session_cost.slope_spread(runs, of), line)
    return {"points": points, "slope": line.slope, "intercept": line.intercept, "said": said}


def quotient(sessions: int, middle: dict[int, float], held: int) -> str:
    each = f"the quotient, {middle[sessions] / held:,.0f} bytes, includes what a process needs without sessions"
    return f"N = {sessions:,} only, so there is no line and no slope; {each}"


def words(series: Series, spread: float | None, line: session_cost.Line) -> str:
    """Slope with the spread of repeats, and the largest residual, with directions in words."""
    holder = next(iter(series.setting.processes)) if series.process == "both" else series.process
    slope = f"{line.slope:,.0f} bytes per {'session' if series.share == 1 else f'{holder} session'}"
    if line.is_quotient:
        return f"{slope}, from two points, which show no nonlinearity"
    sure = ONCE if spread is None else f"± {100 * spread / 2:.2f} % over repeats"
    side = "more" if line.residual > 0 else "less"
    share = f"{100 * abs(line.residual_share):.2f} %"
    off = f"the median farthest from it is {abs(line.residual):,.0f} bytes {side}, {share} of what it is"
    intercept, given = (
        f"{line.intercept / session_cost.MIB:,.2f} MiB at no sessions",
        allocator_statistics.returned_memory_note(series.full("rss")),
    )
    return "; ".join(filter(None, [slope, sure, off, intercept, given]))
