"""The picture of a storm: clients by what they are doing, and what memory that takes, over time; a column a stack."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from tlsmem.config.suite_title import suite_title
from tlsmem.plan.amounts import format_size
from tlsmem.plan.case import describe_origin
from tlsmem.plan.storm_answer import StormResult, describe_rates, format_seconds
from tlsmem.plan.storm_simulation import Counts, Values
from tlsmem.plots import picture
from tlsmem.plots.frame import INK, Style, add_frame, points
from tlsmem.plots.line_labels import HALO
from tlsmem.plots.picture import PAGE_INCHES, STYLE


class Kind(NamedTuple):
    """What clients do, or what memory is for: its name in the legend, and how it looks."""

    name: str
    colour: str
    hatch: str = ""

    @property
    def fill(self) -> Style:
        """How matplotlib fills it."""
        return {"facecolor": self.colour, "hatch": self.hatch, "edgecolor": "white", "linewidth": 0}


QUEUED = Kind("in the queue", "#D9D9D9")
SHAKING = Kind("in the handshake", "#E69F00")
DONE = Kind("established; memory: all sessions", "#0072B2")
HELD = Kind("retained after handshakes", "#E69F00", "xx")
KERNEL = Kind("kernel", "#7F7F7F", "//")
SUBTITLE = "Above: what clients do. Below: memory of the process and the kernel."
INCHES = 3.9  # of a stack, at least
POINTS = 240
KEPT = 0.05  # of the peak: less is not named
AFTER = 0.3  # of the time until it is over: what is seen of the time after it


def describe_settings(storms: Sequence[StormResult], given: argparse.Namespace) -> str:
    """Return the caption: the suite, how clients arrive, and where memory and rates were recorded."""
    away = f"round trip and client {1000 * (given.rtt + given.client_time):,.0f} ms"
    model = storms[0].case.model
    settings = f"A simulation: {model.role}, {suite_title(model.suite)}; arrivals {given.arrivals}; {away}."
    return " ".join([settings, describe_origin([storm.case for storm in storms]), *describe_rates(storms)])


def grid(storms: Sequence[StormResult]) -> Values:
    end = max(one.end_s for one in storms) * (1 + AFTER)
    return numpy.linspace(0, end or 1.0, POINTS)


def save(storms: Sequence[StormResult], title: str, below: str, output: Path) -> list[Path]:
    """The files. Drawn and saved in one style: names in the SVG hang on it too."""
    with pyplot.rc_context(STYLE):
        return picture.save(figure(storms, title, below), output)


def figure(storms: Sequence[StormResult], title: str, below: str) -> Figure:
    size = (max(PAGE_INCHES, INCHES * len(storms)), 6.2)
    made, panels = pyplot.subplots(
        2, len(storms), figsize=size, sharex=True, sharey="row", squeeze=False, layout="constrained"
    )
    times = grid(storms)
    for above, beneath, storm in zip(*panels, storms, strict=True):
        clients(above, storm, times)
        memory(beneath, storm, times)
    panels[0][0].set_ylabel("clients")
    panels[1][0].set_ylabel("memory, GiB")
    kinds = (DONE, SHAKING, HELD, QUEUED, KERNEL)
    patches = [Patch(label=kind.name, **kind.fill) for kind in kinds]
    add_frame(made, title, SUBTITLE, below, patches)
    return made


def stack(axes: Axes, times: Values, layers: Sequence[tuple[Values | Counts, Kind]]) -> None:
    """From the bottom up, each with a line above it, so that they are told apart in grey."""
    base = numpy.zeros(len(times))
    for sizes, kind in layers:
        axes.fill_between(times, base, base + sizes, **kind.fill)
        base = base + sizes
        axes.plot(times, base, color=INK, linewidth=0.5)
    axes.set_axisbelow(True)
    axes.set_xlim(0, times[-1])
    axes.set_ylim(bottom=0)


def clients(axes: Axes, storm: StormResult, times: Values) -> None:
    course = storm.course
    established = numpy.searchsorted(course.established, times, side="right")
    stack(axes, times, [(established, DONE), (course.shaking(times), SHAKING), (course.queued(times), QUEUED)])
    axes.set_title(
        f"{storm.case.title}\n{storm.rate.total:,.0f} handshakes a second", fontsize=points(0.95), weight="bold"
    )
    axes.yaxis.set_major_formatter(lambda count, _: f"{count:,.0f}")
    most = storm.memory.most_shaking
    at = float(course.times[int(numpy.argmax(course.shaking(course.times)))])
    level = float(numpy.searchsorted(course.established, at, side="right") + most / 2)
    side: Style = {"ha": "left", "xytext": (8, 0)} if at < times[-1] / 2 else {"ha": "right", "xytext": (-8, 0)}
    style: Style = {"fontsize": points(0.85), "va": "center", "path_effects": HALO, "zorder": 5} | side
    arrow = {"arrowstyle": "-", "color": INK}
    axes.annotate(f"{most:,} at once", (at, level), arrowprops=arrow, textcoords="offset points", **style)


def memory(axes: Axes, storm: StormResult, times: Values) -> None:
    gib, price, course, of = 2**30, storm.memory.price, storm.course, storm.memory
    process = of.process_at(times)
    more = numpy.minimum(price.handshake * of.handshakes_with_memory(times), process - price.fixed)
    shaking = numpy.minimum(more, price.handshake * course.shaking(times))
    held, sessions = more - shaking, process - more
    kernel = price.kernel * (of.before + course.connections(times))
    layers = [(sessions / gib, DONE), (shaking / gib, SHAKING), (held / gib, HELD), (kernel / gib, KERNEL)]
    stack(axes, times, layers)
    at, peak = of.peak
    axes.plot([at], [peak / gib], "o", color="white", markeredgecolor=INK, markersize=6, zorder=6)
    side: Style = {"ha": "left", "xytext": (6, 7)} if at < times[-1] / 2 else {"ha": "right", "xytext": (-2, 8)}
    words: Style = {"fontsize": points(0.95), "weight": "bold", "path_effects": HALO, "zorder": 6} | side
    text = f"peak {format_size(peak)} after {format_seconds(at)}"
    axes.annotate(text, (at, peak / gib), textcoords="offset points", **words)
    if held[-1] > KEPT * peak:
        level = (sessions[-1] + held[-1] / 2) / gib
        said: Style = {"fontsize": points(0.85), "ha": "right", "va": "center", "path_effects": HALO, "zorder": 5}
        axes.annotate(
            f"{format_size(held[-1])} retained", (times[-1], level), (-6, 0), textcoords="offset points", **said
        )
    axes.set_xlabel("seconds")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylim(0, max(axes.get_ylim()[1], 1.18 * peak / gib))
