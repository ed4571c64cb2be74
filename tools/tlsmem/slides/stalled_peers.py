"""Slide 7: what a server holds for a peer that announces a large message and stops."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from tlsmem.plan import recordings
from tlsmem.plots import stalled_peers
from tlsmem.slides.slide import SUITE, create_slide
from tlsmem.stats.stalls import SCENARIO, Stall, find_stalls


def find_newest(among: Sequence[Path]) -> list[Stall]:
    """Return the stalls of the newest recording with any: in the slides' suite, of stacks without it in others."""
    for recording in among:
        runs = [run for stack in recordings.stacks(recording) for run in recordings.load_stack(recording, stack)]
        stalls = find_stalls(run for run in runs if run.scenario == SCENARIO)
        if stalls:
            able = {stall.stack for stall in stalls if stall.suite == SUITE and not stall.refusal}
            return [stall for stall in stalls if stall.suite == SUITE or stall.stack not in able]
    raise ValueError("no recording has runs of the scenario stall (tools/measure.py stall)")


def draw(among: Sequence[Path]) -> Figure:
    """Draw every stack of that recording."""
    made, (axes,) = create_slide()
    stalled_peers.draw(made, axes, find_newest(among))
    return made
