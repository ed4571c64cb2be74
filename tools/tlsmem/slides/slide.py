"""How a slide looks: 16:9, in letters that the last row reads."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import matplotlib
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tlsmem.plots.left_out import NOT_RECORDED, describe_left_out
from tlsmem.plots.picture import STYLE, save
from tlsmem.store import recordings

STYLE = STYLE | {
    "figure.dpi": 150,
    "font.size": 16,
    "xtick.labelsize": 14,
    "lines.linewidth": 3,
    "hatch.linewidth": 1.3,
}
INCHES, PIXELS = (12.8, 7.2), 1920
SUITE = "tls13-rsa-aes256"


def create_slide(*widths: float) -> tuple[Figure, list[Axes]]:
    """Return a slide with panels of these widths beside each other; without any, with one."""
    ratios = widths or (1.0,)
    made, grid = pyplot.subplots(
        1, len(ratios), figsize=INCHES, squeeze=False, width_ratios=ratios, layout="constrained"
    )
    return made, list(grid.flat)


def describe_absent(
    among: Sequence[Path],
    drawn: Iterable[str],
    reasons: Mapping[str, str] | None = None,
    otherwise: str = NOT_RECORDED,
) -> str:
    """Return which libraries any of the recordings has and the slide does not, and why: see `describe_left_out`."""
    return describe_left_out((stack for path in among for stack in recordings.stacks(path)), drawn, reasons, otherwise)


def save_slide(made: Figure, output: Path) -> list[Path]:
    """Write the slide as PNG and SVG."""
    return save(made, output, PIXELS)


def style() -> AbstractContextManager[None]:
    """Return the context in which slides are drawn and saved."""
    return matplotlib.rc_context(STYLE)
