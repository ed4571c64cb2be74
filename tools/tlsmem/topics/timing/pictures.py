"""The figures of timed runs: transfer and handshakes as ratios of back-to-back runs, and rates by size of a write."""

import argparse
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import matplotlib
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tlsmem.config.libraries import stack_title
from tlsmem.plots.frame import INK, add_frame, describe_records
from tlsmem.plots.left_out import describe_left_out, find_refusals
from tlsmem.plots.memory_panels import MarkerStyle, marker_styles
from tlsmem.plots.picture import PAGE_INCHES, PAGE_STYLE, save
from tlsmem.plots.ratio_dots import Ratios, draw_ratios, find_ratios, limits
from tlsmem.stats import timed_rates
from tlsmem.stats.bootstrap import Interval
from tlsmem.stats.selection import choose_values, select_campaign
from tlsmem.stats.session_cost import MIB
from tlsmem.stats.timed_rates import Quantity
from tlsmem.stats.timed_selection import TimedSelection, Work, is_timed, select
from tlsmem.stats.timed_summary import sample_from_runs
from tlsmem.store.record import Record
from tlsmem.store.recordings import load_recording
from tlsmem.topics.timing import curves
from tlsmem.topics.timing.captions import repeats_text
from tlsmem.topics.timing.curves import Curve, WhiskerEnds, curve_styles
from tlsmem.topics.timing.rows import size_text

KINDS = {"": "full", "-id": "resumed by session id", "-ticket": "resumed by ticket"}  # by the end of a suite's name
AROUND = 2.0  # inches: above and below the panels
ROW_INCHES, DOT_INCHES = 0.36, 0.14  # of a row, at least; of a stack in it
CHACHA = "chacha20"  # in the names of suites


def find_fastest(ratios: Ratios) -> str | None:
    """Return the stack with the best ratios; None where there are none."""
    by_stack: dict[str, list[float]] = {}
    for (_, stack), ratio in ratios.items():
        by_stack.setdefault(stack, []).append(ratio.value)
    return max(by_stack, key=lambda stack: statistics.geometric_mean(by_stack[stack]), default=None)


def describe_range(ratios: Ratios, stack: str) -> str | None:
    """Return from which to which the ratios of a stack are: `1.8 to 2.4`; None where it has none."""
    values = [ratio.value for (_, other), ratio in ratios.items() if other == stack]
    return " to ".join(dict.fromkeys(f"{end:.2g}" for end in (min(values), max(values)))) if values else None


def ratio_picture(timed: TimedSelection, title: str, quantity: str, panels: Mapping[str, Ratios]) -> Figure:
    """Draw a panel for each heading, all on one scale, with a row for each suite."""
    rows = list(dict.fromkeys(row for ratios in panels.values() for row, _ in ratios))
    drawn = {stack for ratios in panels.values() for _, stack in ratios}
    others = {stack: style for stack, style in marker_styles(timed.stacks).items() if stack in drawn}
    size = (PAGE_INCHES, AROUND + max(ROW_INCHES, DOT_INCHES * len(others)) * len(rows))
    made, grid = pyplot.subplots(1, len(panels), figsize=size, layout="constrained", sharex=True, sharey=True)
    for axes, (heading, ratios) in zip(grid, panels.items(), strict=True):
        draw_ratios(axes, rows, ratios, others)
        axes.set_title(heading, fontsize=10, weight="bold")
    ends = [limits(ratios) for ratios in panels.values()]
    grid[0].set_xlim(min(low for low, _ in ends), max(high for _, high in ends))
    first = stack_title(timed.stacks[0])
    subtitle = f"{quantity}, as a multiple of {first}'s: {repeats_text(timed)}, back to back; 95% intervals."
    left_out = describe_left_out(timed.stacks, [timed.stacks[0], *others], find_refusals(timed.records))
    add_frame(made, title, subtitle, left_out + describe_records(timed.records), keys(others))
    return made


def keys(styles: Mapping[str, MarkerStyle]) -> list[Line2D]:
    """Return the legend: a marker for each stack."""
    return [
        Line2D(
            [], [], color=one.colour, marker=one.marker, markeredgecolor=INK, linestyle="none", label=stack_title(name)
        )
        for name, one in styles.items()
    ]


def transfer(timed: TimedSelection) -> Figure:
    """Sending and receiving; writes of 1 MiB, or of the largest size that there is."""
    there = {work.size_bytes or 0 for work in timed.works}
    size = MIB if MIB in there else max(there)
    timed = timed.where(lambda work: work.size_bytes == size)
    works = {work.suite: work for work in timed.works}
    sent, received = (find_ratios(timed, works, timed_rates.mebibytes_per_second(part)) for part in ("send", "receive"))
    return ratio_picture(
        timed, transfer_title(timed, sent), "MiB/s", {"server sends": sent, "client receives": received}
    )


def transfer_title(timed: TimedSelection, sent: Ratios) -> str:
    """Return the finding: how fast the fastest stack sends, by kind of cipher."""
    stack = find_fastest(sent)
    if not stack:
        return "Bulk transfer"
    chacha = {place: ratio for place, ratio in sent.items() if CHACHA in place[0]}
    aes = {place: ratio for place, ratio in sent.items() if place not in chacha}
    ranges = {"AES-GCM": describe_range(aes, stack), "ChaCha20": describe_range(chacha, stack)}
    found = " and ".join(f"{cipher} at {size}×" for cipher, size in ranges.items() if size)
    return f"{stack_title(stack)} sends {found} the rate of {stack_title(timed.stacks[0])}"


def handshakes(timed: TimedSelection) -> Figure:
    """Full and resumed handshakes of each role."""
    works = {work.suite: work for work in sorted(timed.works, key=by_kind)}
    panels = {role: find_ratios(timed, works, timed_rates.per_second(role)) for role in ("client", "server")}
    return ratio_picture(timed, handshake_title(timed, panels["client"]), "Handshakes/s", panels)


def handshake_title(timed: TimedSelection, clients: Ratios) -> str:
    """Return the finding: how many full handshakes the fastest clients make."""
    full = {place: ratio for place, ratio in clients.items() if not resumption_suffix(place[0])}
    stack = find_fastest(full or clients)
    if not stack:
        return "Handshakes"
    kind = "full" if full else "resumed"
    times = describe_range(full or clients, stack)
    return f"{stack_title(stack)} clients do {times} times the {kind} handshakes of {stack_title(timed.stacks[0])}"


def by_kind(work: Work) -> int:
    """Return the place of a work: full handshakes come before resumed ones."""
    return list(KINDS).index(resumption_suffix(work.suite))


def sizes(timed: TimedSelection) -> Figure:
    """Rates over the size of a write: the server's writes, and the client's reads."""
    high = AROUND + 0.7 + curves.panel_inches(timed.stacks)
    size = (12.8, max(7.2, high))
    made, grid = pyplot.subplots(1, 2, figsize=size, layout="constrained", squeeze=False, sharey=True)
    drawn = []
    for axes, (heading, part) in zip(grid.flat, (("sending", "send"), ("receiving", "receive")), strict=True):
        found = draw_over_sizes(axes, timed, timed.works, timed_rates.mebibytes_per_second(part))
        axes.set_title(heading, fontsize=10, weight="bold")
        axes.set(xlabel="bytes of one write", ylabel="MiB/s")
        drawn.append((axes, found, curves.draw(axes, found)))
    top = max(axes.get_ylim()[1] for axes, _, _ in drawn)
    grid[0][0].set_ylim(0, top)
    subtitle = f"{timed.works[0].suite}; medians of {repeats_text(timed)}; beside a name: MiB/s at the largest size."
    add_frame(made, "Bulk transfer by the size of a write", subtitle, describe_records(timed.records))
    made.draw_without_rendering()
    made.set_layout_engine("none")
    for axes, found, names in drawn:
        curves.spread_labels(axes, found, names)
    return made


NOTHING = "no timed run was measured, so there is nothing to draw; tls-memtest show tables shows why"


def draw(records: Sequence[Record], directory: Path) -> list[Path]:
    """PNG and SVG of each picture that these runs have; the files written. Raises ValueError and OSError with a
    sentence."""
    return draw_selected(select(records), directory)


def draw_selected(timed: TimedSelection, directory: Path) -> list[Path]:
    if not any(one.status == "measured" and one.meter == "time" for one in timed.records):
        raise ValueError(NOTHING)
    directory.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context(PAGE_STYLE):
        return [file for name, draw in timed_figures(timed) for file in save(draw(), directory / name)]


def timed_figures(timed: TimedSelection) -> Iterator[tuple[str, Callable[[], Figure]]]:
    """By name of a file, without its ending: what draws it. Allocators, and CPUs, are never mixed in one picture."""
    conditions = list(dict.fromkeys((work.allocator, work.cpu) for work in timed.works))
    for allocator, cpu in conditions:
        alike = timed.where(partial(has_conditions, allocator, cpu))
        more = [allocator] * timed.varies("allocator") + [cpu] * timed.varies("cpu")
        for name, draw in figures_by_name(alike):
            yield "-".join([name, *(word.split()[0] for word in more)]), draw


def has_conditions(allocator: str, cpu: str, work: Work) -> bool:
    """Return whether a work has this allocator and this CPU."""
    return (work.allocator, work.cpu) == (allocator, cpu)


def figures_by_name(timed: TimedSelection) -> Iterator[tuple[str, Callable[[], Figure]]]:
    """Ratios need a second stack: the rates of one alone are in the tables."""
    if moved := compared_works(timed.select_scenario("throughput")):
        yield "transfer", partial(transfer, moved)
    if shaken := compared_works(timed.select_scenario("handshake")):
        yield "handshake", partial(handshakes, shaken)
    for suite, some in by_base(several_sizes(timed)):
        yield f"sizes-{suite}", partial(sizes, some)


def compared_works(timed: TimedSelection) -> TimedSelection | None:
    """Return the runs where several stacks were measured; None where at most one was."""
    return timed if len({series.stack for series in timed.every() if series.runs()}) > 1 else None


def measured_works(timed: TimedSelection) -> TimedSelection | None:
    """None where no run was."""
    return timed if any(series.runs() for series in timed.every()) else None


def several_sizes(timed: TimedSelection) -> TimedSelection:
    """Return the works that were measured with several sizes of a write, at the fewest threads."""
    timed = timed.select_scenario("throughput")
    values: dict[Work, set[int | None]] = {}
    for work in timed.works:
        values.setdefault(replace(work, size_bytes=1), set()).add(work.size_bytes)
    return timed.where(lambda work: len(values[replace(work, size_bytes=1)]) > 1)


def by_base(timed: TimedSelection) -> Iterator[tuple[str, TimedSelection]]:
    """Full handshakes and those resumed of the same suite together; without those of which nothing was measured."""
    for base in dict.fromkeys(base_suite(work.suite) for work in timed.works):
        some = timed.where(partial(has_base, base))
        if measured_works(some):
            yield base, some


def has_base(base: str, work: Work) -> bool:
    """Return whether this is the work's suite without its resumption."""
    return base_suite(work.suite) == base


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


def resumption_suffix(suite: str) -> str:
    return next((end for end in KINDS if end and suite.endswith(end)), "")


def base_suite(suite: str) -> str:
    """The suite without its resumption."""
    return suite.removesuffix(resumption_suffix(suite))


def select_timed(records: Sequence[Record], given: argparse.Namespace) -> list[Record]:
    """Of the stacks and suites that were asked for, in that order; a suite brings its resumed handshakes along.
    Raises ValueError with a sentence when one has no runs."""
    records = [one for one in records if is_timed(one)]
    if not records:
        raise ValueError(
            "the recording has no timed runs; record some with make throughput, make handshake or make threads"
        )
    stacks = choose_values(given.stack, (one.stack for one in records), "the stack")
    there = (suite for one in records for suite in (one.suite, base_suite(one.suite)))
    suites = choose_values(given.suite, there, "the suite")
    found = [one for one in records if one.stack in stacks and {one.suite, base_suite(one.suite)} & {*suites}]
    return sorted(found, key=lambda one: stacks.index(one.stack)) if given.stack else found


def draw_from_arguments(given: argparse.Namespace) -> list[Path]:
    loaded = load_recording(given.recording)
    loaded = select_campaign(loaded, given.campaign) if given.campaign else loaded
    timed = select(select_timed(loaded, given))
    for said in timed.left_out:
        print(f"memtest: {given.recording}: {said}", file=sys.stderr)
    return draw_selected(timed, given.output)
