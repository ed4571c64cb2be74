"""One panel of the picture over releases: what is established as a line, its peak as a stem above each release."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from matplotlib.axes import Axes

from tlsmem.config.releases import version
from tlsmem.plots.bucket_panel import INK
from tlsmem.plots.line_labels import HALO
from tlsmem.plots.memory_panels import MarkerStyle
from tlsmem.schema.harness_output import Role
from tlsmem.stats.missing import Missing
from tlsmem.stats.runtime_heap import LiveFigure, bytes_per_session
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Setting
from tlsmem.stats.session_cost import KIB
from tlsmem.tables.stacks import StackRow

SHIFT = 0.14  # between lines, so that no stem hides another
GAP = 0.065  # of the scale: the height of a line of text


@dataclass(frozen=True)
class ReleaseCurve:
    """One suite over the releases of a library, KiB per session; None where a release has not the suite."""

    name: str
    look: MarkerStyle
    established: list[float | None]
    peaks: list[float | None]

    def highest(self) -> float:
        return max((size for size in (*self.peaks, *self.established) if size is not None), default=0)

    def last(self) -> float | None:
        return next((size for size in reversed(self.established) if size is not None), None)


def release_curve(
    selection: Selection, setting: Setting, role: Role, stacks: Sequence[str], name: str, look: MarkerStyle
) -> ReleaseCurve:
    rows = [StackRow(selection.series(stack, setting, setting.processes[role]), role) for stack in stacks]
    return ReleaseCurve(name, look, [known_kib(row.established) for row in rows], [known_kib(row.peak) for row in rows])


def known_kib(figure: LiveFigure | Missing) -> float | None:
    return None if isinstance(figure, Missing) else bytes_per_session(figure) / KIB


def draw(axes: Axes, stacks: Sequence[str], lines: Sequence[ReleaseCurve], top: float, times: float) -> None:
    """`times` is how much larger its scale is than that of the panel with the smallest."""
    if times > 1.05:
        style = {"fontsize": 8.5, "style": "italic", "va": "top", "color": INK}
        axes.text(0.02, 0.985, f"magnified {times:.1f} times", transform=axes.transAxes, **style)
    for index, one in enumerate(lines):
        shift = SHIFT * (index - (len(lines) - 1) / 2)
        for at, low, high in zip(range(len(stacks)), one.established, one.peaks, strict=True):
            if low is not None and high is not None:
                axes.plot([at + shift] * 2, [low, high], color=one.look.colour, linewidth=1, alpha=0.75, zorder=2)
                axes.plot([at + shift], [high], "_", color=one.look.colour, markersize=8, markeredgewidth=1.4, zorder=2)
        runs = groupby(enumerate(one.established), key=lambda point: point[1] is not None)
        for points in [list(run) for there, run in runs if there]:
            style = {"color": one.look.colour, "markeredgecolor": INK, "markeredgewidth": 0.5, "markersize": 6}
            places = [at + shift for at, _ in points]
            axes.plot(places, [size for _, size in points], f"-{one.look.marker}", zorder=3, **style)
    named = [version(stack).replace("-", "\n-") for stack in stacks]  # a pre-release's is long
    axes.set_xticks(range(len(stacks)), named)
    axes.tick_params(axis="x", labelsize=8.5)
    axes.set_ylim(0, top)
    axes.set_xlim(-0.5, len(stacks) - 0.5)
    axes.grid(axis="x", visible=False)
    name_all(axes, lines, len(stacks) - 0.5, top)


def name_all(axes: Axes, lines: Sequence[ReleaseCurve], right: float, top: float) -> None:
    """Each line's name and last figure beside it, none over another."""
    ends = [(size, one) for one in lines for size in [one.last()] if size is not None]
    free = 0.0
    for size, one in sorted(ends, key=lambda end: end[0]):
        first, *more = one.name.split("\n")
        half = 0.5 * GAP * top * (1 + len(more))
        height = max(size, free + half)
        text = "\n".join([f"{first}  {size:.1f}", *more])
        style = {"va": "center", "ha": "left", "fontsize": 8.5, "linespacing": 1.15, "color": INK}
        mark = {"color": one.look.colour, "markeredgecolor": INK, "markeredgewidth": 0.5, "markersize": 5}
        axes.plot([right + 0.12], [height], one.look.marker, clip_on=False, **mark)
        axes.text(right + 0.3, height, text, path_effects=HALO, **style)
        free = height + half
