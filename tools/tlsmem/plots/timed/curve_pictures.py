"""The pictures of curves, one a stack: over threads, over sizes of a write, and the distribution of latencies."""

from collections.abc import Callable, Sequence

from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tlsmem.plots.timed import curves, frame, handshake_kinds, panels
from tlsmem.plots.timed.curves import Curve
from tlsmem.stats import timed_rates
from tlsmem.stats.timed_selection import Timed, Work
from tlsmem.tables.timed.latency import PARTS
from tlsmem.tables.timed.threads import by_one, quantity

AROUND = 1.8  # inches: above and below the panels
HEADINGS = {"send": "sending", "receive": "receiving"}
Painter = Callable[[Axes, list[Work], str], list[Curve]]


def threads(timed: Timed) -> Figure:
    def painted(axes: Axes, works: list[Work], part: str) -> list[Curve]:
        axes.set_ylabel("% of one thread's rate", fontsize=8.5)
        axes.set_xlabel("threads", fontsize=8.5)
        return panels.over_threads(axes, timed, timed.stacks, works, quantity(works[0], part))

    plotted = "What each thread does of what one does alone, by its part's own time; all share the server's context."
    title = f"Rate per thread over threads: {handshake_kinds.base(timed.works[0].suite)}"
    return picture(timed, title, " ".join([plotted, frame.repeats(timed), *apart(timed)]), painted)


def apart(timed: Timed) -> list[str]:
    """Where several threads were not measured beside one."""
    found = (one.note for work in timed.works for part in PARTS[work.scenario] for one in by_one(timed, work, part))
    return [f"Held against one thread: {note}." for note in dict.fromkeys(filter(None, found))]


def sizes(timed: Timed) -> Figure:
    def painted(axes: Axes, works: list[Work], part: str) -> list[Curve]:
        axes.set_ylabel("MiB/s")
        axes.set_xlabel("bytes of one write")
        return panels.over_sizes(axes, timed, timed.stacks, works, timed_rates.mebibytes_per_second(part))

    plotted = "Of the server's writes, and of the client's reads; beside a name: MiB/s at the largest size."
    title = f"Bulk transfer over the size of a write: {timed.works[0].suite}"
    return picture(timed, title, f"{plotted} {frame.repeats(timed)}", painted)


def latency(timed: Timed) -> Figure:
    def painted(axes: Axes, works: list[Work], part: str) -> list[Curve]:
        axes.set_ylabel("time of one handshake", fontsize=8.5)
        axes.set_xlabel("of handshakes took no longer", fontsize=8.5)
        return panels.distribution(axes, timed, timed.stacks, works[0], part)

    plotted = (
        "All steps of the one role in one handshake; all intervals of all threads and repeats together, to the longest."
    )
    title = f"How long a handshake takes: {handshake_kinds.base(timed.works[0].suite)}"
    return picture(timed, title, plotted, painted)


def picture(timed: Timed, title: str, plotted: str, painted: Painter) -> Figure:
    """A row for each part, a column for each kind of handshake; of one kind the parts beside each other."""
    works = {
        end: [one for one in timed.works if handshake_kinds.ending(one.suite) == end] for end in handshake_kinds.KINDS
    }
    ends, parts = [end for end, some in works.items() if some], PARTS[timed.works[0].scenario]
    shape = (1, 2) if len(ends) == 1 else (2, len(ends))
    high = max(7.2, AROUND + shape[0] * (0.7 + curves.inches(timed.stacks)))
    made, grid = pyplot.subplots(*shape, figsize=(12.8, high), layout="constrained", squeeze=False)
    drawn = []
    for axes, (part, end) in zip(grid.flat, [(part, end) for part in parts for end in ends], strict=True):
        found = painted(axes, works[end], part)
        axes.set_title(heading(part, end, works[end][0]), fontsize=10, weight="bold")
        axes.label_outer(remove_inner_ticks=False)
        drawn.append((axes, found, curves.draw(axes, found)))
    one_scale([axes for axes, found, _ in drawn if found])
    frame.framed(made, title, [], timed, plotted, frame.holes(timed, "curve"))
    frame.subtitled(made, timed)
    for axes, found, names in drawn:
        curves.spread(axes, found, names)
    return made


def heading(part: str, end: str, work: Work) -> str:
    return f"{part}, {handshake_kinds.KINDS[end]}" if work.scenario == "handshake" else HEADINGS[part]


def one_scale(drawn: Sequence[Axes]) -> None:
    limits = [axes.get_ylim() for axes in drawn]
    for axes in drawn:
        axes.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))
