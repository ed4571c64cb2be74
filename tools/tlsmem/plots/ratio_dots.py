"""A panel of ratios: a dot for each stack and row, how many times as fast as the first stack, with its interval."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, NullLocator

from tlsmem.plots.frame import INK, points
from tlsmem.plots.memory_panels import MarkerStyle
from tlsmem.stats.timed_rates import Quantity
from tlsmem.stats.timed_selection import TimedSelection, Work
from tlsmem.stats.timed_summary import Ratio, sample_from_runs

TICKS = (0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4)
APART = 0.17  # of a row: from stack to stack
ROOM = 1.12  # beyond the outermost interval

Ratios = Mapping[tuple[str, str], Ratio]  # by row and stack; what was not measured is not there


def find_ratios(timed: TimedSelection, works: Mapping[str, Work], quantity: Quantity) -> Ratios:
    """Return the ratio of each stack but the first to the first, by row and stack."""
    found = {}
    for row, work in works.items():
        first, *others = (sample_from_runs(timed.series(stack, work).runs(), quantity) for stack in timed.stacks)
        for stack, sample in zip(timed.stacks[1:], others, strict=True):
            if first and sample:
                found[row, stack] = Ratio(first, sample)
    return found


def draw_dot(axes: Axes, ratio: Ratio, row: float, style: MarkerStyle) -> None:
    """Draw a ratio and its interval."""
    if ratio.interval:
        axes.plot([ratio.interval.low, ratio.interval.high], [row, row], color=style.colour, linewidth=2, zorder=2)
    axes.plot([ratio.value], [row], style.marker, zorder=3, markersize=points(0.75), **style.dots)


def draw_ratios(axes: Axes, rows: Sequence[str], ratios: Ratios, styles: Mapping[str, MarkerStyle]) -> None:
    """Draw all stacks of a panel, the first row above; the axis is logarithmic, and 1 is the first stack."""
    axes.axvline(1, color=INK, linewidth=1.2, zorder=1)
    stacks = list(styles)
    for (row, stack), ratio in ratios.items():
        shift = APART * (stacks.index(stack) - (len(stacks) - 1) / 2)
        draw_dot(axes, ratio, rows.index(row) + shift, styles[stack])
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator(TICKS))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}×")
    axes.set_yticks(range(len(rows)), rows)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)


def limits(ratios: Ratios) -> tuple[float, float]:
    """Return the ends of an axis with all intervals and 1."""
    ends = [1.0, *(ratio.value for ratio in ratios.values())]
    ends += [end for ratio in ratios.values() if ratio.interval for end in (ratio.interval.low, ratio.interval.high)]
    return min(ends) / ROOM, max(ends) * ROOM
