"""The picture of libraries release by release: what an established session keeps."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib import pyplot
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tlsmem.base.errors import Usage
from tlsmem.config import releases
from tlsmem.config.choices import LEAST_RELEASES, MOST_SUITES
from tlsmem.config.libraries import library_title, stack_title
from tlsmem.config.releases import version
from tlsmem.config.suite_title import suite_title
from tlsmem.plots import plot_command, release_panel
from tlsmem.plots.frame import INK, add_frame, describe_records, points
from tlsmem.plots.memory_panels import MARKERS, MarkerStyle
from tlsmem.plots.picture import PAGE_INCHES, save
from tlsmem.plots.release_panel import ReleaseCurve
from tlsmem.plots.stack_colours import library_colour
from tlsmem.schema.harness_output import Role
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Setting

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
                release_panel.find_established(selection, one, role, stacks),
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
        release_panel.draw(axes, stacks, curves[library], tops[library], max(tops.values()) / tops[library])
        axes.set_title(library_title(stacks[-1]), fontsize=points(1), weight="bold")
    row[0].set_ylabel("bytes of a session")
    subtitle = f"Live heap of an established {role} session that has carried no data, release by release."
    finding, handles = describe_finding(wanted, curves), keys(curves)
    add_frame(made, finding, subtitle, describe_records(selection.records), handles)
    return made


def keys(curves: Curves) -> list[Line2D]:
    """Return the legend: a marker and a dash for each suite."""
    looks = {one.name: one for found in curves.values() for one in found}
    grey: dict = {"color": "#777777", "markeredgecolor": INK, "markersize": 7}
    styles: list[dict] = [
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
