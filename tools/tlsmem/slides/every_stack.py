"""Slide 1: what a server session of every library costs, and a hundred thousand of them."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from tlsmem.config.libraries import stack_title
from tlsmem.config.suite_title import suite_title
from tlsmem.cost.cost_picture import describe_records_of_groups, find_groups
from tlsmem.plots.frame import add_frame, list_rows, points, write_beside
from tlsmem.plots.stack_colours import library_colour
from tlsmem.slides.slide import SUITE, create_slide
from tlsmem.stats.costs import RSS_IN_USE

MANY, GIB = 100_000, 2**30
COLUMN = 1.38  # of the longest bar: where the figures of many sessions end


def draw(among: Sequence[Path]) -> Figure:
    """Draw RSS in use as bars, in the colours of the libraries."""
    groups = find_groups((), None, "server", among)
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
    ends = [
        f"{MANY * sizes[at] / GIB:.1f} GiB in {stack_title(groups[at].costs.stack)}"
        for at in dict.fromkeys((0, len(groups) - 1))
    ]
    title = f"{MANY:,} TLS sessions take {', '.join(ends)}"
    subtitle = f"RSS of server sessions in use. {suite_title(SUITE)} unless named; library defaults."
    add_frame(made, title, subtitle, describe_records_of_groups(groups, among))
    return made
