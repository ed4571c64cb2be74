"""Slide 3: what OpenSSL 3.2's record layer saved and what it costs, release by release."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tlsmem.config.recording_command import AS_DEPLOYED, recording_command
from tlsmem.config.releases import group_by_library, version
from tlsmem.config.suite_title import suite_title
from tlsmem.cost.find_costs import find_costs
from tlsmem.plots.frame import INK, Style, add_frame, describe_records, points
from tlsmem.plots.stack_colours import library_colour, lighten
from tlsmem.slides.slide import SUITE, create_slide
from tlsmem.stats.configured_stack import AT_REST, IN_USE
from tlsmem.stats.missing import find_missing
from tlsmem.stats.runtime_heap import bytes_per_session
from tlsmem.store import recordings
from tlsmem.store.record import Record

BEFORE, AFTER = "openssl@3.1.4", "openssl@3.2.0"
PALE = 0.5


class Release(NamedTuple):
    """A release: live heap of a server session before its first write, and in use."""

    stack: str
    unused: float
    used: float
    records: tuple[Record, ...]


def find_release(stack: str, among: Sequence[Path]) -> Release | None:
    """Return the two sizes of a release, in bytes; None where they are not recorded."""
    costs = find_costs(stack, SUITE, among)
    server = costs.roles.get("server")
    if not server:
        return None
    figures = server.live("no tickets", AT_REST), server.live("default", IN_USE)
    if find_missing(*figures) is not None:
        return None
    unused, used = map(bytes_per_session, figures)
    return Release(stack, unused, used, costs.records)


def find_releases(among: Sequence[Path]) -> list[Release]:
    """Return the releases in order. Raises ValueError where 3.1.4 or 3.2.0 is not recorded."""
    there = dict.fromkeys(stack for path in among for stack in recordings.stacks(path))
    stacks = group_by_library(there).get("openssl", [])
    found = [release for stack in stacks if (release := find_release(stack, among))]
    if not {BEFORE, AFTER} <= {release.stack for release in found}:
        command = recording_command(AS_DEPLOYED, [BEFORE, AFTER])
        raise ValueError(f"{BEFORE} and {AFTER} are not recorded in use; to record them: {command}")
    return found


def draw_line(axes: Axes, sizes: Sequence[float], style: str, colour: str, name: str) -> None:
    """Draw a line, with its name and its last figure at the end."""
    axes.plot(range(len(sizes)), sizes, style, color=colour, markersize=9, zorder=3)
    words: Style = {"textcoords": "offset points", "va": "center", "color": INK, "weight": "bold"}
    axes.annotate(f"{name}\n{sizes[-1]:,.0f} B", (len(sizes) - 1, sizes[-1]), (14, 0), annotation_clip=False, **words)


def write_size(axes: Axes, at: int, size: float, aside: tuple[float, float], align: str) -> None:
    """Write a figure so many points from its place."""
    axes.annotate(f"{size:,.0f} B", (at, size), aside, textcoords="offset points", ha=align, va="center")


def draw(among: Sequence[Path]) -> Figure:
    """Draw both sizes over the releases."""
    found = find_releases(among)
    stacks = [release.stack for release in found]
    first, second = stacks.index(BEFORE), stacks.index(AFTER)
    made, (axes,) = create_slide()
    hue = library_colour(BEFORE)
    draw_line(axes, [one.used for one in found], "o-", hue, "in use")
    draw_line(axes, [one.unused for one in found], "s--", lighten(hue, PALE), "before the\nfirst write")
    write_size(axes, first, found[first].used, (-4, 18), "right")
    write_size(axes, second, found[second].used, (-8, 20), "left")
    write_size(axes, second, found[second].unused, (-8, -20), "left")
    axes.axvline((first + second) / 2, color="#999999", linewidth=1.2, linestyle="--", zorder=1)
    axes.text((first + second) / 2 + 0.06, 12_000, "3.2: new record layer", color="#555555", fontsize=points(0.9))
    axes.set_xticks(range(len(found)), [version(stack) for stack in stacks])
    axes.set_xlim(-0.6, len(found) + 0.5)
    axes.set_ylim(0, 1.14 * max(one.used for one in found))
    axes.yaxis.set_major_formatter(lambda size, _: f"{size:,.0f}")
    axes.set_ylabel("bytes of live heap")
    axes.grid(axis="x", visible=False)
    saved = found[first].unused - found[second].unused
    added = found[second].used - found[first].used
    older, newer = version(BEFORE), version(AFTER)
    title = f"OpenSSL {newer}: {saved:,.0f} B less than {older} until the first write, {added:,.0f} B more after it"
    subtitle = f"A server session; {suite_title(SUITE)}. With default tickets the first write is in the handshake."
    add_frame(made, title, subtitle, describe_records(run for one in found for run in one.records))
    return made
