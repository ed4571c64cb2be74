"""Slide 7: what a server holds for a peer that announces a large message and stops."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from tlsmem.plan import recordings
from tlsmem.slides.slide import SUITE, create_slide, describe_absent
from tlsmem.topics.stall import picture as stalled_peers
from tlsmem.topics.stall.stalls import Stall, find_stalls, newest_of_each_stack


def load_newest(among: Sequence[Path]) -> list[Stall]:
    """Return the newest stalls of each stack. Raises ValueError where there are none."""
    loaded = (recordings.load_runs(recording) for recording in among)
    stalls = find_stalls(newest_of_each_stack(loaded))
    if not stalls:
        raise ValueError("no recording has runs of the scenario stall (tools/tls-memtest measure stall)")
    return stalls


def find_newest(among: Sequence[Path]) -> list[Stall]:
    """Return them in the slides' suite; of stacks without it in others."""
    stalls = load_newest(among)
    able = {stall.stack for stall in stalls if stall.suite == SUITE and not stall.refusal}
    return [stall for stall in stalls if stall.suite == SUITE or stall.stack not in able]


def draw(among: Sequence[Path]) -> Figure:
    """Draw every stack."""
    stalls = find_newest(among)
    absent = describe_absent(among, (row.stall.stack for row in stalled_peers.find_worst(stalls)))
    made, (axes,) = create_slide()
    stalled_peers.draw(made, axes, stalls, absent)
    return made
