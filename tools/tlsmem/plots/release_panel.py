"""One panel of the picture over releases: what an established session keeps, a line for each suite."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from matplotlib.axes import Axes

from tlsmem.config.releases import version
from tlsmem.plots.frame import INK, points
from tlsmem.plots.memory_panels import MarkerStyle
from tlsmem.schema.harness_output import Role
from tlsmem.stats.missing import map_present, replace_missing
from tlsmem.stats.runtime_heap import bytes_per_session
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Setting
from tlsmem.tables.stacks import StackRow

SHIFT = 0.1  # between lines, so that no marker hides another
GAP = 0.065  # of the scale: the height of a line of text


@dataclass(frozen=True)
class ReleaseCurve:
    """One suite over the releases of a library, bytes of a session; None where a release has not the suite."""

    name: str
    look: MarkerStyle
    dash: str
    established: list[float | None]

    def highest(self) -> float:
        """Return the most bytes of any release."""
        return max((size for size in self.established if size is not None), default=0)

    def ends(self) -> tuple[int, int] | None:
        """Return the places of the oldest and the newest release with this suite; None where there are not two."""
        known = [at for at, size in enumerate(self.established) if size]
        return (known[0], known[-1]) if len(known) > 1 else None

    def change(self) -> float:
        """Return by which share of the oldest release's bytes the newest one keeps more; 0 where there are not two."""
        ends = self.ends()
        sizes = [self.established[at] or 0.0 for at in ends] if ends else []
        return sizes[1] / sizes[0] - 1 if sizes else 0.0

    def last(self) -> float | None:
        """Return the bytes of the newest release with this suite."""
        return next((size for size in reversed(self.established) if size is not None), None)


def find_established(selection: Selection, setting: Setting, role: Role, stacks: Sequence[str]) -> list[float | None]:
    """Return the bytes that a session of each release keeps in a setting; None where that is not known."""
    rows = [StackRow(selection.series(stack, setting, setting.processes[role]), role) for stack in stacks]
    return [replace_missing(map_present(bytes_per_session, row.established), None) for row in rows]


def draw(axes: Axes, stacks: Sequence[str], lines: Sequence[ReleaseCurve], top: float, times: float) -> None:
    """Draw the lines; `times` is how much larger this scale is than that of the panel with the smallest."""
    if times > 1.05:
        style: dict = {"fontsize": points(0.9), "style": "italic", "va": "bottom", "color": INK}
        axes.text(0.03, 0.03, f"magnified {times:.1f} times", transform=axes.transAxes, **style)
    for index, one in enumerate(lines):
        shift = SHIFT * (index - (len(lines) - 1) / 2)
        runs = groupby(enumerate(one.established), key=lambda point: point[1] is not None)
        for found in [list(run) for there, run in runs if there]:
            dots: dict = {"color": one.look.colour, "markeredgecolor": INK, "markeredgewidth": 0.5, "markersize": 7}
            dots |= {"marker": one.look.marker, "linestyle": one.dash}
            axes.plot([at + shift for at, _ in found], [size for _, size in found], **dots)
    named = [version(stack).replace("-", "\n-") for stack in stacks]  # a pre-release's is long
    axes.set_xticks(range(len(stacks)), named, rotation=40, ha="right", rotation_mode="anchor")
    axes.tick_params(labelsize=points(0.9))
    axes.yaxis.set_major_formatter(lambda size, _: f"{size:,.0f}")
    axes.set_ylim(0, top)
    axes.set_xlim(-0.5, len(stacks) - 0.7)
    axes.grid(axis="x", visible=False)
    write_last(axes, lines, len(stacks) - 0.6, top)


def write_last(axes: Axes, lines: Sequence[ReleaseCurve], right: float, top: float) -> None:
    """Write the newest release's bytes beside each line, none over another."""
    free = 0.0
    for size in sorted(size for one in lines for size in [one.last()] if size is not None):
        height = max(size, free + 0.5 * GAP * top)
        style: dict = {"va": "center", "fontsize": points(0.9), "color": INK, "weight": "bold"}
        axes.text(right, height, f"{size:,.0f} B", **style)
        free = height + 0.5 * GAP * top
