"""How a slide looks: 16:9, in letters that the last row reads."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import matplotlib
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tlsmem.plots.bucket_panel import INK
from tlsmem.plots.frame import points
from tlsmem.plots.picture import STYLE, save
from tlsmem.schema.records import Record
from tlsmem.tables.settings import dates, describe_machine

STYLE = STYLE | {"figure.dpi": 150, "font.size": 16, "xtick.labelsize": 14, "lines.linewidth": 3}
INCHES, PIXELS = (12.8, 7.2), 1920
SUITE = "tls13-rsa-aes256"


def create_slide(*widths: float) -> tuple[Figure, list[Axes]]:
    """Return a slide with panels of these widths beside each other; without any, with one."""
    shape: dict = {"layout": "constrained", "squeeze": False, "width_ratios": widths or (1,)}
    made, grid = pyplot.subplots(1, len(widths) or 1, figsize=INCHES, **shape)
    return made, list(grid.flat)


def list_rows(axes: Axes, names: Sequence[str]) -> None:
    """Name the rows of a panel from above, and leave out all that is not data."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False)
    axes.xaxis.set_visible(False)
    axes.spines["bottom"].set_visible(False)


def write_beside(axes: Axes, across: float, row: float, text: str, bold: bool = False) -> None:
    """Write to the right of a bar or a dot."""
    style: dict = {"va": "center", "fontsize": points(0.9), "color": INK, "weight": "bold" if bold else "normal"}
    axes.annotate(text, (across, row), (points(0.5), 0), textcoords="offset points", **style)


def describe_records(runs: Iterable[Record]) -> str:
    """Return the machines, without their paths, and the days of the runs."""
    runs = list(runs)
    machines = dict.fromkeys(describe_machine(run).partition(", path ")[0] for run in runs)
    return f"{'; '.join(machines)}. Recorded {dates(runs)}."


def save_slide(made: Figure, output: Path) -> list[Path]:
    """Write the slide as PNG and SVG."""
    return save(made, output, PIXELS)


def style():
    """Return the context in which slides are drawn and saved."""
    return matplotlib.rc_context(STYLE)
