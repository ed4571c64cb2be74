"""The picture of a library release by release: what a session holds, by bucket, with its peak."""

import argparse
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import matplotlib
from matplotlib import pyplot
from matplotlib.figure import Figure

from tlsmem.compare import release_panel, release_walk
from tlsmem.compare.release_walk import Release, ReleaseWalk
from tlsmem.config import definitions, releases
from tlsmem.config.choices import BOTH
from tlsmem.config.libraries import library_name, stack_title
from tlsmem.config.suite_title import suite_title
from tlsmem.plots import bucket_panel
from tlsmem.plots.frame import add_frame, describe_records, points
from tlsmem.plots.picture import PAGE_INCHES, STYLE, save
from tlsmem.plots.rows import ROW_INCHES
from tlsmem.schema.roles import ROLES
from tlsmem.store.recordings import load_recording

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
    widest = max(release_panel.longest_bar(one, stage) for one in walks) or 1.0
    high = AROUND + len(walks) * (ROW_INCHES * (len(versions) + 1.5) + PANEL_TITLE)
    made, grid = pyplot.subplots(len(walks), 1, figsize=(PAGE_INCHES, high), layout="constrained", squeeze=False)
    for one, axes in zip(walks, grid.flat, strict=True):
        release_panel.draw(axes, one, stage, versions, widest)
        axes.set_title(panel_title(one), fontsize=points(1), weight="bold", loc="left")
    runs = [run for one in walks for release in one.releases for run in release.series.records]
    bars = [release_panel.bytes_by_bucket(one, stage) for walk in walks for one in walk.releases]
    handles = [*bucket_panel.list_buckets(bars, widest), release_panel.peak_key()]
    subtitle = f"Live heap of {SESSIONS[stage]} session, release by release, by what the bytes are for."
    add_frame(made, describe_finding(walks, stage), subtitle, describe_records(runs), handles)
    return made


def in_order(walks: Sequence[ReleaseWalk]) -> list[str]:
    known = {release.stack: None for one in walks for release in one.releases}
    return [stack.partition("@")[2] for stack in release_walk.sort_stacks(known)]


def panel_title(one: ReleaseWalk) -> str:
    """Return the role and the suite as people write it."""
    return f"{one.role}: {suite_title(one.suite)}"


def save_figure(walks: Sequence[ReleaseWalk], stage: str, output: Path) -> list[Path]:
    with matplotlib.rc_context(STYLE):
        return save(draw_figure(walks, stage), output)


def draw_given(given: argparse.Namespace) -> list[Path]:
    runs = load_recording(given.recording, "`make compare-versions` makes one")
    runs = [run for run in runs if run.scenario == "memory"]
    stacks = releases.select_stacks(given.library, dict.fromkeys(run.stack for run in runs), given.versions)
    roles = ROLES if given.role == BOTH else (given.role,)
    walks = release_walk.build_walks(release_walk.select_runs(runs, stacks, given.suites), stacks, roles)
    return save_figure(walks, given.stage, given.output)
