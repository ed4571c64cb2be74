"""The figures of timed runs: transfer, handshakes, latency, threads, sizes of a write; each if there are runs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import matplotlib
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tlsmem.plots.bucket_panel import INK
from tlsmem.plots.picture import STYLE, save
from tlsmem.plots.timed import bars, curves, frame, handshake_kinds, panels, stack_style
from tlsmem.plots.timed.bars import Bars
from tlsmem.plots.timed.curves import Curve
from tlsmem.plots.timed.panels import bars_by_group
from tlsmem.plots.timed.stack_style import keys
from tlsmem.schema.harness_output import Role, Scenario
from tlsmem.schema.records import Record
from tlsmem.stats import timed_rates
from tlsmem.stats.session_cost import MIB
from tlsmem.stats.timed_selection import TimedSelection, Work, select
from tlsmem.stats.timed_summary import ratios_to_one_thread
from tlsmem.tables.timed.cells import describe_gap
from tlsmem.tables.timed.transfer import describe_copying

AROUND = 1.8  # inches: above and below the panels
HEADINGS = {"send": "sending", "receive": "receiving"}
Painter = Callable[[Axes, list[Work], str], list[Curve]]


def threads(timed: TimedSelection) -> Figure:
    def painted(axes: Axes, works: list[Work], part: str) -> list[Curve]:
        axes.set_ylabel("% of one thread's rate", fontsize=8.5)
        axes.set_xlabel("threads", fontsize=8.5)
        return panels.draw_over_threads(axes, timed, timed.stacks, works, timed_rates.rate(works[0].scenario, part))

    plotted = "What each thread does of what one does alone, by its part's own time; all share the server's context."
    title = f"Rate per thread over threads: {handshake_kinds.base_suite(timed.works[0].suite)}"
    return picture(
        timed, title, " ".join([plotted, frame.describe_medians(timed), *describe_ratio_notes(timed)]), painted
    )


def describe_ratio_notes(timed: TimedSelection) -> list[str]:
    """Where several threads were not measured beside one."""
    found = (
        describe_gap(one.gap)
        for work in timed.works
        for part in timed_rates.MAIN_PARTS[work.scenario]
        for one in ratios_to_one_thread(timed, work, part)
        if one.gap
    )
    return [f"Held against one thread: {note}." for note in dict.fromkeys(found)]


def sizes(timed: TimedSelection) -> Figure:
    def painted(axes: Axes, works: list[Work], part: str) -> list[Curve]:
        axes.set_ylabel("MiB/s")
        axes.set_xlabel("bytes of one write")
        return panels.draw_over_sizes(axes, timed, timed.stacks, works, timed_rates.mebibytes_per_second(part))

    plotted = "Of the server's writes, and of the client's reads; beside a name: MiB/s at the largest size."
    title = f"Bulk transfer over the size of a write: {timed.works[0].suite}"
    return picture(timed, title, f"{plotted} {frame.describe_medians(timed)}", painted)


def latency(timed: TimedSelection) -> Figure:
    def painted(axes: Axes, works: list[Work], part: str) -> list[Curve]:
        axes.set_ylabel("time of one handshake", fontsize=8.5)
        axes.set_xlabel("of handshakes took no longer", fontsize=8.5)
        return panels.draw_distribution(axes, timed, timed.stacks, works[0], part)

    plotted = (
        "All steps of the one role in one handshake; all intervals of all threads and repeats together, to the longest."
    )
    title = f"How long a handshake takes: {handshake_kinds.base_suite(timed.works[0].suite)}"
    return picture(timed, title, plotted, painted)


def picture(timed: TimedSelection, title: str, plotted: str, painted: Painter) -> Figure:
    """A row for each part, a column for each kind of handshake; of one kind the parts beside each other."""
    works = {
        end: [one for one in timed.works if handshake_kinds.resumption_suffix(one.suite) == end]
        for end in handshake_kinds.KINDS
    }
    ends, parts = [end for end, some in works.items() if some], timed_rates.MAIN_PARTS[timed.works[0].scenario]
    shape = (1, 2) if len(ends) == 1 else (2, len(ends))
    high = max(7.2, AROUND + shape[0] * (0.7 + curves.panel_inches(timed.stacks)))
    made, grid = pyplot.subplots(*shape, figsize=(12.8, high), layout="constrained", squeeze=False)
    drawn = []
    for axes, (part, end) in zip(grid.flat, [(part, end) for part in parts for end in ends], strict=True):
        found = painted(axes, works[end], part)
        axes.set_title(heading(part, end, works[end][0]), fontsize=10, weight="bold")
        axes.label_outer(remove_inner_ticks=False)
        drawn.append((axes, found, curves.draw(axes, found)))
    share_scale([axes for axes, found, _ in drawn if found])
    frame.add_frame(made, title, [], timed, plotted, frame.describe_missing(timed, "curve"))
    frame.subtitled(made, timed)
    for axes, found, names in drawn:
        curves.spread_labels(axes, found, names)
    return made


def heading(part: str, end: str, work: Work) -> str:
    return f"{part}, {handshake_kinds.KINDS[end]}" if work.scenario == "handshake" else HEADINGS[part]


def share_scale(drawn: Sequence[Axes]) -> None:
    limits = [axes.get_ylim() for axes in drawn]
    for axes in drawn:
        axes.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))


BESIDE = 24  # bars of a panel that has another beside it
NAMES = 6  # of its groups
MANY = 48  # of one that has a wider page
TRANSFER = "Bulk transfer: application data per second of one thread"
HANDSHAKES = "Handshakes per second of one thread"
ROLES: tuple[Role, ...] = ("client", "server")
Panel = tuple[Axes, list[str], Bars]


def transfer(timed: TimedSelection) -> Figure:
    """Sending and receiving; writes of 1 MiB, or of the largest size that there is."""
    there = {work.size_bytes for work in timed.works}
    size = MIB if MIB in there else max(there)
    timed = timed.where(lambda work: work.size_bytes == size)
    works = {work.suite: work for work in timed.works}
    stacks, cipher = timed.stacks, timed_rates.mebibytes_per_second("seal")
    made, grid = bar_grid(1, len(works), len(stacks))
    drawn: list[Panel] = []
    for axes, part, heading in zip(grid, ("send", "receive"), ("sending", "receiving"), strict=True):
        found = bars_by_group(timed, works, stacks, timed_rates.mebibytes_per_second(part), cipher)
        drawn.append((axes, list(works), found))
        axes.set_title(heading, fontsize=11, weight="bold")
        axes.set_ylabel("MiB/s")
    marked = any(one.mark is not None for _, _, found in drawn for one in found.values())
    mark = Line2D([], [], color=INK, linewidth=1.8, label="the library's own AEAD by itself, sealing")
    handles = [*keys(stacks), *[mark] * marked]
    plotted = (
        "Of the server's writes, and of the client's reads, the time of each by itself. "
        f"{frame.describe_medians(timed)}"
    )
    copying = describe_copying(timed)
    finish(made, drawn, TRANSFER, handles, timed, f"{plotted} {copying}{'.' * bool(copying)}".strip())
    return made


def handshakes(timed: TimedSelection) -> Figure:
    """A panel for each role and kind of handshake; both roles of a kind have one scale."""
    groups = list(dict.fromkeys(handshake_kinds.base_suite(work.suite) for work in timed.works))
    there = [
        end
        for end in handshake_kinds.KINDS
        if any(handshake_kinds.resumption_suffix(work.suite) == end for work in timed.works)
    ]
    made, grid = bar_grid(len(there), len(groups), len(timed.stacks))
    drawn: list[Panel] = []
    for at, end in enumerate(there):
        works: dict[str, Work] = {
            handshake_kinds.base_suite(one.suite): one
            for one in timed.works
            if handshake_kinds.resumption_suffix(one.suite) == end
        }
        for role, axes in zip(ROLES, grid[2 * at : 2 * at + 2], strict=True):
            drawn.append((axes, groups, bars_by_group(timed, works, timed.stacks, timed_rates.per_second(role))))
            axes.set_title(f"{role}, {handshake_kinds.KINDS[end]}", fontsize=10, weight="bold")
            axes.set_ylabel("handshakes/s")
    plotted = "By the time of all steps of the one role, tickets included; construction is apart."
    finish(made, drawn, HANDSHAKES, keys(timed.stacks), timed, f"{plotted} {frame.describe_medians(timed)}")
    return made


def bar_grid(pairs: int, groups: int, stacks: int) -> tuple[Figure, list[Axes]]:
    """Two for each pair, beside each other where each has few bars, else below each other; on 16:9 while they fit."""
    count = groups * stacks
    rows, columns = (pairs, 2) if count <= BESIDE and groups <= NAMES else (2 * pairs, 1)
    wide = 12.8 if count <= MANY else 17.6
    high = max(9 / 16 * wide, 1.6 + 2.1 * rows)
    made, grid = pyplot.subplots(rows, columns, figsize=(wide, high), layout="constrained", squeeze=False)
    return made, list(grid.flat)


def finish(made: Figure, drawn: list[Panel], title: str, handles: list, timed: TimedSelection, plotted: str) -> None:
    stacks: Sequence[str] = timed.stacks
    for axes, groups, found in drawn:
        bars.draw(axes, groups, stacks, found)
    for pair in zip(drawn[::2], drawn[1::2], strict=True):
        top = max(axes.get_ylim()[1] for axes, _, _ in pair)
        for axes, _, _ in pair:
            axes.set_ylim(0, top)
    frame.add_frame(made, title, handles, timed, plotted, frame.describe_missing(timed))
    longest = max((len(bars.format_height(one)) for *_, found in drawn for one in found.values()), default=0)
    for axes, groups, found in drawn:
        bars.write_values(axes, groups, stacks, found, longest)


NOTHING = "no timed run was measured, so there is nothing to draw; tabulate.py shows why"


def draw(records: Sequence[Record], directory: Path) -> list[Path]:
    """PNG and SVG of each picture that these runs have; the files written. ValueError and OSError with a sentence."""
    return draw_selected(select(records), directory)


def draw_selected(timed: TimedSelection, directory: Path) -> list[Path]:
    if not any(one.status == "measured" and one.meter == "time" for one in timed.records):
        raise ValueError(NOTHING)
    directory.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context(STYLE | stack_style.STYLE):
        return [file for name, draw in timed_figures(timed) for file in save(draw(), directory / name)]


def timed_figures(timed: TimedSelection) -> Iterator[tuple[str, Callable[[], Figure]]]:
    """By name of a file, without its ending: what draws it. Allocators, and CPUs, are never mixed in one picture."""
    conditions = list(dict.fromkeys((work.allocator, work.cpu) for work in timed.works))
    for allocator, cpu in conditions:
        alike = timed.where(lambda work, wanted=(allocator, cpu): (work.allocator, work.cpu) == wanted)
        more = [allocator] * timed.varies("allocator") + [cpu] * timed.varies("cpu")
        for name, draw in figures_by_name(alike):
            yield "-".join([name, *(word.split()[0] for word in more)]), draw


def figures_by_name(timed: TimedSelection) -> Iterator[tuple[str, Callable[[], Figure]]]:
    if moved := measured_works(timed.select_scenario("throughput")):
        yield "transfer", partial(transfer, moved)
    if shaken := measured_works(timed.select_scenario("handshake")):
        yield "handshake", partial(handshakes, shaken)
        for suite, some in by_base(shaken):
            yield f"latency-{suite}", partial(latency, some)
    for suite, some in by_base(several(timed, "handshake", "threads")):
        yield f"threads-{suite}", partial(threads, some)
    for suite, some in by_base(several(timed, "throughput", "threads")):
        yield f"threads-transfer-{suite}", partial(threads, some)
    for suite, some in by_base(several(timed, "throughput", "size_bytes")):
        yield f"sizes-{suite}", partial(sizes, some)


def measured_works(timed: TimedSelection) -> TimedSelection | None:
    """None where no run was."""
    return timed if any(series.runs() for series in timed.every()) else None


def several(timed: TimedSelection, scenario: Scenario, field: str) -> TimedSelection:
    """Works that were measured with several values of the field; of sizes, at the fewest threads."""
    timed = (
        timed.select_scenario(scenario)
        if field == "size_bytes"
        else timed.where(lambda work: work.scenario == scenario)
    )
    values: dict[Work, set[int]] = {}
    for work in timed.works:
        values.setdefault(replace(work, **{field: 1}), set()).add(getattr(work, field))
    return timed.where(lambda work: len(values[replace(work, **{field: 1})]) > 1)


def by_base(timed: TimedSelection) -> Iterator[tuple[str, TimedSelection]]:
    """Full handshakes and those resumed of the same suite together; without those of which nothing was measured."""
    for base in dict.fromkeys(handshake_kinds.base_suite(work.suite) for work in timed.works):
        some = timed.where(lambda work, base=base: handshake_kinds.base_suite(work.suite) == base)
        if measured_works(some):
            yield base, some
