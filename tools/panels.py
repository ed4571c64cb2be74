"""The two kinds of panel of the memory figure: by sessions and by phase. Colours are Okabe and Ito's; every stack also
has a marker of its own, so that the figure reads in grey."""

import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from matplotlib import patheffects
from matplotlib.axes import Axes

import costs
from costs import KIB, MIB
from lines import Meter
from records import Phase, Record
from series import Series

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#000000", "#56B4E9", "#D55E00")
MARKERS = "osD^vPX"
INK = "#222222"
HALO = [patheffects.withStroke(linewidth=3, foreground="white")]
READABLE = {"sessions": "created", "payload": "1 KiB sent", "reply": "1 KiB back"}
NOTES = 3  # failures spelt out in a panel


@dataclass(frozen=True)
class Style:
    colour: str
    marker: str


def style(index: int) -> Style:
    return Style(COLOURS[index % len(COLOURS)], MARKERS[index % len(MARKERS)])


def slope_text(series: Series, line: costs.Line | None) -> str:
    if not line:
        return f"{series.owner}\none N: no slope"
    exact = " (two points)" if line.is_quotient else ""
    return f"{series.owner}\n{line.slope / KIB:.1f} KiB per session{exact}"


def counted(series: Series) -> str:
    """The sessions that its process holds."""
    if series.setting.roles == "together":
        return "sessions, clients and servers together"
    return f"{series.process if series.setting.roles == 'split' else next(iter(series.setting.processes))} sessions"


End = tuple[int, float, str]  # sessions, MiB, and what is said there


def by_sessions(axes: Axes, stacks: list[Series]) -> list[End]:
    """Peak RSS of every run, and the line through them; returns where the lines end, for `label`."""
    ends = []
    for index, series in enumerate(stacks):
        runs, look = series.runs("rss"), style(index)
        medians = costs.medians(series.full("rss"), costs.peak_rss)
        points = {sessions // series.share: peak for sessions, peak in medians.items()}
        line = costs.line(points)
        dots = {"color": look.colour, "markeredgecolor": INK, "markeredgewidth": 0.5, "zorder": 3}
        counts = [run.sessions // series.share for run in runs]
        axes.plot(counts, [costs.peak_rss(run) / MIB for run in runs], look.marker, **dots)
        if line:
            axes.plot([0, max(points)], [line.at(0) / MIB, line.at(max(points)) / MIB], color=look.colour, zorder=2)
        if points:
            ends.append((max(points), points[max(points)] / MIB, slope_text(series, line)))
    axes.set_xlabel(counted(stacks[0]))
    axes.set_ylabel("peak RSS, MiB")
    axes.xaxis.set_major_formatter(lambda sessions, _: f"{sessions:,.0f}")
    axes.set_xlim(0, 1.04 * max((sessions for sessions, *_ in ends), default=1))
    explain_holes(axes, stacks)
    return ends


def top(ends: list[End]) -> float:
    """Of an axis with room for the texts, which are pushed up where lines end close to each other."""
    heights = sorted(mebibytes for _, mebibytes, _ in ends) or [1.0]
    close = any(high - low < 0.2 * heights[-1] for low, high in pairwise(heights))
    return heights[-1] * (1.6 if close else 1.35)


def label(axes: Axes, ends: list[End]) -> None:
    """Each text at its line's end and above the text below it; the axis has its limits by now.

    Up to two stand above the ends with the stack's name; more stand beside them, where no line goes."""
    crowded = len(ends) > 2
    height, free = axes.get_ylim()[1], 0.0
    style = {"va": "bottom", "color": INK, "path_effects": HALO, "zorder": 4, "linespacing": 1.1}
    style |= {"fontsize": 8, "ha": "left"} if crowded else {"fontsize": 8.5, "ha": "right"}
    for sessions, mebibytes, text in sorted(ends, key=lambda end: end[1]):
        bottom = max(mebibytes + (-0.03 if crowded else 0.03) * height, free)
        place = 0.03 * axes.get_xlim()[1] if crowded else 0
        axes.text(sessions + place, bottom, text.split("\n")[-1] if crowded else text, **style)
        free = bottom + (0.075 if crowded else 0.15) * height
    if crowded:
        widest = max(sessions for sessions, *_ in ends)
        axes.set_xticks([tick for tick in axes.get_xticks() if tick <= widest])
        axes.set_xlim(0, 1.52 * widest)


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
    axes.text(0.02, 0.97, text, transform=axes.transAxes, va="top", fontsize=7, color=INK, style="italic")


def rss(phase: Phase) -> int:
    return phase.rss_bytes


def peak(phase: Phase) -> int:
    return phase.peak_rss_bytes


def live(phase: Phase) -> int:
    return phase.heap.total.live_bytes


def place(phase: str) -> tuple:
    """Steps go between `sessions` and `established`: client 1, server 1, client 2, ..."""
    role, _, step = phase.partition(" ")
    return (1, int(step), role) if step else (0 if phase == "sessions" else 2,)


def by_phase(axes: Axes, stacks: list[Series], sessions: int | None) -> bool:
    """RSS at each phase's end, a whisker to its peak inside, live heap; KiB per session beyond `contexts`.

    Of this N, or of the largest (None). Returns whether there is a whisker."""
    chosen = [series.runs("rss", sessions) if sessions else largest(series, "rss") for series in stacks]
    shares = [series.share for series in stacks]
    shapes = [(shape(runs, rss, by), shape(runs, peak, by)) for runs, by in zip(chosen, shares, strict=True)]
    heaps = [shape(largest(series, "heap"), live, series.share) for series in stacks]
    phases = sorted(
        dict.fromkeys(name for found in [*(ends for ends, _ in shapes), *heaps] for name in found), key=place
    )
    for index, ((ends, peaks), heap) in enumerate(zip(shapes, heaps, strict=True)):
        look, shift = style(index), 0.12 * (index - (len(stacks) - 1) / 2)
        at = {name: number + shift for number, name in enumerate(phases)}
        for name in beyond(ends, peaks):
            axes.plot([at[name]] * 2, [ends[name], peaks[name]], "-_", color=look.colour, linewidth=1)
        filled = {"color": look.colour, "markeredgecolor": INK, "markeredgewidth": 0.5}
        axes.plot([at[name] for name in ends], list(ends.values()), f"-{look.marker}", markersize=5, zorder=3, **filled)
        hollow = {"color": look.colour, "markerfacecolor": "white"}
        axes.plot(
            [at[name] for name in heap], list(heap.values()), f"--{look.marker}", markersize=4, zorder=2, **hollow
        )
    names = [READABLE.get(name, name) for name in phases]
    axes.set_xticks(range(len(phases)), names, rotation=40, ha="right", rotation_mode="anchor", fontsize=8)
    axes.set_xlabel("end of phase")
    axes.set_ylabel("KiB per session above contexts")
    return any(beyond(ends, peaks) for ends, peaks in shapes)


def beyond(ends: dict[str, float], peaks: dict[str, float]) -> list[str]:
    """Phases whose peak is above where they began and where they ended, by more than the eye can miss."""
    began = [0.0, *ends.values()]
    return [name for name, start in zip(ends, began, strict=False) if peaks[name] > 1.02 * max(start, ends[name])]


def shape(runs: list[Record], quantity: Callable[[Phase], int], share: int) -> dict[str, float]:
    """KiB per session in the process, one in `share` of the run's, by phase."""
    found = costs.above_contexts(runs, quantity, rss if quantity is peak else quantity)
    return {phase: share * size / KIB for phase, size in found.items()}


def largest(series: Series, meter: Meter) -> list[Record]:
    """The runs at the largest N, all repeats."""
    runs = series.runs(meter)
    return [run for run in runs if run.sessions == runs[-1].sessions]
