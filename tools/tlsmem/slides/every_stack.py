"""Slide 1: what a server session of every library costs, and a hundred thousand of them."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from tlsmem.config.suite_title import suite_title
from tlsmem.cost.cost_picture import find_groups
from tlsmem.plots.frame import add_frame, describe_records, points
from tlsmem.plots.rows import list_rows, write_beside
from tlsmem.plots.stack_colours import library_colour
from tlsmem.slides.slide import SUITE, create_slide
from tlsmem.stats.costs import RSS_IN_USE

MANY, GIB = 100_000, 2**30
COLUMN = 1.38  # of the longest bar: where the figures of many sessions end


def draw(among: Sequence[Path]) -> Figure:
    """Draw RSS in use as bars, in the colours of the libraries."""
    groups = find_groups((), SUITE, "server", among)
    sizes = [group.sizes[RSS_IN_USE] for group in groups]
    made, (axes,) = create_slide()
    for at, (group, size) in enumerate(zip(groups, sizes, strict=True)):
        axes.barh(at, size, height=0.72, color=library_colour(group.costs.stack), zorder=2)
        write_beside(axes, size, at, f"{size:,.0f} B")
        axes.text(COLUMN * sizes[-1], at, f"{MANY * size / GIB:.1f} GiB", ha="right", va="center", weight="bold")
    axes.text(COLUMN * sizes[-1], -0.75, f"{MANY:,} sessions", ha="right", va="bottom", fontsize=points(0.9))
    list_rows(axes, [group.title(SUITE).replace("\n", ", ") for group in groups])
    axes.set_ylim(len(groups) - 0.4, -1.1)
    axes.set_xlim(0, COLUMN * sizes[-1])
    ends = [f"{MANY * group.sizes[RSS_IN_USE] / GIB:.1f} GiB ({group.library})" for group in (groups[0], groups[-1])]
    title = f"{MANY:,} TLS sessions take {' to '.join(ends)}"
    subtitle = f"RSS of server sessions in use. {suite_title(SUITE)}; library defaults."
    add_frame(made, title, subtitle, describe_records(run for group in groups for run in group.costs.records))
    return made
