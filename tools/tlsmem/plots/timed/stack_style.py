"""How stacks look in pictures of time: a colour each, and a hatch, a marker and a dash, so that they read in grey."""

import re
from dataclasses import dataclass

from matplotlib.patches import Patch

from tlsmem.plots.bucket_panel import INK, text_on
from tlsmem.plots.memory_panels import COLOURS, MARKERS

HATCHES = (
    "",
    "////",
    "....",
    "\\\\\\\\",
    "xxxx",
    "----",
    "++++",
    "oo",
)  # one more than colours: no pair comes twice soon
DASHES = ("-", "--", "-.", (0, (1, 1)), (0, (6, 1)), (0, (3, 1, 1, 1)), (0, (8, 2, 2, 2)), (0, (2, 2)))
STYLE = {"hatch.linewidth": 0.7, "figure.dpi": 150}  # as saved: texts are as wide as the layout took them for
WIDEST = 16  # characters of a name's line


@dataclass(frozen=True)
class StackStyle:
    colour: str
    hatch: str
    marker: str
    dash: str | tuple

    def bar(self) -> dict:
        drawn = {"facecolor": self.colour, "hatch": self.hatch, "hatchcolor": text_on(self.colour)}
        return drawn | {"edgecolor": INK, "linewidth": 0.5}

    def line_properties(self) -> dict:
        marked = {"marker": self.marker, "markersize": 5.5, "markeredgecolor": INK, "markeredgewidth": 0.5}
        return marked | {"color": self.colour, "linestyle": self.dash}


def style_of_stack(index: int) -> StackStyle:
    """Of the stack with this number."""
    parts = (COLOURS, HATCHES, MARKERS, DASHES)
    return StackStyle(*(part[index % len(part)] for part in parts))


def keys(stacks: list[str]) -> list[Patch]:
    return [Patch(label=stack, **style_of_stack(index).bar()) for index, stack in enumerate(stacks)]


def wrap_stack_name(stack: str) -> str:
    """In lines, broken before `+` and `@`."""
    lines = [""]
    for piece in re.findall(r"[+@]?[^+@]+", stack):
        if lines[-1] and len(lines[-1] + piece) > WIDEST:
            lines.append("")
        lines[-1] += piece
    return "\n".join(lines)
