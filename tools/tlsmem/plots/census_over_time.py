"""The picture of a census over time: sessions and connections, and below them what the memory of the processes is."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from tlsmem.base.errors import UserError
from tlsmem.census.growth import Look, find_growth
from tlsmem.census.sessions import State
from tlsmem.monitor.rss_parts import describe_size
from tlsmem.plots.frame import GREY, INK, Style, add_frame, points
from tlsmem.plots.picture import PAGE_INCHES, PAGE_STYLE, save

HEIGHT_INCHES = 6.2
MIB = 1 << 20
UNITS = ((1, "s", 180), (60, "min", 10_800), (3600, "h", 259_200), (86_400, "days", float("inf")))  # up to so many s
PARTS = (  # from below: keys of Look.parts, label, colour
    (("tls",), "TLS sessions", "#0b5fa5"),
    (("other_live",), "other live", "#7fb2dc"),
    (("free", "cached"), "free, but kept", "#f0a54a"),
    (("mmapped",), "mmapped chunks", "#9c8ab8"),
    (("stacks", "files", "other"), "stacks, files, other", "#d6d6d6"),
)
STATES = (  # from below
    (State.ESTABLISHED, "established", "#0b5fa5"),
    (State.HALF_OPEN, "half-open", "#d1495b"),
    (State.CREATED, "created", "#b9a44c"),
    (State.UNKNOWN, "sessions, state unknown", "#0b5fa5"),
)
CONNECTIONS: Style = {"color": INK, "linewidth": 1.2, "linestyle": (0, (4, 2))}
RSS: Style = {"color": INK, "linewidth": 1.6}
CAPTION = (
    "Counted from outside. TLS sessions: malloc chunks that sessions alone hold. Other live: other chunks in use, "
    "except mmapped ones. Free, but kept: freed and not returned to the OS, with what malloc caches. The parts add up "
    "to RssAnon."
)


def save_picture(looks: Sequence[Look], programs: Sequence[str], output: Path) -> list[Path]:
    """Draw the looks and return the files that were written. Raises UserError where they cannot be."""
    try:
        with pyplot.rc_context(PAGE_STYLE):
            return save(draw(looks, programs), output)
    except (ValueError, OSError) as error:
        raise UserError(f"-o {output}: {getattr(error, 'strerror', None) or error}") from None


def draw(looks: Sequence[Look], programs: Sequence[str]) -> Figure:
    """Return the picture; `programs` are the names of what was looked at."""
    made, (upper, lower) = pyplot.subplots(
        2, 1, figsize=(PAGE_INCHES, HEIGHT_INCHES), layout="constrained", sharex=True, height_ratios=(2, 3)
    )
    seconds, unit = next((size, name) for size, name, most in UNITS if looks[-1].seconds <= most)
    times = [look.seconds / seconds for look in looks]
    draw_sessions(upper, times, looks)
    draw_memory(lower, times, looks)
    lower.set_xlabel(f"time, {unit}")
    lower.set_xlim(times[0], max(times[-1], times[0] + 1e-3))
    for axes in (upper, lower):
        axes.set_ylim(bottom=0)
        axes.set_axisbelow(False)
        axes.grid(axis="x", visible=False)
    processes = max(look.processes for look in looks)
    what = f"{' and '.join(programs)} ({processes:,} process{'' if processes == 1 else 'es'})"
    subtitle = f"{what}: {len(looks):,} count{'' if len(looks) == 1 else 's'} in {times[-1]:.3g} {unit}."
    add_frame(made, name_finding(looks), subtitle, CAPTION)
    return made


def draw_sessions(axes: Axes, times: Sequence[float], looks: Sequence[Look]) -> None:
    """Draw sessions by state on each other, and connections as a line."""
    shown = [(state, label, colour) for state, label, colour in STATES if any(look.states.get(state) for look in looks)]
    counts = [[look.states.get(state, 0) for look in looks] for state, _, _ in shown]
    if shown:
        axes.stackplot(times, *counts, colors=[colour for _, _, colour in shown], linewidth=0)
    handles: list[Patch | Line2D] = [Patch(color=colour, label=label) for _, label, colour in shown]
    if all(look.connections is not None for look in looks):
        axes.plot(times, [look.connections or 0 for look in looks], **CONNECTIONS)
        handles.append(Line2D([], [], label="TCP connections", **CONNECTIONS))
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    name_panel(axes, "TLS sessions", handles)


def draw_memory(axes: Axes, times: Sequence[float], looks: Sequence[Look]) -> None:
    """Draw what is resident in MiB, part on part, and RssAnon as a line."""
    parts = [
        [sum(({"tls": look.tls_bytes} | look.parts).get(key, 0) for key in keys) / MIB for look in looks]
        for keys, _, _ in PARTS
    ]
    axes.stackplot(times, *parts, colors=[colour for *_, colour in PARTS], linewidth=0)
    axes.plot(times, [look.anon_bytes / MIB for look in looks], **RSS)
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    shown = [(label, colour) for (_, label, colour), sizes in zip(PARTS, parts, strict=True) if max(sizes) > 0]
    handles: list[Patch | Line2D] = [Patch(color=colour, label=label) for label, colour in shown]
    name_panel(axes, "Resident anonymous memory, MiB", [*handles, Line2D([], [], label="RssAnon", **RSS)])


def name_panel(axes: Axes, name: str, handles: Sequence[Patch | Line2D]) -> None:
    """Put a title above a panel, and its legend between both."""
    axes.set_title(name, loc="left", fontsize=points(0.95), color=GREY, weight="bold", pad=points(1.9))
    place: Style = {"loc": "lower left", "bbox_to_anchor": (0, 1), "borderaxespad": 0.2, "frameon": False}
    narrow: Style = {"borderpad": 0, "columnspacing": 1.2, "handlelength": 1.2, "fontsize": points(0.85)}
    axes.legend(handles=handles, ncols=len(handles), **place, **narrow)


def name_finding(looks: Sequence[Look]) -> str:
    """Return the finding: what has grown besides what malloc keeps, else what sessions held when they were most, and
    what malloc kept when they had gone."""
    kept = ("free", "mmapped")
    first, last = looks[0], looks[-1]
    parts = last.parts | {name: first.parts.get(name, 0) for name in kept}
    if grown := next(find_growth(first, replace(last, parts=parts)), None):
        return grown[0].upper() + grown[1:]
    most = max(looks, key=lambda look: look.sessions)
    if not most.sessions:
        return f"No TLS sessions; {describe_size(last.anon_bytes)} are resident"
    held = f"{most.sessions:,} TLS session{'' if most.sessions == 1 else 's'} held {describe_size(most.tls_bytes)}"
    free = describe_size(last.parts.get("free", 0) + last.parts.get("cached", 0))
    if last.sessions < most.sessions / 2:
        return f"{held}; with {last.sessions:,} left, malloc keeps {free}"
    return f"{held}, {100 * most.tls_bytes / max(most.anon_bytes, 1):.0f} % of what was resident"
