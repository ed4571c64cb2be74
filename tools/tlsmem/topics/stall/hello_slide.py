"""Slide 8: what a byte of a large ClientHello makes a server hold."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from tlsmem.config.releases import newest_of_each_build
from tlsmem.plots.left_out import find_refusals
from tlsmem.slides.slide import SUITE, create_slide, describe_absent
from tlsmem.topics.stall import hello_picture as large_hellos
from tlsmem.topics.stall.large_hellos import pair_with_small
from tlsmem.topics.stall.slide import load_newest


def draw(among: Sequence[Path]) -> Figure:
    """Draw the newest release of each build of a library, in whichever suite it holds most."""
    stalls = load_newest(among)
    newest = newest_of_each_build(stall.stack for stall in stalls)
    hellos = pair_with_small([stall for stall in stalls if stall.stack in newest])
    drawn = [row.hello.stall.stack for row in large_hellos.find_worst(hellos)]
    refusals = find_refusals(run for stall in stalls if stall.suite == SUITE for run in stall.runs.values())
    made, (axes,) = create_slide()
    large_hellos.draw(made, axes, hellos, describe_absent(among, drawn, refusals))
    return made
