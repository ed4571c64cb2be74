"""A panel of grouped bars: stacks side by side in each suite, whiskers, and a mark that a bar is held against."""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib import patheffects
from matplotlib.axes import Axes

from tlsmem.plots.bucket_panel import INK, text_on
from tlsmem.plots.timed.stack_style import StackStyle, style_of_stack

FILLED, WIDEST = 0.84, 0.3  # of the place of a group: all bars together, and one
ROOM = 1.1  # above the highest
LARGEST, SMALLEST = 8.5, 5.0  # points of a figure; where a bar is too slender for the smallest, it has none
NAME = 5.3  # points of a character of a group's name
CHARACTER = 0.62  # of a point size: width of a digit, with some air
HALO = [patheffects.withStroke(linewidth=3.2, foreground="white")]


@dataclass(frozen=True)
class Bar:
    height: float
    low: float | None = None  # ends of the whisker
    high: float | None = None
    mark: float | None = None

    @property
    def top(self) -> float:
        return max(size for size in (self.height, self.high, self.mark) if size is not None)


Bars = Mapping[tuple[str, str], Bar]  # by group and stack; what is not there is a hole


def draw(axes: Axes, groups: Sequence[str], stacks: Sequence[str], bars: Bars) -> None:
    for _, place, width, one, drawn in places(groups, stacks, bars):
        if one is None:
            axes.text(place, 0, "–", ha="center", va="bottom", fontsize=9, color=INK)
            continue
        axes.bar(place, one.height, width, zorder=2, **drawn.bar())
        if one.low is not None and one.high is not None:
            ends = [[max(0, one.height - one.low)], [max(0, one.high - one.height)]]
            axes.errorbar(place, one.height, ends, color=INK, elinewidth=1, capsize=min(3, 18 * width), zorder=4)
        if one.mark is not None:
            ends = [place - 0.46 * width, place + 0.46 * width]
            thick = {"linewidth": 1.8, "solid_capstyle": "butt", "path_effects": HALO}
            axes.plot(ends, [one.mark] * 2, color=INK, zorder=3, **thick)
    axes.set_xlim(-0.5, len(groups) - 0.5)
    axes.set_ylim(0, ROOM * max((one.top for one in bars.values()), default=1) or 1)
    axes.yaxis.set_major_formatter(lambda size, _: f"{size:,.0f}" if size >= 10 or size == round(size) else f"{size:g}")
    room = 72 * axes.figure.get_size_inches()[0] / axes.get_gridspec().ncols / len(groups)  # points, a little too many
    names = [textwrap.fill(group, max(8, int(room / NAME)), break_long_words=False) for group in groups]
    axes.set_xticks(range(len(groups)), names, fontsize=8)
    axes.tick_params(axis="x", length=0)
    axes.grid(axis="x", visible=False)


def places(
    groups: Sequence[str], stacks: Sequence[str], bars: Bars
) -> list[tuple[str, float, float, Bar | None, StackStyle]]:
    width = min(WIDEST, FILLED / len(stacks))
    return [
        (group, at + width * (index - (len(stacks) - 1) / 2), width, bars.get((group, stack)), style_of_stack(index))
        for index, stack in enumerate(stacks)
        for at, group in enumerate(groups)
    ]


def write_values(axes: Axes, groups: Sequence[str], stacks: Sequence[str], bars: Bars, longest: int) -> None:
    """Figures of the bars, in the room that they have; `longest` is how many characters one has, of all panels. The
    figure has its layout by now."""
    box, inch = axes.get_window_extent(), axes.figure.dpi
    broad = 72 * box.width / inch / len(groups) * min(WIDEST, FILLED / len(stacks))  # points of a bar
    size = min(LARGEST, 0.85 * broad)
    if size < SMALLEST:
        return
    level = longest * CHARACTER * size < broad
    high = 72 * box.height / inch / axes.get_ylim()[1]  # points of one of the axis
    for _, place, _, one, drawn in places(groups, stacks, bars):
        if one is not None:
            write_one(axes, place, one, drawn, high * one.height, {"fontsize": size, "rotation": 0 if level else 90})


def format_height(one: Bar) -> str:
    return f"{one.height:,.0f}" if one.height >= 100 else f"{one.height:.3g}"


def write_one(axes: Axes, place: float, one: Bar, drawn: StackStyle, high: float, style: dict) -> None:
    """Inside of the bar where that is high enough, in points; else above it."""
    size = style["fontsize"]
    long = CHARACTER * size * len(format_height(one)) if style["rotation"] else 1.5 * size
    inside = high > long + 8
    style |= {"ha": "center", "va": "bottom", "zorder": 5, "textcoords": "offset points"}
    style |= {"color": text_on(drawn.colour) if inside else INK}
    if inside and drawn.hatch:
        style["bbox"] = {"facecolor": drawn.colour, "edgecolor": "none", "pad": 1.2}
    axes.annotate(format_height(one), (place, 0 if inside else one.top), (0, 4), **style)
