"""Slide 10: what a server holds for its client's certificate, and what is left of it where chains are dropped."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from tlsmem.plan import recordings
from tlsmem.plots import client_certificates
from tlsmem.slides.slide import create_slide, describe_absent
from tlsmem.stats.chains import ChainRow, rank_chains
from tlsmem.stats.selection import select


def find_newest(among: Sequence[Path]) -> list[ChainRow]:
    """Return the rows of the newest recording with any."""
    for recording in among:
        runs = recordings.load_runs(recording)
        if any(run.scenario == "memory" for run in runs) and (found := list(rank_chains(select(runs)))):
            return found
    raise ValueError("no recording has servers with client certificates and without (tools/measure.py chains)")


def draw(among: Sequence[Path]) -> Figure:
    """Draw the newest release of each library in that recording."""
    rows = find_newest(among)
    absent = describe_absent(among, (cost.row.stack for cost in client_certificates.find_costs(rows)))
    made, (axes,) = create_slide()
    client_certificates.draw(made, axes, rows, absent)
    return made
