"""The panel of rates over the sizes of a write."""

from collections.abc import Sequence

from matplotlib.axes import Axes

from tlsmem.plots.timed.curves import Curve, WhiskerEnds
from tlsmem.plots.timed.stack_style import curve_styles
from tlsmem.stats.bootstrap import Interval
from tlsmem.stats.timed_rates import Quantity
from tlsmem.stats.timed_selection import TimedSelection, Work
from tlsmem.stats.timed_summary import sample_from_runs
from tlsmem.tables.timed.rows import size_text


def whisker_ends(interval: Interval | None) -> WhiskerEnds:
    """Of a whisker."""
    return (interval.low, interval.high) if interval else None


def draw_over_sizes(axes: Axes, timed: TimedSelection, works: Sequence[Work], quantity: Quantity) -> list[Curve]:
    """Return the curves of the stacks, and set the axes for them."""
    sizes = sorted({work.size_bytes or 0 for work in works})
    styles = curve_styles(timed.stacks)
    made = []
    for stack in timed.stacks:
        samples = {work.size_bytes or 0: sample_from_runs(timed.series(stack, work).runs(), quantity) for work in works}
        found = {size: sample for size, sample in samples.items() if sample}
        if found:
            heights = tuple(one.median for one in found.values())
            ends = tuple(whisker_ends(one.interval) for one in found.values())
            made.append(Curve(stack, styles[stack], tuple(found), heights, f"{heights[-1]:,.0f}", ends=ends))
    axes.set_xscale("log", base=2)
    shown = sizes[:: -(-len(sizes) // 9)]
    axes.set_xticks(shown, [size_text(size).replace(" ", "\n") for size in shown], fontsize=8)
    axes.set_xticks([], minor=True)
    axes.set_xlim(sizes[0] / 1.3, sizes[-1] * 1.3)
    axes.set_ylim(0, 1.1 * max((one.top for one in made), default=1))
    axes.yaxis.set_major_formatter(lambda rate, _: f"{rate:,.0f}")
    return made
