"""Slide 15: a million sessions in one process, beside the prediction."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from tlsmem.plan import recordings
from tlsmem.slides.slide import create_slide, describe_absent
from tlsmem.topics.million import picture as million
from tlsmem.topics.million.table import MillionRow, find_largest


def find_rows(among: Sequence[Path]) -> list[MillionRow]:
    """Return the largest run of each stack. Raises ValueError where no recording has a million sessions."""
    rows = find_largest(map(recordings.load_runs, among))
    if not any(map(million.was_whole, rows)):
        raise ValueError("no recording has a million sessions (make c1m)")
    return rows


def draw(among: Sequence[Path]) -> Figure:
    """Draw every stack."""
    rows = find_rows(among)
    made, (axes,) = create_slide()
    million.draw(made, axes, rows, describe_absent(among, (row.stack for row in rows)))
    return made
