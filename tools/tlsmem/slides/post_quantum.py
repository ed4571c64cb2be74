"""Slide 4: what a post-quantum key exchange costs: memory that a session keeps, and handshakes a second."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tlsmem.config import definitions
from tlsmem.config.libraries import libraries, library_key, library_name, stack_title
from tlsmem.config.releases import group_by_library, is_stable, newest_of_each_build, version
from tlsmem.plots.frame import add_frame, list_rows, points, write_beside
from tlsmem.plots.left_out import find_refusals
from tlsmem.plots.memory_panels import MarkerStyle
from tlsmem.plots.ratio_dots import draw_dot
from tlsmem.plots.stack_colours import library_colour
from tlsmem.slides.slide import SUITE, create_slide, describe_absent
from tlsmem.stats import timed_selection
from tlsmem.stats.configured_stack import AT_REST
from tlsmem.stats.missing import Missing
from tlsmem.stats.runtime_heap import bytes_per_session, heap_of_role
from tlsmem.stats.selection import select
from tlsmem.stats.series import Setting
from tlsmem.stats.timed_rates import per_second
from tlsmem.stats.timed_selection import Work
from tlsmem.stats.timed_summary import Ratio, sample_from_runs
from tlsmem.store import recordings
from tlsmem.store.record import Record
from tlsmem.tables.settings import dates

CLASSIC, POST_QUANTUM = SUITE, f"{SUITE}-pq"
MARKERS = {"client": "o", "server": "s"}


class Kept(NamedTuple):
    """What an established server session of a stack keeps, in bytes, with each key exchange."""

    stack: str
    classic: float
    post_quantum: float
    records: tuple[Record, ...]

    @property
    def more(self) -> float:
        """What it keeps more with the post-quantum one."""
        return self.post_quantum - self.classic


def is_plain(setting: Setting) -> bool:
    """Return whether runs are of servers by themselves, with the usual allocator and no data of their own."""
    usual = (setting.roles, setting.allocator, setting.env, setting.cpu, setting.peer)
    return usual == ("split", "system", "lab", "all", None)


def find_kept(stack: str, recording: Path) -> Kept | None:
    """Return what a recording says of a stack; None where it has not both key exchanges."""
    runs = [run for run in recordings.load_stack(recording, stack) if run.suite in (CLASSIC, POST_QUANTUM)]
    runs = [run for run in runs if run.scenario == "memory" and run.status == "measured"]
    if not runs:
        return None
    selection = select(runs, [stack]).where(is_plain)
    sizes = {}
    for setting in selection.settings:
        figure = heap_of_role(selection.series(stack, setting, setting.processes["server"]), "server").live(AT_REST)
        if not isinstance(figure, Missing):
            sizes[setting.suite] = bytes_per_session(figure)
    found = len(sizes) == 2
    return Kept(stack, sizes[CLASSIC], sizes[POST_QUANTUM], selection.records) if found else None


def find_memory(among: Sequence[Path]) -> list[Kept]:
    """Return the newest measured release of each library, in the first recording that has one; the most kept last."""
    for recording in among:
        found = [kept for stack in recordings.stacks(recording) if (kept := find_kept(stack, recording))]
        released = [kept for kept in found if is_stable(kept.stack)]
        groups = group_by_library(kept.stack for kept in released)
        newest = {library_key(name): (libraries()[library_key(name)].build, name) for name in groups}
        chosen = {groups[build if build in groups else name][-1] for build, name in newest.values()}
        if len(chosen) > 1:
            return sorted((kept for kept in released if kept.stack in chosen), key=lambda kept: kept.more)
    raise ValueError(f"no recording has servers in {CLASSIC} and {POST_QUANTUM} (tools/tls-memtest measure stacks)")


def is_usual(work: Work) -> bool:
    """Return whether runs are with the usual allocator on the whole CPU."""
    return (work.allocator, work.cpu) == ("system", "all")


class Rates(NamedTuple):
    """A stack's handshakes a second, as ratios of the post-quantum key exchange to the classic one, by role."""

    stack: str
    ratios: dict[str, Ratio]
    records: tuple[Record, ...]


def find_rates(among: Sequence[Path]) -> list[Rates]:
    """Return the newest release of each library in the first recording with timed handshakes of both."""
    for recording in among:
        stacks = newest_of_each_build(recordings.stacks(recording))
        found = [rates for stack in sorted(stacks) if (rates := stack_rates(stack, recording))]
        newest = {library_key(rates.stack): rates for rates in found}
        if newest:
            return sorted(newest.values(), key=lambda rates: rates.ratios["client"].value)
    raise ValueError(
        f"no recording has handshakes in {CLASSIC} and {POST_QUANTUM} (tools/tls-memtest measure handshake)"
    )


def stack_rates(stack: str, recording: Path) -> Rates | None:
    """Return the ratios of a stack; None where it was not measured in both suites."""
    runs = [run for run in recordings.load_stack(recording, stack) if run.scenario == "handshake"]
    runs = [run for run in runs if run.suite in (CLASSIC, POST_QUANTUM) and run.status == "measured"]
    if len({run.suite for run in runs}) < 2:
        return None
    timed = timed_selection.select(runs).select_scenario("handshake").where(is_usual)
    series = {one.work.suite: one.runs() for one in timed.every()}
    if len(series) < 2:
        return None
    ratios = {}
    for role in MARKERS:
        before, after = (sample_from_runs(series[suite], per_second(role)) for suite in (CLASSIC, POST_QUANTUM))
        if before and after:
            ratios[role] = Ratio(before, after)
    return Rates(stack, ratios, timed.records) if len(ratios) == len(MARKERS) else None


def draw_memory(axes: Axes, found: Sequence[Kept]) -> None:
    """Draw what a session keeps more, as bars."""
    most = max(kept.more for kept in found)
    for at, kept in enumerate(found):
        axes.barh(at, kept.more, height=0.62, color=library_colour(kept.stack), zorder=2)
        write_beside(axes, kept.more, at, f"+{kept.more:,.0f} B" if kept.more else "0 B", bold=True)
    list_rows(axes, [stack_title(kept.stack) for kept in found])
    axes.set_xlim(0, 1.55 * most)
    axes.set_title("kept by a server session", fontsize=points(1), weight="bold", loc="left")


def draw_rates(axes: Axes, found: Sequence[Rates]) -> None:
    """Draw the rate of handshakes that remains, as dots with intervals: clients above servers."""
    rows = [(rates, role) for rates in found for role in MARKERS]
    for at, (rates, role) in enumerate(rows):
        ratio = rates.ratios[role]
        draw_dot(axes, ratio, at, MarkerStyle(library_colour(rates.stack), MARKERS[role]))
        write_beside(axes, 1, at, f"{ratio.value:.0%}", bold=True)
    list_rows(axes, [f"{library_name(rates.stack)} {version(rates.stack)} {role}" for rates, role in rows])
    axes.axvline(1, color="#555555", linewidth=1.5, zorder=1)
    axes.xaxis.set_visible(True)
    axes.spines["bottom"].set_visible(True)
    axes.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.set_title("handshakes/s that remain", fontsize=points(1), weight="bold", loc="right")
    ratios = [ratio for rates, role in rows for ratio in [rates.ratios[role]]]
    lowest = 0.95 * min(ratio.interval.low if ratio.interval else ratio.value for ratio in ratios)
    axes.set_xlim(lowest, 1 + 0.4 * (1 - lowest))
    axes.set_xticks([tick / 5 for tick in range(6) if lowest <= tick / 5])


def describe_origins(kept: Sequence[Kept], rates: Sequence[Rates], among: Sequence[Path]) -> str:
    """Return the caption: which libraries have no bar or no dots and why, and the days."""
    refusals = find_refusals(run for path in among for run in recordings.load_runs(path) if run.suite == POST_QUANTUM)
    absent = describe_absent(among, (one.stack for one in kept), refusals)
    timed = f"Timed: {', '.join(library_name(one.stack) for one in rates)} only. "
    runs = [run for records in (*(one.records for one in kept), *(one.records for one in rates)) for run in records]
    return f"{absent}{timed}{runs[0].machine.cpu}, {runs[0].machine.cpus} CPUs. Recorded {dates(runs)}."


def describe_finding(most: Kept, slowest: Rates) -> str:
    """Return the title: the memory of the session that grows most, and the rate of the clients that slow down most."""
    group = definitions.suites()[POST_QUANTUM].group
    share = slowest.ratios["client"].value
    clients = "its clients" if slowest.stack == most.stack else f"{stack_title(slowest.stack)} clients"
    keep = f"sessions of {stack_title(most.stack)} keep {most.more:,.0f} B more"
    return f"{group}: {keep}, {clients} do {share:.0%} as many handshakes"


def draw(among: Sequence[Path]) -> Figure:
    """Draw memory on the left and rates on the right."""
    kept, rates = find_memory(among), find_rates(among)
    made, (left, right) = create_slide(1, 1)
    draw_memory(left, kept)
    draw_rates(right, rates)
    groups = [definitions.suites()[suite].group for suite in (POST_QUANTUM, CLASSIC)]
    subtitle = f"{groups[0]} compared with {groups[1]}, TLS 1.3. Memory: live heap, exact. Rates: 95% intervals."
    add_frame(made, describe_finding(kept[-1], rates[0]), subtitle, describe_origins(kept, rates, among))
    return made
