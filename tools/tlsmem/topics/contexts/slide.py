"""Slide 11: what one client context holds that has a public bundle of trusted roots."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from tlsmem.config.releases import newest_of_each_build
from tlsmem.plan import recordings
from tlsmem.plots.left_out import find_refusals
from tlsmem.slides.slide import create_slide, describe_absent
from tlsmem.stats.contexts import Contexts, find_contexts, newest_of_each_stack
from tlsmem.topics.contexts import picture as client_contexts


def load_newest(among: Sequence[Path]) -> list[Contexts]:
    """Return the newest contexts of each stack. Raises ValueError where there are none."""
    loaded = (recordings.load_runs(recording) for recording in among)
    found = find_contexts(newest_of_each_stack(loaded))
    if not found:
        raise ValueError("no recording has runs of the scenario contexts (tools/tls-memtest measure contexts)")
    return found


def draw(among: Sequence[Path]) -> Figure:
    """Draw the newest release of each build of a library."""
    found = load_newest(among)
    newest = newest_of_each_build(one.stack for one in found)
    shown = [one for one in found if one.stack in newest]
    drawn = [row.contexts.stack for row in client_contexts.find_bundles(shown)]
    many = (run for one in found for run in one.every_run)
    made, (axes,) = create_slide()
    client_contexts.draw(made, axes, shown, describe_absent(among, drawn, find_refusals(many)))
    return made
