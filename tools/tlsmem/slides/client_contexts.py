"""Slide 11: what one client context holds that has a public bundle of trusted roots."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from tlsmem.plan import recordings
from tlsmem.plots import client_contexts
from tlsmem.slides.slide import create_slide
from tlsmem.stats.contexts import Contexts, find_contexts, newest_of_each_stack


def load_newest(among: Sequence[Path]) -> list[Contexts]:
    """Return the newest contexts of each stack. Raises ValueError where there are none."""
    loaded = (recordings.load_runs(recording) for recording in among)
    found = find_contexts(newest_of_each_stack(loaded))
    if not found:
        raise ValueError("no recording has runs of the scenario contexts (tools/measure.py contexts)")
    return found


def draw(among: Sequence[Path]) -> Figure:
    """Draw every stack."""
    made, (axes,) = create_slide()
    client_contexts.draw(made, axes, load_newest(among))
    return made
