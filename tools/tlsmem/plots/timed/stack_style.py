"""How stacks look in pictures of time: the hue of the library, and a marker and a dash, so that they read in grey."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tlsmem.plots.frame import INK
from tlsmem.plots.memory_panels import marker_styles

DASHES = ("-", "--", "-.", (0, (1, 1)), (0, (6, 1)), (0, (3, 1, 1, 1)), (0, (8, 2, 2, 2)), (0, (2, 2)))
STYLE = {"figure.dpi": 150}  # as saved: texts are as wide as the layout took them for
WIDEST = 16  # characters of a name's line


@dataclass(frozen=True)
class StackStyle:
    """A curve's colour, marker and dash."""

    colour: str
    marker: str
    dash: str | tuple

    def line_properties(self) -> dict:
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
