"""What stands around the panels of a picture: the finding as its title, what was measured, a legend, and a caption; and
rows in a panel: a name on the left, a bar or dots, and figures on the right.

All texts begin at the left edge and are in parts of the picture's font size: pages and slides have the same frame."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import matplotlib
from matplotlib import pyplot
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import Patch
from matplotlib.text import Text

from tlsmem.plots.picture import PAGE_INCHES
from tlsmem.store.record import Record
from tlsmem.tables.settings import dates, describe_machine

Style = dict[str, Any]  # arguments of matplotlib by name, each of a type of its own
SMALL = 0.9  # of the font size: figures
ROW_INCHES = 0.26
FRAME_INCHES = 1.9  # for the frame of most pictures with rows
THICK = 0.76  # of a row: a bar
BASE: Style = {"facecolor": "#c4c4c4", "edgecolor": "white", "linewidth": 0, "hatch": "//"}  # told from any colour


TITLE, SUBTITLE, CAPTION = 1.3, 1.0, 0.82  # times the font size
FILLED = 0.98  # of the room of a line: letters are a little wider in another resolution
LINE = 1.25  # of a text's size: from line to line
EDGE = 0.8  # of the font size: from the picture's edge to its texts
GREY = "#555555"
INK = "#222222"


def points(times: float) -> float:
    """Return so many times the picture's font size, in points."""
    size: float = matplotlib.rcParams["font.size"]
    return times * size


def wrap_text(made: Figure, text: Text) -> int:
    """Break the text where it would leave the picture, but not before a version; return how many lines it has."""
    room = FILLED * made.bbox.width * (1 - 2 * text.get_position()[0])
    lines: list[str] = []
    for word in re.split(r"[ \n]+(?!\d+\.\d)", text.get_text().strip()):
        text.set_text(f"{lines[-1]} {word}" if lines else word)
        if lines and text.get_window_extent().width <= room:
            lines[-1] = text.get_text()
        else:
            lines.append(word)
    text.set_text("\n".join(lines))
    return len(lines)


def add_legend(made: Figure, corner: tuple[float, float], handles: Sequence[Artist]) -> int:
    """Put a legend at its upper left corner, in as many columns as fit; return how many rows it has."""
    room = FILLED * made.bbox.width * (1 - 2 * corner[0])
    place: Style = {"loc": "upper left", "bbox_to_anchor": corner, "borderaxespad": 0, "frameon": False, "borderpad": 0}
    for columns in range(len(handles), 0, -1):
        legend = made.legend(
            handles=handles, ncols=columns, columnspacing=1.2, handlelength=1.2, fontsize=points(0.9), **place
        )
        if columns == 1 or legend.get_window_extent().width <= room:
            break
        legend.remove()
    return -(-len(handles) // columns)


def describe_records(runs: Iterable[Record]) -> str:
    """Return the machines, without their paths, and the days of the runs."""
    runs = list(runs)
    machines = dict.fromkeys(describe_machine(run).partition(", path ")[0] for run in runs)
    return f"{'; '.join(machines)}. Recorded {dates(runs)}."


def add_frame(made: Figure, title: str, subtitle: str, caption: str, handles: Sequence[Artist] = ()) -> None:
    """Put title, subtitle and legend above the panels and the caption below them; the layout leaves room for these."""
    wide, high = (72 * inches for inches in made.get_size_inches())
    edge = points(EDGE)
    top = edge
    styles: tuple[tuple[str, float, Style], ...] = (
        (title, TITLE, {"weight": "bold"}),
        (subtitle, SUBTITLE, {"color": GREY}),
    )
    for text, size, style in styles:
        drawn = made.text(edge / wide, 1 - top / high, text, fontsize=points(size), va="top", linespacing=LINE, **style)
        top += wrap_text(made, drawn) * points(size) * LINE + points(0.15)
    if handles:
        top += points(0.3)
        top += points(1.5) * add_legend(made, (edge / wide, 1 - top / high), handles)
    below = made.text(edge / wide, edge / high, caption, fontsize=points(CAPTION), color=GREY, va="bottom")
    bottom = edge + wrap_text(made, below) * points(CAPTION) * LINE
    layout = made.get_layout_engine()
    assert isinstance(layout, ConstrainedLayoutEngine)
    layout.set(rect=(edge / 2 / wide, bottom / high, 1 - edge / wide, 1 - (top + bottom + points(0.3)) / high))


def create_rows(rows: float, frame: float = FRAME_INCHES, panels: int = 1) -> tuple[Figure, list[Axes]]:
    """Return a picture of a page with panels beside each other, which have room for so many rows, and `frame` inches
    more for what stands around them."""
    size = (PAGE_INCHES, frame + ROW_INCHES * rows)
    made, grid = pyplot.subplots(1, panels, figsize=size, layout="constrained", squeeze=False)
    return made, list(grid.flat)


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
    style: Style = {"va": "center", "fontsize": points(SMALL), "color": INK, "weight": "bold" if bold else "normal"}
    axes.annotate(text, (across, row), (points(0.5), 0), textcoords="offset points", **style)


def write_in_column(axes: Axes, end: float, row: float, text: str, bold: bool = False) -> None:
    """Write a figure, or the heading above figures, in a column that ends there."""
    style: Style = {"va": "center", "ha": "right", "fontsize": points(SMALL), "color": INK}
    axes.text(end, row, text, weight="bold" if bold else "normal", **style)


def draw_added(axes: Axes, row: float, base: float, added: float, colour: str) -> None:
    """Draw a bar whose first part is hatched and whose second, what is added to it, has the colour of its library."""
    axes.barh(row, base, height=0.68, zorder=2, **BASE)
    axes.barh(row, added, left=base, height=0.68, color=colour, zorder=2)


def list_added(base: str, added: str) -> list[Patch]:
    """Return the legend of such bars."""
    return [Patch(label=base, **BASE), Patch(color="#777777", label=f"in colour: {added}")]
