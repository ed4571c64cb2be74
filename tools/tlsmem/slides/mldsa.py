"""Slide 9: what post-quantum certificates add to a session of each role."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from tlsmem.plan import recordings
from tlsmem.plots import mldsa
from tlsmem.slides.slide import create_slide
from tlsmem.stats.post_quantum import CostRow, find_certificate_rows
from tlsmem.stats.selection import select


def find_newest(among: Sequence[Path]) -> list[CostRow]:
    """Return the rows of the newest recording that has any."""
    for recording in among:
        loaded = recordings.load_runs(recording)
        rows = find_certificate_rows(select([run for run in loaded if run.scenario == "memory"]))
        if rows:
            return rows
    raise ValueError("no recording has runs with ML-DSA certificates (tools/measure.py post-quantum)")


def draw(among: Sequence[Path]) -> Figure:
    """Draw clients and servers beside each other."""
    made, panels = create_slide(1, 1)
    mldsa.draw(made, panels, find_newest(among))
    return made
