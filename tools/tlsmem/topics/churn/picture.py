"""A picture of sessions that come and go: RSS and live heap over waves, a line for each allocator."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from tlsmem.config.libraries import stack_title
from tlsmem.plots.frame import GREY, INK, add_frame, describe_records, points
from tlsmem.plots.line_labels import HALO, place_labels
from tlsmem.plots.memory_panels import MarkerStyle
from tlsmem.slides.slide import create_slide, describe_absent
from tlsmem.stats.missing import Missing, keep_present, map_present, replace_missing
from tlsmem.stats.session_cost import MIB
from tlsmem.store import recordings
from tlsmem.topics.churn.waves import SCENARIO, Churn, find_churn, skipped_waves

ROLE, PATTERN = "server", "lifetimes"
NAMES = {"system": "glibc"}
STYLES = {  # one arena of glibc differs too little from several to be seen
    "system": MarkerStyle("#D55E00", "o"),
    "jemalloc": MarkerStyle("#CC79A7", "D"),
    "mimalloc": MarkerStyle("#009E73", "s"),
    "tcmalloc": MarkerStyle("#0072B2", "^"),
}
MARKS, APART = 8, 0.05  # markers of a line; of the scale, from text to text
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
        and one.allocator in STYLES
    ]


def compare_alike(lines: Sequence[Churn]) -> list[Churn]:
    """Return those under settings that several allocators have."""
    settings = {one.settings for one in lines if one.allocator != "system"}
    return [one for one in lines if one.settings in settings]


def last_rss(one: Churn) -> int:
    """Return RSS in the last wave; 0 where it is not known."""
    return replace_missing(map_present(lambda values: values[-1], one.rss_after("open")), 0)


def compare_allocators(lines: Sequence[Churn]) -> str:
    """Return which allocator takes least in the last wave, with room for a verb, and how much more the worst takes."""
    least, most = min(lines, key=last_rss), max(lines, key=last_rss)
    more = 100 * (last_rss(most) / last_rss(least) - 1)
    return (
        f"{stack_title(least.stack)} {{}}on {name_allocator(least)} "
        f"(+{more:.0f}\N{NO-BREAK SPACE}% on {name_allocator(most)})"
    )


def describe_finding(lines: Sequence[Churn]) -> str:
    """Return the title: what each stack is smallest on after so many waves."""
    stacks = dict.fromkeys(one.stack for one in lines)
    said = [compare_allocators([one for one in lines if one.stack == stack]) for stack in stacks]
    first, *others = said
    words = ", ".join([first.format("is smallest "), *(one.format("") for one in others)])
    return f"RSS after {dict(lines[0].settings)['waves']} equal waves: {words}"


def highest_rss(lines: Sequence[Churn]) -> float:
    """Return the highest RSS of any line, in MiB."""
    return max(map(max, keep_present(one.rss_after("open") for one in lines))) / MIB


def draw_panel(axes: Axes, lines: Sequence[Churn], top: float) -> None:
    """Draw one stack: RSS of each allocator when all sessions of a wave are open, and their live heap."""
    waves = int(dict(lines[0].settings)["waves"])
    ends: list[tuple[float, str]] = []
    for at, one in enumerate(lines):
        values, style = one.rss_after("open"), STYLES[one.allocator]
        assert not isinstance(values, Missing)
        heights = [value / MIB for value in values]
        marks = range(at * waves // (MARKS * len(lines)), waves, max(1, waves // MARKS))
        dots: dict[str, Any] = {"marker": style.marker, "markevery": list(marks), "markersize": points(0.5)}
        axes.plot(range(1, waves + 1), heights, color=style.colour, zorder=3, **dots)
        ends.append((heights[-1], name_allocator(one)))
    live = next(iter(keep_present(one.heap_after("open") for one in lines)), None)
    if live:
        axes.plot(range(1, waves + 1), [value / MIB for value in live], "--", color=INK, zorder=2)
        ends.append((live[-1] / MIB, LIVE))
    axes.axvspan(1, skipped_waves(waves), color="#f0f0f0", zorder=0, linewidth=0)
    axes.set(xlim=(1, 1.4 * waves), ylim=(0, top), xlabel="wave")
    write_ends(axes, ends, 1.03 * waves)
    axes.set_xticks([tick for tick in MaxNLocator(4, integer=True).tick_values(0, waves) if 1 < tick <= waves])
    axes.set_title(stack_title(lines[0].stack), loc="left", fontsize=points(1), color=INK)
    axes.text(
        1 + 0.01 * waves,
        0.02 * top,
        "not in the verdict",
        color=GREY,
        fontsize=points(0.75),
        path_effects=HALO,
    )


def write_ends(axes: Axes, ends: Sequence[tuple[float, str]], place: float) -> None:
    """Write what each line is and where it ends, in MiB: none over another."""
    top = axes.get_ylim()[1]
    centres = place_labels([height for height, _ in ends], [APART * top] * len(ends), top)
    style: dict[str, Any] = {"va": "center", "fontsize": points(0.75), "color": INK, "path_effects": HALO}
    for (height, name), centre in zip(ends, centres, strict=True):
        axes.text(place, centre, f"{name} {height:.1f}", **style)


def draw(made: Figure, panels: Sequence[Axes], found: Sequence[Churn], left_out: str = "") -> None:
    """Draw the picture into a figure, a panel for each stack, all on one scale; `left_out` begins its caption. Raises
    ValueError where there is nothing to draw."""
    lines = select_lines(found)
    stacks = list(dict.fromkeys(one.stack for one in lines))
    if not stacks:
        raise ValueError("no server's process was measured over waves (tools/tls-memtest measure churn-lifetimes)")
    top = 1.15 * highest_rss(lines)
    for axes, stack in zip(panels, stacks, strict=False):
        draw_panel(axes, [one for one in lines if one.stack == stack], top)
    panels[0].set_ylabel("MiB")
    allocators = dict.fromkeys((STYLES[one.allocator], name_allocator(one)) for one in lines)
    handles = [Line2D([], [], color=style.colour, marker=style.marker, label=name) for style, name in allocators]
    handles.append(Line2D([], [], color=INK, linestyle="--", label=LIVE))
    pairs, threads = lines[0].pairs, dict(lines[0].settings)["threads"]
    subtitle = f"RSS of a server's process with {pairs} sessions open. A random quarter of them ends with each wave."
    caption = f"{left_out}{threads} threads; RSS and live heap beyond those before the first wave. "
    add_frame(
        made, describe_finding(lines), subtitle, caption + describe_records([one.record for one in lines]), handles
    )


def find_newest(among: Sequence[Path]) -> list[Churn]:
    """Return the waves of the newest recording that has several allocators."""
    for recording in among:
        runs = recordings.load_runs(recording)
        lines = select_lines(find_churn(run for run in runs if run.scenario == SCENARIO))
        if len({one.allocator for one in lines}) > 1:
            return compare_alike(lines)
    raise ValueError("no recording has waves of several allocators (tools/tls-memtest measure churn-lifetimes)")


def draw_slide(among: Sequence[Path]) -> Figure:
    """Draw a panel for each stack."""
    lines = find_newest(among)
    made, panels = create_slide(*(1 for _ in dict.fromkeys(one.stack for one in lines)))
    absent = describe_absent(among, (one.stack for one in lines), otherwise="not recorded with several allocators")
    draw(made, panels, lines, absent)
    return made
