"""A picture of sessions that come and go: RSS and live heap over waves, a line for each allocator."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from tlsmem.config.libraries import library_name, stack_title
from tlsmem.plots.frame import GREY, INK, add_frame, describe_records, points
from tlsmem.plots.line_labels import HALO
from tlsmem.stats.churn import Churn, skipped_waves
from tlsmem.stats.missing import Missing
from tlsmem.stats.session_cost import MIB

ROLE, PATTERN = "server", "lifetimes"
NAMES = {"system": "glibc"}
COLOURS = {  # one arena of glibc differs too little from several to be seen
    "system": "#b03a2e",
    "jemalloc": "#7d3c98",
    "mimalloc": "#1e8449",
    "tcmalloc": "#2471a3",
}
LIVE = "live heap"


def name_allocator(one: Churn) -> str:
    """Return the allocator as a legend has it."""
    return NAMES.get(one.allocator, one.allocator)


def select_lines(found: Sequence[Churn]) -> list[Churn]:
    """Return what the picture shows: the server's process, all handshakes at once, nothing trimmed."""
    return [
        one
        for one in found
        if (one.role, one.pattern, dict(one.settings)["trim"], one.record.window) == (ROLE, PATTERN, "off", "all")
        and not isinstance(one.rss_after("open"), Missing)
        and one.allocator in COLOURS
    ]


def compare_alike(lines: Sequence[Churn]) -> list[Churn]:
    """Return those under settings that several allocators have."""
    settings = {one.settings for one in lines if one.allocator != "system"}
    return [one for one in lines if one.settings in settings]


def last_rss(one: Churn) -> int:
    """Return RSS in the last wave; 0 where it is not known."""
    values = one.rss_after("open")
    return 0 if isinstance(values, Missing) else values[-1]


def compare_allocators(lines: Sequence[Churn]) -> str:
    """Return which allocator takes least in the last wave, with room for a verb, and how much more the worst takes."""
    least, most = min(lines, key=last_rss), max(lines, key=last_rss)
    more = 100 * (last_rss(most) / last_rss(least) - 1)
    return (
        f"{library_name(least.stack)} {{}}on {name_allocator(least)} "
        f"(+{more:.0f}\N{NO-BREAK SPACE}% on {name_allocator(most)})"
    )


def describe_finding(lines: Sequence[Churn]) -> str:
    """Return the title: what each stack is smallest on after so many waves."""
    stacks = dict.fromkeys(one.stack for one in lines)
    said = [compare_allocators([one for one in lines if one.stack == stack]) for stack in stacks]
    first, *others = said
    words = ", ".join([first.format("is smallest "), *(one.format("") for one in others)])
    return f"RSS after {dict(lines[0].settings)['waves']} equal waves: {words}"


def draw_panel(axes: Axes, lines: Sequence[Churn]) -> None:
    """Draw one stack: RSS of each allocator when all sessions of a wave are open, and their live heap."""
    highest, waves = 0.0, int(dict(lines[0].settings)["waves"])
    for one in lines:
        values = one.rss_after("open")
        assert not isinstance(values, Missing)
        heights = [value / MIB for value in values]
        axes.plot(range(1, waves + 1), heights, color=COLOURS[one.allocator], zorder=3)
        highest = max(highest, *heights)
    live = next((found for one in lines if not isinstance(found := one.heap_after("open"), Missing)), None)
    if live:
        axes.plot(range(1, waves + 1), [value / MIB for value in live], "--", color=INK, zorder=2)
    axes.axvspan(1, skipped_waves(waves), color="#f0f0f0", zorder=0, linewidth=0)
    axes.set(xlim=(1, waves), ylim=(0, 1.15 * highest), xlabel="wave")
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.set_title(stack_title(lines[0].stack), loc="left", fontsize=points(1), color=INK)
    axes.text(
        1 + 0.01 * waves,
        0.02 * highest,
        "not in the verdict",
        color=GREY,
        fontsize=points(0.75),
        path_effects=HALO,
    )


def draw(made: Figure, panels: Sequence[Axes], found: Sequence[Churn]) -> None:
    """Draw the picture into a figure, a panel for each stack. Raises ValueError where there is nothing to draw."""
    lines = select_lines(found)
    stacks = list(dict.fromkeys(one.stack for one in lines))
    if not stacks:
        raise ValueError("no server's process was measured over waves (tools/measure.py churn-lifetimes)")
    for axes, stack in zip(panels, stacks, strict=False):
        draw_panel(axes, [one for one in lines if one.stack == stack])
    panels[0].set_ylabel("MiB")
    allocators = list(dict.fromkeys((one.allocator, name_allocator(one)) for one in lines))
    handles = [Line2D([], [], color=COLOURS[allocator], label=name) for allocator, name in allocators]
    handles.append(Line2D([], [], color=INK, linestyle="--", label=LIVE))
    pairs, threads = lines[0].pairs, dict(lines[0].settings)["threads"]
    subtitle = f"RSS of a server's process with {pairs} sessions open. A random quarter of them ends with each wave."
    caption = f"{threads} threads; RSS and live heap beyond those before the first wave. "
    add_frame(
        made, describe_finding(lines), subtitle, caption + describe_records([one.record for one in lines]), handles
    )
