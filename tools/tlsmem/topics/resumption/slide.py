"""Slide 12: what a server keeps of sessions that are gone."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from tlsmem.plan import recordings
from tlsmem.slides.slide import create_slide, describe_absent
from tlsmem.topics.resumption import picture as session_stores
from tlsmem.topics.resumption.stores import CHURN, SessionStore, find_stores


def find_newest(among: Sequence[Path]) -> list[SessionStore]:
    """Return the stores of the newest recording with any."""
    for recording in among:
        runs = recordings.load_runs(recording)
        stores = find_stores(run for run in runs if run.scenario == CHURN)
        if session_stores.find_rows(stores):
            return stores
    raise ValueError("no recording has servers that keep their sessions (tools/tls-memtest measure resumption-stores)")


def draw(among: Sequence[Path]) -> Figure:
    """Draw the newest release of each build of a library in that recording."""
    stores = find_newest(among)
    drawn = (row.alone.stack for row in session_stores.find_rows(stores))
    absent = describe_absent(among, drawn, session_stores.find_reasons(stores))
    made, (axes,) = create_slide()
    session_stores.draw(made, axes, stores, absent)
    return made
