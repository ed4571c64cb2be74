"""The picture of libraries release by release: what an established session keeps, and its peak."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from matplotlib import pyplot
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tlsmem.config import releases
from tlsmem.config.choices import LEAST_RELEASES, MOST_SUITES
from tlsmem.plots import plot_command, release_panel
from tlsmem.plots.memory_panels import MARKERS, MarkerStyle
from tlsmem.plots.picture import add_title_and_legend, save
from tlsmem.plots.release_panel import ReleaseCurve
from tlsmem.plots.stack_colours import library_colour
from tlsmem.schema.harness_output import Role
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Setting
from tlsmem.tables.settings import dates, describe_machine

TITLE = "Memory of a TLS session, release by release"
ROLES: tuple[Role, ...] = ("client", "server")


def names(selection: Selection) -> dict[Setting, str]:
    """Of lines: the protocol, and the group where it is not that of the first; of what no release has, the suite."""
    agreed = {Setting.from_record(one): one.negotiated for one in selection.records if one.negotiated}
    usual = next((agreed[one].group for one in selection.settings if one in agreed), None)
    found = {one: said.protocol.replace("TLSv", "TLS ") for one, said in agreed.items()}
    found |= {one: f"{found[one]}\n{said.group}" for one, said in agreed.items() if said.group != usual}
    return {one: found.get(one, one.suite) for one in selection.settings}


def chosen(selection: Selection, asked: Sequence[str] | None) -> dict[str, list[str]]:
    """Libraries with their releases. ValueError with a sentence when there is none to draw."""
    there = releases.group_by_library(selection.stacks)
    for name in asked or ():
        if name not in there:
            raise ValueError(f"no release of {name} among these; there are: {', '.join(there) or 'none'}")
    found = (
        {name: there[name] for name in asked} if asked else releases.group_by_library(selection.stacks, LEAST_RELEASES)
    )
    if not found:
        raise ValueError(f"no library has {LEAST_RELEASES} releases here; --library names one with fewer")
    return found


def figure(selection: Selection, asked: Sequence[str] | None = None) -> Figure:
    """Libraries beside each other, clients above servers; one scale for all that is built of one library."""
    selection = selection.where(lambda setting: setting.peer is None and setting.env == "lab")
    if len(selection.settings) > MOST_SUITES:
        suites = ", ".join(dict.fromkeys(one.suite for one in selection.settings))
        raise ValueError(f"a picture has {MOST_SUITES} suites at most, and there are {suites}: --suite chooses")
    wanted, named = chosen(selection, asked), names(selection)
    lines = {
        (role, library): [
            release_panel.release_curve(
                selection, one, role, stacks, named[one], MarkerStyle(library_colour(stacks[0]), MARKERS[index])
            )
            for index, one in enumerate(selection.settings)
        ]
        for role in ROLES
        for library, stacks in wanted.items()
    }
    tops = {library: 1.14 * highest(lines, library) for library in wanted}  # with room for words
    widths = [max(2.5, len(stacks)) + 1.8 for stacks in wanted.values()]  # with room for the lines' names
    made, grid = pyplot.subplots(
        2, len(wanted), figsize=(12.8, 7.2), layout="constrained", squeeze=False, width_ratios=widths
    )
    for role, row in zip(ROLES, grid, strict=True):
        for (library, stacks), axes in zip(wanted.items(), row, strict=True):
            release_panel.draw(axes, stacks, lines[role, library], tops[library], max(tops.values()) / tops[library])
            axes.set_title(f"{library}, {role}", fontsize=10, weight="bold")
        row[0].set_ylabel("KiB per session")
    recorded = (
        f"{describe_machine(selection.records[0])}. Recorded {dates(selection.records)}. Live heap, from heap runs."
    )
    add_title_and_legend(made, TITLE, keys(), recorded)
    return made


def highest(lines: dict[tuple[Role, str], list[ReleaseCurve]], library: str) -> float:
    """Of all panels with this library, whatever it is built of: `rustls+ring` and `rustls+aws-lc` have one scale."""
    alike = [found for (_, name), found in lines.items() if name.split("+")[0] == library.split("+")[0]]
    return max((one.highest() for found in alike for one in found), default=1.0) or 1.0


def keys() -> list[Line2D]:
    grey = {"color": "#666666"}
    peak = {"marker": "_", "markersize": 9, "markeredgewidth": 1.4, "linestyle": "none"}
    return [
        Line2D([], [], marker="o", label="established", **grey),
        Line2D([], [], label="peak", **peak, **grey),
    ]


def draw_from_arguments(given: argparse.Namespace) -> list[Path]:
    selection = plot_command.select_runs(given, "plot_releases", suites=given.suite, roles=given.roles)
    return save(figure(selection, given.library), given.output)
