"""What figures have in common: how they look, where their panels stand, and how one becomes a file."""

import io
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.typing import RcKeyType
from PIL import Image

from tlsmem.base.atomic_file import replace_file

FORMATS = (".png", ".svg")
PAGE_INCHES = 8.3  # the width of a picture on a page: GitHub shows it a hundred pixels an inch
PIXELS = 1660  # of a PNG from left to right, for screens with twice as many
FILLED = 0.97  # of the width of a picture, by its title
SHADES = 128  # of a PNG: a third of the bytes, and no difference that is seen
STYLE: dict[RcKeyType, Any] = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "hatch.linewidth": 0.7,
    "svg.hashsalt": "memtest",  # else element names, and so the file, differ each time
}
PAGE_STYLE = STYLE | {"figure.dpi": 150}  # as saved: texts are as wide as the layout took them for


def files(output: Path) -> list[Path]:
    """Raises ValueError for no name and for a suffix that is no picture; both formats when there is none of ours."""
    if not output.name:
        raise ValueError(f"-o {str(output)!r} is not a file name")
    if output.suffix in FORMATS:
        return [output]
    if output.suffix in (".pdf", ".jpg", ".jpeg", ".svgz", ".gif", ".webp"):
        raise ValueError(f"{output.name}: a picture must end in .png or .svg")
    return [Path(f"{output}{suffix}") for suffix in FORMATS]


def put(made: Figure, file: Path, pixels: int) -> None:
    """All of it or nothing: what stood there stays when the disk is full."""
    with replace_file(file) as beside:
        if file.suffix == ".svg":
            made.savefig(beside, format="svg", metadata={"Date": None})
        else:
            write_png(made, beside, pixels)


def write_png(made: Figure, file: Path, pixels: int) -> None:
    """Write a picture of this width without a date or a version, in few colours."""
    drawn = io.BytesIO()
    made.savefig(drawn, format="png", dpi=pixels / made.get_size_inches()[0], metadata={"Software": None})
    with Image.open(drawn) as image:
        few = image.convert("RGB").quantize(SHADES, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
        few.save(file, format="png", optimize=True)


def save(made: Figure, output: Path, pixels: int = PIXELS) -> list[Path]:
    """The same records give the same bytes: no date, no version."""
    written = files(output)
    for file in written:
        put(made, file, pixels)
    pyplot.close(made)
    return written


def legend_columns(handles: Sequence[Artist], inches: float) -> int:
    """As many as fit, up to seven: matplotlib fills one after the other, and each is as wide as its longest label."""
    labels = [len(str(one.get_label())) for one in handles]
    for count in range(min(7, len(labels)), 1, -1):
        rows, more = divmod(len(labels), count)
        ends = [at * rows + min(at, more) for at in range(count + 1)]
        wide = sum(0.078 * max(labels[start:end]) + 0.7 for start, end in pairwise(ends))
        if wide < inches:
            return count
    return 1


def add_title_and_legend(made: Figure, title: str, handles: Sequence[Artist], below: str) -> None:
    """Title and legend above the panels, what was recorded below them, each in a strip of its own."""
    columns = legend_columns(handles, made.get_size_inches()[0])
    inch = 1 / made.get_size_inches()[1]
    strip, head = 0.15 * (2 + below.count("\n")), 0.55 + 0.2 * max(1, -(-len(handles) // columns))
    layout = made.get_layout_engine()
    assert isinstance(layout, ConstrainedLayoutEngine)
    layout.set(rect=(0, strip * inch, 1, 1 - (head + strip) * inch))
    head_line = made.text(0.5, 1 - 0.12 * inch, title, fontsize=15, weight="bold", ha="center", va="top")
    wide = head_line.get_window_extent().width / made.bbox.width
    head_line.set_fontsize(15 * min(1, FILLED / wide))
    corner = (0.5, 1 - 0.4 * inch)
    made.legend(handles=handles, loc="upper center", bbox_to_anchor=corner, ncols=columns, frameon=False)
    made.text(0.5, 0.1 * inch, below, fontsize=8, color="#444444", ha="center", va="bottom")


def share_scale(lowers: list[Axes], from_zero: bool) -> None:
    """One scale for all."""
    low = 0 if from_zero else min(axes.get_ylim()[0] for axes in lowers)
    high = max(axes.get_ylim()[1] for axes in lowers)
    for axes in lowers:
        axes.set_ylim(low, high)
