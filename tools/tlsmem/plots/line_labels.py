"""What is said where the lines of a panel end, so that no text lies over another."""

from collections.abc import Sequence
from itertools import pairwise

from matplotlib import patheffects
from matplotlib.axes import Axes

from tlsmem.plots.frame import INK, Style, points


class Halo(patheffects.withStroke):
    """A rim around a text, which stands on something."""

    WIDTH = 3  # points; a half of it lies outside of the text

    def __init__(self, colour: str = "white"):
        super().__init__(linewidth=self.WIDTH, foreground=colour)
        self.colour = colour


HALO = [Halo()]

TICKS = 4  # of a panel whose right half has texts

LineEnd = tuple[int, float, str]  # sessions, MiB, and what is said there


def axis_top(ends: list[LineEnd]) -> float:
    """Of an axis with room for the texts, which are pushed up where lines end close to each other."""
    heights = sorted(mebibytes for _, mebibytes, _ in ends) or [1.0]
    close = any(high - low < 0.2 * heights[-1] for low, high in pairwise(heights))
    return heights[-1] * (1.6 if close else 1.35)


def label(axes: Axes, ends: list[LineEnd]) -> None:
    """Each text at its line's end and above the text below it; the axis has its limits by now.

    Up to two stand above the ends with the stack's name, both above the upper one where they end close to each other;
    more stand beside them, where no line goes."""
    crowded = len(ends) > 2
    height, free = axes.get_ylim()[1], 0.0
    style: Style = {"va": "bottom", "color": INK, "path_effects": HALO, "zorder": 4, "linespacing": 1.1}
    style |= {"fontsize": points(0.85), "ha": "left" if crowded else "right"}
    heights = [mebibytes for _, mebibytes, _ in ends]
    if not crowded and heights and max(heights) - min(heights) < 0.17 * height:
        free = max(heights) + 0.03 * height
    for sessions, mebibytes, text in sorted(ends, key=lambda end: end[1]):
        bottom = max(mebibytes + (-0.03 if crowded else 0.03) * height, free)
        place = 0.03 * axes.get_xlim()[1] if crowded else 0
        axes.text(sessions + place, bottom, text.split("\n")[-1] if crowded else text, **style)
        free = bottom + (0.075 if crowded else 0.15) * height
    if crowded:
        widest = max(sessions for sessions, *_ in ends)
        ticks = [tick for tick in axes.get_xticks() if tick <= widest]
        axes.set_xticks(ticks[:: 2 if len(ticks) > TICKS else 1])
        axes.set_xlim(0, 1.52 * widest)


def place_labels(wanted: Sequence[float], sizes: Sequence[float], top: float) -> list[float]:
    """Centres as near to those that are wanted as may be, in their order, none within another's size; from 0 to `top`,
    where there is room."""
    blocks: list[tuple[list[int], float]] = []  # of what touches, from below: with the bottom
    for at in sorted(range(len(wanted)), key=lambda at: (round(wanted[at], 1), -at)):
        block = [at], settled([at], wanted, sizes, top)
        while blocks and blocks[-1][1] + sum(sizes[one] for one in blocks[-1][0]) > block[1]:
            together = [*blocks.pop()[0], *block[0]]
            block = together, settled(together, wanted, sizes, top)
        blocks.append(block)
    centres = list(wanted)
    for members, free in blocks:
        for at in members:
            centres[at] = free + sizes[at] / 2
            free += sizes[at]
    return centres


def settled(members: Sequence[int], wanted: Sequence[float], sizes: Sequence[float], top: float) -> float:
    """The bottom of a block, where its members are least off."""
    total, offs = 0.0, []
    for at in members:
        offs.append(wanted[at] - sizes[at] / 2 - total)
        total += sizes[at]
    return max(0.0, min(sum(offs) / len(offs), top - total))
