"""Slide 6: how far live heap, which is exact, predicts the physical memory of a session."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tlsmem.config.libraries import stack_title
from tlsmem.config.suite_title import suite_title
from tlsmem.cost.cost_picture import Group, describe_records_of_groups, find_groups
from tlsmem.plots.frame import add_frame, list_rows, points
from tlsmem.slides.slide import SUITE, create_slide
from tlsmem.stats.costs import LIVE_IN_USE, RSS_IN_USE

CLOSE = 0.05  # RSS above live heap
MARKERS = {LIVE_IN_USE: "o", RSS_IN_USE: "D"}


def share_above(group: Group) -> float:
    """Return how much RSS is above live heap, as a share of that."""
    return group.sizes[RSS_IN_USE] / group.sizes[LIVE_IN_USE] - 1


def draw(among: Sequence[Path]) -> Figure:
    """Draw both costs of each library as dots, and what RSS is above live heap."""
    groups = find_groups((), None, "server", among)
    groups.sort(key=share_above)
    made, (axes,) = create_slide()
    longest = max(max(group.sizes.values()) for group in groups)
    for at, group in enumerate(groups):
        live, rss = group.sizes[LIVE_IN_USE], group.sizes[RSS_IN_USE]
        axes.plot([live, rss], [at, at], color="#777777", linewidth=2, zorder=1)
        for cost in reversed(MARKERS):
            axes.plot([group.sizes[cost]], [at], MARKERS[cost], color=cost.colour, markersize=13, zorder=2)
        share = share_above(group)
        weight = "bold" if share > CLOSE else "normal"
        axes.text(1.22 * longest, at, f"{share:+.0%}", ha="right", va="center", weight=weight)
    axes.text(1.22 * longest, -0.75, "RSS above heap", ha="right", va="bottom", fontsize=points(0.9))
    list_rows(axes, [group.title(SUITE).replace("\n", ", ") for group in groups])
    axes.xaxis.set_visible(True)
    axes.spines["bottom"].set_visible(True)
    axes.grid(visible=True, axis="x")
    axes.set_ylim(len(groups) - 0.4, -1.1)
    axes.set_xlim(0, 1.23 * longest)
    axes.set_xticks([tick for tick in axes.get_xticks() if tick <= 1.05 * longest])
    axes.xaxis.set_major_formatter(lambda size, _: f"{size:,.0f} B")
    near, farthest = sum(share_above(group) <= CLOSE for group in groups), groups[-1]
    title = f"RSS is within {CLOSE:.0%} of live heap in {near} of {len(groups)} libraries, "
    title += f"{share_above(farthest):.0%} above it in {stack_title(farthest.costs.stack)}"
    subtitle = f"A server session in use. {suite_title(SUITE)} unless named; library defaults."
    dots = [
        Line2D([], [], marker=marker, markersize=11, linestyle="none", color=cost.colour, label=cost.name)
        for cost, marker in MARKERS.items()
    ]
    add_frame(made, title, subtitle, describe_records_of_groups(groups, among), dots)
    return made
