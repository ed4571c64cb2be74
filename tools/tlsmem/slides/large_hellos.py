"""Slide 8: what a byte of a large ClientHello makes a server hold."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from tlsmem.plots import large_hellos
from tlsmem.slides.slide import create_slide
from tlsmem.slides.stalled_peers import load_newest
from tlsmem.stats.large_hellos import pair_with_small


def draw(among: Sequence[Path]) -> Figure:
    """Draw every stack, in whichever suite it holds most."""
    made, (axes,) = create_slide()
    large_hellos.draw(made, axes, pair_with_small(load_newest(among)))
    return made
