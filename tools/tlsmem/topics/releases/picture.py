"""The picture of libraries release by release: what an established session keeps."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tlsmem.base.errors import Usage
from tlsmem.config import releases
from tlsmem.config.choices import LEAST_RELEASES, MOST_SUITES
from tlsmem.config.libraries import library_title, stack_title
from tlsmem.config.releases import version
from tlsmem.config.suite_title import suite_title
from tlsmem.plots import plot_command
from tlsmem.plots.frame import INK, add_frame, describe_records, points
from tlsmem.plots.memory_panels import MARKERS, MarkerStyle
from tlsmem.plots.picture import PAGE_INCHES, save
from tlsmem.plots.stack_colours import library_colour
from tlsmem.schema.harness_output import Role
from tlsmem.stats.missing import map_present, replace_missing
from tlsmem.stats.runtime_heap import bytes_per_session
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Setting
from tlsmem.tables.stacks import StackRow


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


SHIFT = 0.1  # between lines, so that no marker hides another
GAP = 0.065  # of the scale: the height of a line of text
GROUPS = {"X25519MLKEM768": "post-quantum"}  # names for those who do not know the group's
PARTS = 4  # of a suite's title: protocol, cipher, group and certificate
DASHES = ("-", "--", ":", "-.")
INCHES = 4.6
NAMES = 1.8  # releases that would have room where figures stand
MESSAGES = 2  # of a title

Curves = Mapping[str, Sequence[ReleaseCurve]]  # by library


def names(selection: Selection) -> dict[Setting, str]:
    """Return the names of lines: the protocol; the cipher where lines differ in it; the group where it is not that of
    the first line. A suite that nobody knows keeps its name."""
    parts = {one: suite_title(one.suite).split(", ") for one in selection.settings}
    known = [found for found in parts.values() if len(found) == PARTS]
    several = len({cipher for _, cipher, _, _ in known}) > 1
    found = {}
    for one, words in parts.items():
        if len(words) == PARTS:
            protocol, cipher, group, _ = words
            named = [cipher] * several + [GROUPS.get(group, group)] * (group != known[0][2])
            words = [protocol, *named]
        found[one] = ", ".join(words)
    return found


def chosen(selection: Selection, asked: Sequence[str] | None) -> dict[str, list[str]]:
    """Libraries with their releases. Raises ValueError with a sentence when there is none to draw."""
    there = releases.group_by_library(selection.stacks)
    for name in asked or ():
        if name not in there:
            raise Usage(f"no release of {name} among these; there are: {', '.join(there) or 'none'}")
    found = (
        {name: there[name] for name in asked} if asked else releases.group_by_library(selection.stacks, LEAST_RELEASES)
    )
    if not found:
        raise ValueError(f"no library has {LEAST_RELEASES} releases here; --library names one with fewer")
    return found


def find_curves(selection: Selection, libraries: Mapping[str, Sequence[str]], role: Role) -> Curves:
    """Return the lines of each library, one for each suite."""
    named = names(selection)
    return {
        library: [
            ReleaseCurve(
                named[one],
                MarkerStyle(library_colour(stacks[0]), MARKERS[index]),
                DASHES[index % len(DASHES)],
                find_established(selection, one, role, stacks),
            )
            for index, one in enumerate(selection.settings)
        ]
        for library, stacks in libraries.items()
    }


def describe_change(stacks: Sequence[str], curves: Sequence[ReleaseCurve]) -> str | None:
    """Return how much more or less the newest release keeps, in the suite that changed most; None for a single one."""
    curve = max(curves, key=lambda one: abs(one.change()))
    ends = curve.ends()
    if not ends:
        return None
    older, newer = (stacks[at] for at in ends)
    share = round(100 * curve.change())
    keeps = f"{abs(share)}% {'more' if share > 0 else 'less'} than" if share else "as much as"
    return f"{stack_title(newer)} keeps {keeps} {version(older)} ({curve.name})"


def describe_finding(libraries: Mapping[str, Sequence[str]], curves: Curves) -> str:
    """Return the finding: from the oldest to the newest release, of the libraries that changed most."""
    changed = sorted(libraries, key=lambda name: -max(abs(one.change()) for one in curves[name]))
    found = [text for name in changed if (text := describe_change(libraries[name], curves[name]))]
    return "; ".join(found[:MESSAGES]) or "What an established session keeps"


def figure(selection: Selection, asked: Sequence[str] | None = None, role: Role = "server") -> Figure:
    """Draw libraries beside each other; one scale for all that is built of one library."""
    selection = selection.where(lambda setting: setting.peer is None and setting.env == "lab")
    if len(selection.settings) > MOST_SUITES:
        suites = ", ".join(dict.fromkeys(one.suite for one in selection.settings))
        raise ValueError(f"a picture has {MOST_SUITES} suites at most, and there are {suites}: --suite chooses")
    wanted = chosen(selection, asked)
    curves = find_curves(selection, wanted, role)
    tops = {library: 1.2 * highest(curves, library) for library in wanted}  # with room for words
    widths = [max(3, len(stacks)) + NAMES for stacks in wanted.values()]
    made, (row,) = pyplot.subplots(
        1, len(wanted), figsize=(PAGE_INCHES, INCHES), layout="constrained", squeeze=False, width_ratios=widths
    )
    for (library, stacks), axes in zip(wanted.items(), row, strict=True):
        draw(axes, stacks, curves[library], tops[library], max(tops.values()) / tops[library])
        axes.set_title(library_title(stacks[-1]), fontsize=points(1), weight="bold")
    row[0].set_ylabel("bytes of a session")
    subtitle = f"Live heap of an established {role} session that has carried no data, release by release."
    finding, handles = describe_finding(wanted, curves), keys(curves)
    add_frame(made, finding, subtitle, describe_records(selection.records), handles)
    return made


def keys(curves: Curves) -> list[Line2D]:
    """Return the legend: a marker and a dash for each suite."""
    looks = {one.name: one for found in curves.values() for one in found}
    grey: dict[str, Any] = {"color": "#777777", "markeredgecolor": INK, "markersize": 7}
    styles: list[dict[str, Any]] = [
        {"marker": one.look.marker, "linestyle": one.dash, "label": one.name} for one in looks.values()
    ]
    return [Line2D([], [], **style, **grey) for style in styles]


def highest(curves: Curves, library: str) -> float:
    """Return the most bytes in all panels of this library, whatever it is built of: rustls with ring and with aws-lc
    have one scale."""
    alike = [found for name, found in curves.items() if name.split("+")[0] == library.split("+")[0]]
    return max((one.highest() for found in alike for one in found), default=1.0) or 1.0


def draw_from_arguments(given: argparse.Namespace) -> list[Path]:
    """Draw what was asked for; return the files."""
    selection = plot_command.select_runs(given, suites=given.suite, roles=given.roles)
    return save(figure(selection, given.library, given.role), given.output)


def find_established(selection: Selection, setting: Setting, role: Role, stacks: Sequence[str]) -> list[float | None]:
    """Return the bytes that a session of each release keeps in a setting; None where that is not known."""
    rows = [StackRow(selection.series(stack, setting, setting.processes[role]), role) for stack in stacks]
    return [replace_missing(map_present(bytes_per_session, row.established), None) for row in rows]


def draw(axes: Axes, stacks: Sequence[str], lines: Sequence[ReleaseCurve], top: float, times: float) -> None:
    """Draw the lines; `times` is how much larger this scale is than that of the panel with the smallest."""
    if times > 1.05:
        style: dict[str, Any] = {"fontsize": points(0.9), "style": "italic", "va": "bottom", "color": INK}
        axes.text(0.03, 0.03, f"magnified {times:.1f} times", transform=axes.transAxes, **style)
    for index, one in enumerate(lines):
        shift = SHIFT * (index - (len(lines) - 1) / 2)
        runs = groupby(enumerate(one.established), key=lambda point: point[1] is not None)
        for found in [list(run) for there, run in runs if there]:
            dots: dict[str, Any] = {
                "color": one.look.colour,
                "markeredgecolor": INK,
                "markeredgewidth": 0.5,
                "markersize": 7,
            }
            dots |= {"marker": one.look.marker, "linestyle": one.dash}
            axes.plot([at + shift for at, _ in found], [size for _, size in found if size is not None], **dots)
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
        style: dict[str, Any] = {"va": "center", "fontsize": points(0.9), "color": INK, "weight": "bold"}
        axes.text(right, height, f"{size:,.0f} B", **style)
        free = height + 0.5 * GAP * top
