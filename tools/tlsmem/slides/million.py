"""Slide 15: a million sessions in one process, beside the prediction."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from tlsmem.plan import recordings
from tlsmem.plots import million
from tlsmem.slides.slide import create_slide
from tlsmem.stats.selection import select
from tlsmem.tables.million import MillionRow, find_rows


def find_largest(among: Sequence[Path]) -> list[MillionRow]:
    """Return of each stack, role and suite the row with the most sessions, the newest of equals.

    Raises ValueError where no recording has a million sessions."""
    largest: dict[tuple[str, str, str], MillionRow] = {}
    for recording in among:
        runs = recordings.load_runs(recording)
        for row in find_rows(select(runs)) if any(run.roles.startswith("keep") for run in runs) else ():
            key = (row.stack, row.setting.roles, row.setting.suite)
            if key not in largest or row.check.sessions > largest[key].check.sessions:
                largest[key] = row
    if not any(map(million.was_whole, largest.values())):
        raise ValueError("no recording has a million sessions (make c1m)")
    return list(largest.values())


def draw(among: Sequence[Path]) -> Figure:
    """Draw every stack."""
    made, (axes,) = create_slide()
    million.draw(made, axes, find_largest(among))
    return made
