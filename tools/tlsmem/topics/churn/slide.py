"""Slide 13: memory over equal waves of sessions, by allocator."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from tlsmem.plan import recordings
from tlsmem.slides.slide import create_slide, describe_absent
from tlsmem.topics.churn import picture
from tlsmem.topics.churn.waves import SCENARIO, Churn, find_churn


def find_newest(among: Sequence[Path]) -> list[Churn]:
    """Return the waves of the newest recording that has several allocators."""
    for recording in among:
        runs = recordings.load_runs(recording)
        lines = picture.select_lines(find_churn(run for run in runs if run.scenario == SCENARIO))
        if len({one.allocator for one in lines}) > 1:
            return picture.compare_alike(lines)
    raise ValueError("no recording has waves of several allocators (tools/tls-memtest measure churn-lifetimes)")


def draw(among: Sequence[Path]) -> Figure:
    """Draw a panel for each stack."""
    lines = find_newest(among)
    made, panels = create_slide(*(1 for _ in dict.fromkeys(one.stack for one in lines)))
    absent = describe_absent(among, (one.stack for one in lines), otherwise="not recorded with several allocators")
    picture.draw(made, panels, lines, absent)
    return made
