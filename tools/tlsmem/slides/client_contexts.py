"""Slide 11: what one client context holds that has a public bundle of trusted roots."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from tlsmem.plan import recordings
from tlsmem.plots import client_contexts
from tlsmem.slides.slide import create_slide
from tlsmem.stats.contexts import SCENARIO, Contexts, find_contexts


def find_newest(among: Sequence[Path]) -> list[Contexts]:
    """Return the contexts of the newest recording with any."""
    for recording in among:
        runs = [run for stack in recordings.stacks(recording) for run in recordings.load_stack(recording, stack)]
        found = find_contexts(run for run in runs if run.scenario == SCENARIO)
        if client_contexts.find_bundles(found):
            return found
    raise ValueError("no recording has runs of the scenario contexts (tools/measure.py contexts)")


def draw(among: Sequence[Path]) -> Figure:
    """Draw every stack of that recording."""
    made, (axes,) = create_slide()
    client_contexts.draw(made, axes, find_newest(among))
    return made
