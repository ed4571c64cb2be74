"""Slide 9: what post-quantum certificates add to a session of each role."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from tlsmem.plan import recordings
from tlsmem.plots.left_out import find_refusals
from tlsmem.slides.slide import create_slide, describe_absent
from tlsmem.stats.missing import Missing
from tlsmem.stats.selection import select
from tlsmem.topics.post_quantum import picture as mldsa
from tlsmem.topics.post_quantum.costs import CostRow, find_certificate_rows


def find_newest(among: Sequence[Path]) -> list[CostRow]:
    """Return the rows of the newest recording that has any."""
    for recording in among:
        loaded = recordings.load_runs(recording)
        rows = find_certificate_rows(select([run for run in loaded if run.scenario == "memory"]))
        if rows:
            return rows
    raise ValueError("no recording has runs with ML-DSA certificates (tools/tls-memtest measure post-quantum)")


def draw(among: Sequence[Path]) -> Figure:
    """Draw clients and servers beside each other."""
    rows = find_newest(among)
    drawn = [bar.row.stack for bar in mldsa.find_bars(rows, "client")]
    suites = {
        run.suite
        for row in rows
        if row.choice == mldsa.SHOWN and not isinstance(row.runs, Missing)
        for run in row.runs.records
    }
    refusals = find_refusals(run for path in among for run in recordings.load_runs(path) if run.suite in suites)
    made, panels = create_slide(1, 1)
    mldsa.draw(made, panels, rows, describe_absent(among, drawn, refusals))
    return made
