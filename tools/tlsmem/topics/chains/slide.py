"""Slide 10: what a server holds for its client's certificate, and what is left of it where chains are dropped."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from tlsmem.plan import recordings
from tlsmem.slides.slide import create_slide, describe_absent
from tlsmem.stats.chains import ChainRow, newest_of_each_stack
from tlsmem.stats.selection import select
from tlsmem.topics.chains import picture as client_certificates


def load_newest(among: Sequence[Path]) -> list[ChainRow]:
    """Return the newest rows of each stack. Raises ValueError where there are none."""
    loaded = (recordings.load_runs(recording) for recording in among)
    selections = (select(runs) for runs in loaded if any(run.scenario == "memory" for run in runs))
    if found := newest_of_each_stack(selections):
        return found
    raise ValueError("no recording has servers with client certificates and without (tools/tls-memtest measure chains)")


def draw(among: Sequence[Path]) -> Figure:
    """Draw the newest release of each library."""
    rows = load_newest(among)
    absent = describe_absent(among, (cost.row.stack for cost in client_certificates.find_costs(rows)))
    made, (axes,) = create_slide()
    client_certificates.draw(made, axes, rows, absent)
    return made
