"""The picture of a library release by release: what a session holds, by bucket, with its peak.

A panel has a bar for each release, stacked by bucket, and its peak as a mark."""

import argparse
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import matplotlib
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tlsmem.config import definitions
from tlsmem.config.choices import BOTH
from tlsmem.config.libraries import library_name, stack_title
from tlsmem.config.suite_title import suite_title
from tlsmem.plots import bucket_panel
from tlsmem.plots.bucket_panel import BucketSizes
from tlsmem.plots.frame import INK, ROW_INCHES, Style, add_frame, describe_records, list_rows, points, write_in_column
from tlsmem.plots.picture import PAGE_INCHES, STYLE, save
from tlsmem.schema.roles import ROLES
from tlsmem.topics.releases.walk import Release, ReleaseWalk, load_walks, sort_stacks

TOTAL = "total"  # of a release without a sites run
STAGE_COLUMN, PEAK_COLUMN = 1.17, 1.36  # where their figures end, in parts of the scale
MARK: Style = {"color": INK, "marker": "|", "markersize": 10, "markeredgewidth": 1.6, "linestyle": "none"}
SESSIONS = {"created": "a new", "established": "an established", "idle": "an idle"}  # by stage
MESSAGES = 2  # of a title
AROUND, PANEL_TITLE = 1.5, 0.3  # inches


class Step(NamedTuple):
    """A change of a session's bytes from a release to the next."""

    walk: ReleaseWalk
    older: Release
    newer: Release
    change: float


def find_steps(walk: ReleaseWalk, stage: str) -> list[Step]:
    """Return the changes between releases that are known, in order."""
    known = [(one, float(size)) for one in walk.releases if (size := one.size(stage)) is not None]
    return [Step(walk, older, newer, now - before) for (older, before), (newer, now) in pairwise(known)]


def describe_change(change: float) -> str:
    """Return a change in bytes with its direction."""
    return f"{abs(change):,.0f} B {'larger' if change > 0 else 'smaller'}" if change else "as large as before"


def describe_finding(walks: Sequence[ReleaseWalk], stage: str) -> str:
    """Return the finding: the largest step of a session, and the same step in another suite."""
    steps = [step for walk in walks for step in find_steps(walk, stage)]
    largest = max(steps, key=lambda step: abs(step.change), default=None)
    one = walks[0].releases[-1]
    if not largest or not largest.change:
        same = "no release here changes" if largest else "only one release here has"
        return f"{library_name(one.stack)}: {same} {SESSIONS[stage]} {one.role} session"
    role, stacks = largest.walk.role, (largest.older.stack, largest.newer.stack)
    alike = [step for step in steps if (step.walk.role, step.older.stack, step.newer.stack) == (role, *stacks)]
    found = {suite_words(step.walk, walks): describe_change(step.change) for step in (largest, *alike)}
    where = ", ".join(f"{change}{words}" for words, change in [*found.items()][:MESSAGES])
    return f"{stack_title(largest.newer.stack)}: {SESSIONS[stage]} {role} session is {where}"


def suite_words(walk: ReleaseWalk, walks: Sequence[ReleaseWalk]) -> str:
    """Return ` in TLS 1.3`, or the suite where several have one protocol; nothing where there is one suite."""
    suites = dict.fromkeys(one.suite for one in walks)
    if len(suites) == 1:
        return ""
    known = definitions.suites()
    protocols = [known[suite].protocol if suite in known else suite for suite in suites]
    own = protocols[list(suites).index(walk.suite)]
    return f" in {own.replace('TLSv', 'TLS ')}" if protocols.count(own) == 1 else f" in {walk.suite}"


def draw_figure(walks: Sequence[ReleaseWalk], stage: str) -> Figure:
    """Draw a panel for each suite and role, one below the other on one scale; a row for every release in each."""
    versions = in_order(walks)
    widest = max(longest_bar(one, stage) for one in walks) or 1.0
    high = AROUND + len(walks) * (ROW_INCHES * (len(versions) + 1.5) + PANEL_TITLE)
    made, grid = pyplot.subplots(len(walks), 1, figsize=(PAGE_INCHES, high), layout="constrained", squeeze=False)
    for one, axes in zip(walks, grid.flat, strict=True):
        draw(axes, one, stage, versions, widest)
        axes.set_title(panel_title(one), fontsize=points(1), weight="bold", loc="left")
    runs = [run for one in walks for release in one.releases for run in release.series.records]
    bars = [bytes_by_bucket(one, stage) for walk in walks for one in walk.releases]
    handles = [*bucket_panel.list_buckets(bars, widest), peak_key()]
    subtitle = f"Live heap of {SESSIONS[stage]} session, release by release, by what the bytes are for."
    add_frame(made, describe_finding(walks, stage), subtitle, describe_records(runs), handles)
    return made


def in_order(walks: Sequence[ReleaseWalk]) -> list[str]:
    known = {release.stack: None for one in walks for release in one.releases}
    return [stack.partition("@")[2] for stack in sort_stacks(known)]


def panel_title(one: ReleaseWalk) -> str:
    """Return the role and the suite as people write it."""
    return f"{one.role}: {suite_title(one.suite)}"


def save_figure(walks: Sequence[ReleaseWalk], stage: str, output: Path) -> list[Path]:
    with matplotlib.rc_context(STYLE):
        return save(draw_figure(walks, stage), output)


def draw_given(given: argparse.Namespace) -> list[Path]:
    """Draw what was asked for; return the files."""
    roles = ROLES if given.role == BOTH else (given.role,)
    walks = load_walks(given.recording, given.library, given.versions, given.suites, roles)
    return save_figure(walks, given.stage, given.output)


def peak_key() -> Line2D:
    """Return the peak's place in the legend."""
    return Line2D([], [], label="peak, one more of many, in the handshake", **MARK)


def bytes_by_bucket(one: Release, stage: str) -> BucketSizes:
    """Return the bytes of a session by bucket; without a sites run they are one part, and without a figure none."""
    size = one.size(stage)
    whole = {} if size is None else {TOTAL: size}
    return {bucket: float(held) for bucket, held in (one.buckets(stage) or whole).items()}


def longest_bar(walk: ReleaseWalk, stage: str) -> float:
    """Return the most bytes of any release, at the stage or at the peak."""
    sizes = [size for one in walk.releases for size in (one.size(stage), one.size("peak")) if size is not None]
    return max((float(size) for size in sizes), default=0.0)


def draw(axes: Axes, walk: ReleaseWalk, stage: str, versions: Sequence[str], widest: float) -> None:
    """Draw a row for each of these versions; one that the walk has not stays empty and says so."""
    there = {one.version: one for one in walk.releases}
    for row, version in enumerate(versions):
        one = there.get(version)
        size = one.size(stage) if one else None
        if one is None or size is None:
            why = "not measured in this suite"
            axes.text(0.01 * widest, row, why, va="center", style="italic", fontsize=points(0.85), color=INK)
            continue
        parts = bytes_by_bucket(one, stage)
        bucket_panel.draw_parts(axes, row, bucket_panel.sort_buckets(parts), widest)
        write_in_column(axes, STAGE_COLUMN * widest, row, f"{float(size):,.0f} B", bold=True)
        peak = one.size("peak")
        if peak is not None:
            axes.plot([sum(parts.values()), float(peak)], [row, row], color="#666666", linewidth=0.9, zorder=1.5)
            axes.plot([float(peak)], [row], zorder=3, **MARK)
            write_in_column(axes, PEAK_COLUMN * widest, row, f"{float(peak):,.0f} B")
    list_rows(axes, versions, above=1.1)
    for end, heading in ((STAGE_COLUMN, stage), (PEAK_COLUMN, "peak")):
        write_in_column(axes, end * widest, -0.8, heading, bold=True)
    axes.set_xlim(0, 1.01 * PEAK_COLUMN * widest)
