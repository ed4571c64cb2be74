"""Memory by sessions as a picture: RSS of every run with the line through it, and below how far each lies off it; from
the lines that the page's script draws too."""

import textwrap
from collections.abc import Sequence

from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tlsmem.base.text_colours import INK
from tlsmem.plots import line_labels
from tlsmem.plots.memory_panels import Style, style
from tlsmem.plots.picture import frame
from tlsmem.stats.session_cost import KIB, MIB

TITLE = "Memory by sessions"
WIDE = 170  # letters of what is said below


def figure(lines: Sequence[dict], quantity: str, about: str, below: str) -> Figure:
    """Of lines as residuals.of_stack has them, those that have a fit of this quantity. `about`: suite and process."""
    shown = [(line["stack"], line["fits"][quantity]) for line in lines if quantity in line["fits"]]
    looks = [style(at) for at in range(len(shown))]
    made, (upper, lower) = pyplot.subplots(
        2, 1, figsize=(11, 7.6), layout="constrained", sharex=True, height_ratios=(5, 3)
    )
    found = [end for (stack, fit), look in zip(shown, looks, strict=True) if (end := drawn(upper, stack, fit, look))]
    most = max(points[0] for _, fit in shown for points in fit["points"])
    upper.set(ylabel=f"RSS, {quantity}, MiB", xlim=(0, 1.04 * most))
    upper.yaxis.set_major_formatter(lambda size, _: f"{size:,g}")
    upper.set_ylim(0, max(upper.get_ylim()[1], line_labels.top(found) if found else 0))
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
    frame(made, f"{TITLE}: {about}", keys, "\n".join([*said, below]))
    return made


def directed(rest: float) -> str:
    """On the axis of what lies off the line."""
    return f"{abs(rest):g} {'more' if rest > 0 else 'less'}" if rest else "0"


def runs(fit: dict) -> tuple[list[int], list[float]]:
    """Sessions and bytes of every run."""
    pairs = [(sessions, value) for sessions, *values in fit["points"] for value in values]
    return [sessions for sessions, _ in pairs], [value for _, value in pairs]


def dots(look: Style) -> dict:
    return {"color": look.colour, "markeredgecolor": INK, "markeredgewidth": 0.5, "zorder": 3}


def drawn(axes: Axes, stack: str, fit: dict, look: Style) -> line_labels.End | None:
    """Runs and line; where the line ends, if there is one."""
    sessions, sizes = runs(fit)
    axes.plot(sessions, [size / MIB for size in sizes], look.marker, **dots(look))
    if "slope" not in fit:
        return None
    last = max(sessions)
    low, high = fit["intercept"] / MIB, (fit["intercept"] + fit["slope"] * last) / MIB
    axes.plot([0, last], [low, high], color=look.colour, zorder=2)
    return last, high, f"{stack}\n{fit['slope']:,.0f} bytes per session"


def off(axes: Axes, fit: dict, look: Style) -> None:
    """How far every run lies off its line, KiB; nothing where there is no line."""
    if "slope" in fit:
        sessions, sizes = runs(fit)
        pairs = zip(sessions, sizes, strict=True)
        rest = [(size - fit["intercept"] - fit["slope"] * count) / KIB for count, size in pairs]
        axes.vlines(sessions, 0, rest, color=look.colour, linewidth=1)
        axes.plot(sessions, rest, look.marker, **dots(look))
