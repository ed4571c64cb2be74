"""The two kinds of panel of the memory figure: by sessions and by phase. Every stack has the hue of its library and a
marker of its own, so that the figure reads in grey."""

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from tlsmem.base.phase_names import READABLE_NAMES, order_key
from tlsmem.config.libraries import stack_title
from tlsmem.plots.frame import INK, Style
from tlsmem.plots.frame import points as font_points
from tlsmem.plots.line_labels import LineEnd
from tlsmem.plots.stack_colours import stack_colours
from tlsmem.stats import session_cost
from tlsmem.stats.series import Series
from tlsmem.stats.session_cost import KIB, MIB
from tlsmem.store.record import Phase, Record

MARKERS = "osD^vPX<>h*d"
SEEN = 0.04  # of the highest dot: a whisker that is shorter hides behind its dot
NOTES = 3  # failures spelt out in a panel
MANY, TICKS, FEW_TICKS = 50_000, 5, 3  # sessions whose numbers are long; steps of the axis


@dataclass(frozen=True)
class MarkerStyle:
    colour: str
    marker: str

    @property
    def dots(self) -> Style:
        """How matplotlib draws single values."""
        return {"color": self.colour, "markeredgecolor": INK, "markeredgewidth": 0.5}


def marker_styles(stacks: Sequence[str]) -> dict[str, MarkerStyle]:
    """Return the style of each stack of a picture."""
    colours = stack_colours(stacks)
    return {stack: MarkerStyle(colours[stack], MARKERS[at % len(MARKERS)]) for at, stack in enumerate(stacks)}


def looks(stacks: list[Series], owners: Sequence[str]) -> list[MarkerStyle]:
    """Of each line: that of the stack whose process it is; where this is one for several lines, the server's."""
    names = [series.owner for series in stacks]
    alike = len(set(names)) < len(names)
    styles = marker_styles(owners)
    return [styles[series.stack if alike else series.owner] for series in stacks]


def slope_text(series: Series, line: session_cost.Line | None) -> str:
    if not line:
        return f"{stack_title(series.owner)}\none N: no slope"
    exact = " (two points)" if line.is_quotient else ""
    return f"{stack_title(series.owner)}\n{line.slope / KIB:.1f} KiB per session{exact}"


def sessions_label(series: Series) -> str:
    """The sessions that its process holds."""
    if series.setting.roles == "together":
        return "sessions, of both roles"
    return f"{series.process if series.setting.roles == 'split' else next(iter(series.setting.processes))} sessions"


def draw_by_sessions(axes: Axes, stacks: list[Series], owners: Sequence[str]) -> list[LineEnd]:
    """Peak RSS of every run, and the line through them; returns where the lines end, for `ends.label`."""
    ends = []
    for series, look in zip(stacks, looks(stacks, owners), strict=True):
        runs = series.runs("rss")
        medians = session_cost.medians(series.full("rss"), session_cost.peak_rss)
        points = {sessions // series.share: peak for sessions, peak in medians.items()}
        line = session_cost.fit_line(points)
        counts = [run.sessions // series.share for run in runs]
        axes.plot(counts, [session_cost.peak_rss(run) / MIB for run in runs], look.marker, zorder=3, **look.dots)
        if line:
            axes.plot(
                [0, max(points)],
                [line.value_at(0) / MIB, line.value_at(max(points)) / MIB],
                color=look.colour,
                zorder=2,
            )
        if points:
            ends.append((max(points), points[max(points)] / MIB, slope_text(series, line)))
    axes.set_xlabel(sessions_label(stacks[0]))
    axes.set_ylabel("peak RSS, MiB")
    widest = max((sessions for sessions, *_ in ends), default=1)
    axes.xaxis.set_major_formatter(lambda sessions, _: f"{sessions:,.0f}")
    axes.xaxis.set_major_locator(MaxNLocator(TICKS if widest < MANY else FEW_TICKS, integer=True))
    axes.yaxis.set_major_formatter(lambda mebibytes, _: f"{mebibytes:,.0f}")
    axes.set_xlim(0, 1.04 * widest)
    explain_holes(axes, stacks)
    return ends


def explain_holes(axes: Axes, stacks: list[Series]) -> None:
    """Which runs are missing, and why."""
    lost = [
        f"{series.stack}, N = {record.sessions:,} ({record.meter}): {series.reason(record.meter, record.sessions)}"
        for series in stacks
        for record in series.records
        if record.status != "measured" and record.meter in ("rss", "heap")
    ]
    lost += [f"{series.stack}: not measured" for series in stacks if not series.records]
    if len(lost) > NOTES:
        lost[NOTES:] = [f"and {len(lost) - NOTES} more"]
    text = "\n".join(textwrap.fill(textwrap.shorten(one, 120), 34) for one in lost)
    axes.text(
        0.02, 0.97, text, transform=axes.transAxes, va="top", fontsize=font_points(0.8), color=INK, style="italic"
    )


def rss(phase: Phase) -> int:
    return phase.rss_bytes


def peak(phase: Phase) -> int:
    return phase.peak_rss_bytes


def live(phase: Phase) -> int:
    return session_cost.heap_of(phase, "total").live_bytes


def choose_sessions(series: Series) -> int | None:
    """Return the N of a line by phase: the largest that has RSS and live heap, or else RSS; None without RSS."""
    resident_at, metered_at = ({run.sessions for run in series.runs(meter)} for meter in ("rss", "heap"))
    return max(resident_at & metered_at or resident_at, default=None)


def resident(series: Series, sessions: int | None) -> tuple[dict[str, float], dict[str, float]]:
    """By phase: at its end, and the peak inside. Of this N, or of the one that `choose_sessions` chooses (None)."""
    runs = series.runs("rss", sessions or choose_sessions(series))
    return shape(runs, rss, series.share), shape(runs, peak, series.share)


def highest_rss(stacks: list[Series], sessions: int | None) -> float:
    found = [size for series in stacks for sizes in resident(series, sessions) for size in sizes.values()]
    return max(found, default=0)


def draw_by_phase(
    axes: Axes, stacks: list[Series], owners: Sequence[str], sessions: int | None, highest: float
) -> set[str]:
    """RSS at each phase's end, a whisker to its peak inside, and live heap at the same N, in KiB per session beyond
    `contexts`.

    Returns which of `peak` and `heap` were drawn; `highest` is of all panels."""
    shapes = [resident(series, sessions) for series in stacks]
    metered = [series.runs("heap", sessions or choose_sessions(series)) for series in stacks]
    heaps = [shape(runs, live, series.share) for runs, series in zip(metered, stacks, strict=True)]
    least = SEEN * highest
    phases = sorted(
        dict.fromkeys(name for found in [*(ends for ends, _ in shapes), *heaps] for name in found), key=order_key
    )
    for index, ((ends, peaks), heap, look) in enumerate(zip(shapes, heaps, looks(stacks, owners), strict=True)):
        shift = 0.12 * (index - (len(stacks) - 1) / 2)
        at = {name: number + shift for number, name in enumerate(phases)}
        for name in beyond(ends, peaks, least):
            axes.plot([at[name]] * 2, [ends[name], peaks[name]], "-_", color=look.colour, linewidth=1, markersize=9)
        filled: Style = {"markersize": 5, "zorder": 3} | look.dots
        axes.plot([at[name] for name in ends], list(ends.values()), f"-{look.marker}", **filled)
        hollow: Style = {"markersize": 4, "zorder": 2, "color": look.colour, "markerfacecolor": "white"}
        axes.plot([at[name] for name in heap], list(heap.values()), f"--{look.marker}", **hollow)
    names = [READABLE_NAMES.get(name, name) for name in phases]
    axes.set_xticks(
        range(len(phases)), names, rotation=40, ha="right", rotation_mode="anchor", fontsize=font_points(0.85)
    )
    axes.set_xlabel("end of phase")
    axes.set_ylabel("KiB per session")
    drawn = {"peak"} if any(beyond(ends, peaks, least) for ends, peaks in shapes) else set()
    return drawn | ({"heap"} if any(heaps) else set())


def beyond(ends: dict[str, float], peaks: dict[str, float], least: float) -> list[str]:
    """Phases whose peak is above where they began and where they ended, by more than `least`."""
    began = [0.0, *ends.values()]
    return [name for name, start in zip(ends, began, strict=False) if peaks[name] - max(start, ends[name]) > least]


def shape(runs: list[Record], quantity: Callable[[Phase], int], share: int) -> dict[str, float]:
    """KiB per session in the process, one in `share` of the run's, by phase."""
    found = session_cost.above_contexts(runs, quantity, rss if quantity is peak else quantity)
    return {phase: share * size / KIB for phase, size in found.items()}
