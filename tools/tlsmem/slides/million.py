"""Slide 15: a million sessions in one process, beside the prediction."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from tlsmem.plan import recordings
from tlsmem.plots import million
from tlsmem.slides.slide import create_slide
from tlsmem.stats.selection import select
from tlsmem.tables.million import MillionRow, find_rows


def find_newest(among: Sequence[Path]) -> list[MillionRow]:
    """Return the rows of the newest recording with a million sessions. Raises ValueError where there is none."""
    for recording in among:
        runs = [run for stack in recordings.stacks(recording) for run in recordings.load_stack(recording, stack)]
        rows = list(find_rows(select(runs))) if any(run.sessions >= million.MILLION for run in runs) else []
        if any(map(million.was_whole, rows)):
            return rows
    raise ValueError("no recording has a million sessions (make c1m)")


def draw(among: Sequence[Path]) -> Figure:
    """Draw every stack."""
    made, (axes,) = create_slide()
    million.draw(made, axes, find_newest(among))
    return made
