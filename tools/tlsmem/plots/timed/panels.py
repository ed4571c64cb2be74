"""The panels of pictures of time: what each quantity is drawn over, and what is read from the runs for it."""

import bisect
from collections.abc import Sequence

import numpy
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter

from tlsmem.plots.bucket_panel import INK
from tlsmem.plots.timed import bars
from tlsmem.plots.timed.bars import Bar
from tlsmem.plots.timed.curves import Curve, WhiskerEnds
from tlsmem.plots.timed.stack_style import StackStyle, style_of_stack
from tlsmem.schema.harness_output import Role
from tlsmem.stats import timed_rates
from tlsmem.stats.bootstrap import Interval
from tlsmem.stats.timed_rates import Latencies, Quantity
from tlsmem.stats.timed_selection import TimedSelection, TimedSeries, Work
from tlsmem.stats.timed_summary import Ratio, Sample, sample_from_runs
from tlsmem.tables.timed.rows import size_text

PERCENTILES = (0, 50, 90, 99, 99.9, 99.99, 99.999, 99.9999)
US, MS = 1_000, 1_000_000


def bar(series: TimedSeries, quantity: Quantity, mark: Quantity | None = None) -> Bar | None:
    """None in a hole."""
    found = sample_from_runs(series.runs(), quantity)
    if not found:
        return None
    interval, held = found.interval, sample_from_runs(series.runs(), mark) if mark else None
    ends = (interval.low, interval.high) if interval else (None, None)
    return Bar(found.median, *ends, held.median if held else None)


def bars_by_group(
    timed: TimedSelection, works: dict[str, Work], stacks: Sequence[str], *quantities: Quantity
) -> bars.Bars:
    """By group, which is at a work, and stack."""
    found = {
        (group, stack): bar(timed.series(stack, work), *quantities) for group, work in works.items() for stack in stacks
    }
    return {place: one for place, one in found.items() if one}


def curve(timed: TimedSelection, stack: str, points: dict[float, Work], quantity: Quantity) -> dict[float, Sample]:
    found = {at: sample_from_runs(timed.series(stack, work).runs(), quantity) for at, work in points.items()}
    return {at: one for at, one in found.items() if one}


def whisker_ends(interval: Interval | None, by: float = 1) -> WhiskerEnds:
    """Of a whisker."""
    return (by * interval.low, by * interval.high) if interval else None


def draw_over_threads(
    axes: Axes, timed: TimedSelection, stacks: Sequence[str], works: Sequence[Work], quantity: Quantity
) -> list:
    """Of each thread, in percent of what a single one does; without that there is no curve."""
    made = []
    for index, stack in enumerate(stacks):
        found = curve(timed, stack, {work.threads: work for work in works}, quantity)
        if 1 in found:
            factors = [Ratio(found[1], one) for one in found.values()]  # as in the table
            shares = tuple(100 * one.value for one in factors)
            said = f"{shares[-1]:.0f} %" if len(shares) > 1 else ""
            ends = tuple(whisker_ends(None if one.before is one.after else one.interval, 100) for one in factors)
            made.append(Curve(stack, style_of_stack(index), tuple(found), shares, said, ends=ends))
    counts = sorted({work.threads for work in works})
    cpus = timed.records[0].machine.cpus
    axes.set_xlim(min(counts) - 0.25, max(*counts, 2) + 0.25)
    axes.set_xticks(counts if len(counts) < 10 else counts[::2])
    axes.set_ylim(0, 1.12 * max([100, *(one.top for one in made)]))
    axes.axhline(100, color="#666666", linewidth=0.8, zorder=1)
    if max(counts) > cpus:
        shaded(axes, cpus)
    axes.grid(axis="x", visible=False)
    return made


def shaded(axes: Axes, cpus: int) -> None:
    """Where threads wait for one another."""
    left, right = cpus + 0.5, axes.get_xlim()[1]
    axes.axvspan(left, right, color="#eeeeee", zorder=0, linewidth=0)
    style = {"fontsize": 7.5, "style": "italic", "va": "bottom", "ha": "right", "color": INK}
    axes.text(right - 0.05, 0.02 * axes.get_ylim()[1], f"more threads than the {cpus} CPUs", **style)


def draw_over_sizes(
    axes: Axes, timed: TimedSelection, stacks: Sequence[str], works: Sequence[Work], quantity: Quantity
) -> list:
    sizes = sorted({work.size_bytes for work in works})
    made = []
    for index, stack in enumerate(stacks):
        found = curve(timed, stack, {work.size_bytes: work for work in works}, quantity)
        if found:
            heights = tuple(one.median for one in found.values())
            ends = tuple(whisker_ends(one.interval) for one in found.values())
            made.append(Curve(stack, style_of_stack(index), tuple(found), heights, f"{heights[-1]:,.0f}", ends=ends))
    axes.set_xscale("log", base=2)
    shown = sizes[:: -(-len(sizes) // 9)]
    axes.set_xticks(shown, [size_text(size).replace(" ", "\n") for size in shown], fontsize=8)
    axes.set_xticks([], minor=True)
    axes.set_xlim(sizes[0] / 1.3, sizes[-1] * 1.3)
    axes.set_ylim(0, 1.1 * max((one.top for one in made), default=1))
    axes.yaxis.set_major_formatter(lambda rate, _: f"{rate:,.0f}")
    return made


def draw_distribution(axes: Axes, timed: TimedSelection, stacks: Sequence[str], work: Work, part: Role) -> list[Curve]:
    """Of all intervals of all repeats; each curve goes as far as there are some, to the longest."""
    made = []
    for index, stack in enumerate(stacks):
        if found := timed_rates.latencies(timed.series(stack, work).runs(), part):
            made.append(steps(stack, style_of_stack(index), found))
    furthest = max((one.across[-1] for one in made), default=1)
    shown = [one for one in PERCENTILES if place(one) <= furthest]
    axes.set_xticks([place(one) for one in shown], [f"{one:g} %" if one else "" for one in shown], fontsize=8)
    axes.set_xlim(0, max(furthest, 1))
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(lambda ns, _: time_text(ns))
    axes.yaxis.set_minor_formatter(NullFormatter())
    if made:
        axes.set_ylim(min(one.heights[0] for one in made) / 1.5, 1.5 * max(one.heights[-1] for one in made))
    return made


def steps(stack: str, drawn: StackStyle, found: Latencies) -> Curve:
    """As they are, not sampled: each time from where it begins to where the next does; marked at the percentiles."""
    counts = found.counts
    before = numpy.cumsum([0, *(count for _, count in counts)])
    begins = [place(share) for share in 100 * before[:-1] / found.intervals]
    ends = [*begins[1:], place(100 * (1 - 1 / (found.intervals + 1)))]
    places = [place(one) for one in PERCENTILES if place(one) <= ends[-1]]
    marks = [(at, counts[bisect.bisect_right(begins, at) - 1][0]) for at in places]
    points = [(at, ns) for both, (ns, _) in zip(zip(begins, ends, strict=True), counts, strict=True) for at in both]
    points = sorted([*points, *marks])
    across, heights = zip(*points, strict=True)
    return Curve(stack, drawn, across, heights, marked=tuple(map(points.index, marks)))


def place(percentile: float) -> float:
    """On the axis, where each further nine takes as much room."""
    return float(-numpy.log10(1 - percentile / 100))


def time_text(ns: float) -> str:
    for unit, name in ((MS, "ms"), (US, "µs")):
        if ns >= unit:
            return f"{ns / unit:g} {name}"
    return f"{ns:g} ns"
