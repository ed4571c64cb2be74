"""Rows of a picture: a name on the left, a bar or dots, and figures on the right."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from tlsmem.plots.frame import INK, points

SMALL = 0.9  # of the font size: figures
ROW_INCHES = 0.26
THICK = 0.76  # of a row: a bar
BASE: dict = {"facecolor": "#c4c4c4", "edgecolor": "white", "linewidth": 0, "hatch": "//"}  # told from any colour


def list_rows(axes: Axes, names: Sequence[str], above: float = 0.6) -> None:
    """Name the rows of a panel from above, and leave out all that is not data; `above` the first row there is room."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -above)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False)
    axes.xaxis.set_visible(False)
    axes.spines["bottom"].set_visible(False)


def write_beside(axes: Axes, across: float, row: float, text: str, bold: bool = False) -> None:
    """Write to the right of a bar or a dot."""
    style: dict = {"va": "center", "fontsize": points(SMALL), "color": INK, "weight": "bold" if bold else "normal"}
    axes.annotate(text, (across, row), (points(0.5), 0), textcoords="offset points", **style)


def write_in_column(axes: Axes, end: float, row: float, text: str, bold: bool = False) -> None:
    """Write a figure, or the heading above figures, in a column that ends there."""
    style: dict = {"va": "center", "ha": "right", "fontsize": points(SMALL), "color": INK}
    axes.text(end, row, text, weight="bold" if bold else "normal", **style)


def draw_added(axes: Axes, row: float, base: float, added: float, colour: str) -> None:
    """Draw a bar whose first part is hatched and whose second, what is added to it, has the colour of its library."""
    axes.barh(row, base, height=0.68, zorder=2, **BASE)
    axes.barh(row, added, left=base, height=0.68, color=colour, zorder=2)


def list_added(base: str, added: str) -> list[Patch]:
    """Return the legend of such bars."""
    return [Patch(label=base, **BASE), Patch(color="#777777", label=f"in colour: {added}")]
