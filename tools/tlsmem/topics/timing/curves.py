"""A panel of curves, one a stack, each named where it ends so that no name lies over another;
and how stacks look in pictures of time: the hue of the library, and a marker and a dash, so that they read in grey."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.text import Annotation
from matplotlib.transforms import ScaledTranslation

from tlsmem.plots.frame import INK
from tlsmem.plots.line_labels import place_labels
from tlsmem.plots.memory_panels import marker_styles

DASHES = ("-", "--", "-.", (0, (1, 1)), (0, (6, 1)), (0, (3, 1, 1, 1)), (0, (8, 2, 2, 2)), (0, (2, 2)))
WIDEST = 16  # characters of a name's line


@dataclass(frozen=True)
class StackStyle:
    """A curve's colour, marker and dash."""

    colour: str
    marker: str
    dash: str | tuple[int, tuple[int, ...]]

    def line_properties(self) -> dict[str, Any]:
        """Return what matplotlib draws the curve with."""
        marked = {"marker": self.marker, "markersize": 5.5, "markeredgecolor": INK, "markeredgewidth": 0.5}
        return marked | {"color": self.colour, "linestyle": self.dash}


def curve_styles(stacks: Sequence[str]) -> dict[str, StackStyle]:
    """Return the style of each stack's curve."""
    return {
        stack: StackStyle(style.colour, style.marker, DASHES[at % len(DASHES)])
        for at, (stack, style) in enumerate(marker_styles(stacks).items())
    }


def wrap_stack_name(stack: str) -> str:
    """In lines, broken before `+` and `@`."""
    lines = [""]
    for piece in re.findall(r"[+@]?[^+@]+", stack):
        if lines[-1] and len(lines[-1] + piece) > WIDEST:
            lines.append("")
        lines[-1] += piece
    return "\n".join(lines)


BESIDE = 12  # points from the panel's edge to the names
POINTS = 7.5  # of the names
ASIDE = 4  # from the whisker of one curve to that of the next
LINE = 1.2  # of its height: from line to line


WhiskerEnds = tuple[float, float] | None


@dataclass(frozen=True)
class Curve:
    stack: str
    look: StackStyle
    across: tuple[float, ...]
    heights: tuple[float, ...]
    said: str = ""  # beside the name
    marked: tuple[int, ...] | None = None  # which points; None: all
    ends: tuple[WhiskerEnds, ...] = ()  # of a whisker at each point

    @property
    def top(self) -> float:
        return max([*self.heights, *(high for _, high in filter(None, self.ends))])


def tall(text: str) -> float:
    """Points of a name, and some between two."""
    return POINTS * LINE * (1 + text.count("\n")) + 2


def panel_inches(stacks: Sequence[str]) -> float:
    """Of a panel that has room for these names, each with something said beside it."""
    return sum(tall(f"{wrap_stack_name(stack)}\n") for stack in stacks) / 72


def draw(axes: Axes, curves: Sequence[Curve]) -> list[Annotation]:
    """Returns the names, for `spread`."""
    for at, one in enumerate(curves):
        axes.plot(
            one.across,
            one.heights,
            zorder=3,
            clip_on=False,
            markevery=one.marked and list(one.marked),
            **one.look.line_properties(),
        )
        whiskers(axes, one, ASIDE * (at - (len(curves) - 1) / 2))
    return [name(axes, one) for one in curves]


def whiskers(axes: Axes, one: Curve, aside: float) -> None:
    """Beside its points, so that those of other curves can be told from them."""
    place = axes.transData + ScaledTranslation(aside / 72, 0, axes.figure.dpi_scale_trans)
    style: dict[str, Any] = {"color": one.look.colour, "linewidth": 1, "marker": "_", "markersize": 5, "zorder": 2}
    for across, ends in zip(one.across, one.ends, strict=False):
        if ends:
            axes.plot([across] * 2, ends, transform=place, clip_on=False, scalex=False, scaley=False, **style)


def name(axes: Axes, one: Curve) -> Annotation:
    text = "\n".join([*wrap_stack_name(one.stack).split("\n"), *[one.said] * bool(one.said)])
    drawn: dict[str, Any] = {"textcoords": "offset points", "va": "center", "ha": "left", "annotation_clip": False}
    drawn |= {"fontsize": POINTS, "color": INK, "linespacing": 1.05}
    return axes.annotate(text, (1, one.heights[-1]), (BESIDE, 0), xycoords=axes.get_yaxis_transform(), **drawn)


def spread_labels(axes: Axes, curves: Sequence[Curve], names: Sequence[Annotation]) -> None:
    """Each name beside its curve's end, or as near as the others allow, and a thin line from the one to the other; the
    figure has its layout by now, and keeps it."""
    point, box = axes.figure.dpi / 72, axes.get_window_extent()
    wide, high = box.width / point, box.height / point
    ends = [axes.transAxes.inverted().transform(axes.transData.transform(curve_end(one))) for one in curves]
    sizes = [tall(one.get_text()) for one in names]
    centres = place_labels([float(end[1]) * high for end in ends], sizes, high)
    for one, label, (across, height), centre in zip(curves, names, ends, centres, strict=True):
        label.set_position((BESIDE, centre - height * high))
        points = [across, 1, 1 + (BESIDE - 2) / wide], [height, height, centre / high]
        style: dict[str, Any] = {"color": one.look.colour, "linewidth": 0.9, "zorder": 2}
        axes.plot(*points, transform=axes.transAxes, clip_on=False, scalex=False, scaley=False, **style)


def curve_end(one: Curve) -> tuple[float, float]:
    return one.across[-1], one.heights[-1]
