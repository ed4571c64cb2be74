"""The picture of a library release by release: what a session holds, by bucket, with its peak."""

import argparse
from collections.abc import Sequence
from pathlib import Path

import matplotlib
from matplotlib import pyplot
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tlsmem.compare import release_panel, release_walk
from tlsmem.compare.release_walk import ReleaseWalk
from tlsmem.config import releases, toml_tables
from tlsmem.config.choices import BOTH, RELEASE_STAGES
from tlsmem.plots import bucket_panel
from tlsmem.plots.bucket_panel import INK
from tlsmem.plots.picture import STYLE, add_title_and_legend, save
from tlsmem.schema.roles import ROLES
from tlsmem.tables import table_command
from tlsmem.tables.settings import dates, describe_machine

HATCHES = {"hatch.linewidth": 0.7}


def draw_figure(walks: Sequence[ReleaseWalk], library: str, stage: str) -> Figure:
    """Suites beside each other, clients above servers, all on one scale; a place for every release in each."""
    suites, roles = (list(dict.fromkeys(getattr(one, name) for one in walks)) for name in ("suite", "role"))
    versions = in_order(walks)
    top = 1.08 * max(release_panel.highest_bar(one, stage) for one in walks) or 1.0
    width = max(6.4, 0.68 * len(versions) + 0.8)
    size = (max(9.6, width * len(suites)), 1.6 + 3.7 * len(roles))
    made, grid = pyplot.subplots(
        len(roles), len(suites), figsize=size, layout="constrained", squeeze=False, sharey=True
    )
    for axes in grid.flat:
        axes.set_visible(False)
    for one in walks:
        axes = grid[roles.index(one.role)][suites.index(one.suite)]
        axes.set_visible(True)
        release_panel.draw(axes, one, stage, versions, top)
        axes.set_title(f"{panel_title(one)}, {one.role}", fontsize=10, weight="bold")
        if one.suite == suites[0]:
            axes.set_ylabel("KiB per session")
    runs = [run for one in walks for release in one.releases for run in release.series.records]
    recorded = f"{describe_machine(runs[0])}. Recorded {dates(runs)}. Live heap: heap runs, and by bucket sites runs."
    add_title_and_legend(
        made, f"{library}, release by release: a TLS session, {RELEASE_STAGES[stage]}", keys(walks, stage), recorded
    )
    return made


def in_order(walks: Sequence[ReleaseWalk]) -> list[str]:
    known = {release.stack: None for one in walks for release in one.releases}
    return [stack.partition("@")[2] for stack in release_walk.sort_stacks(known)]


def panel_title(one: ReleaseWalk) -> str:
    agreed = next(
        (run.negotiated for release in one.releases for run in release.series.records if run.negotiated), None
    )
    if not agreed:
        return one.suite
    return f"{agreed.protocol.replace('TLSv', 'TLS ')}, {agreed.group} ({one.suite})"


def keys(walks: Sequence[ReleaseWalk], stage: str) -> list[Artist]:
    """From above, as the bars are: the peak first."""
    peak = Line2D([], [], color=INK, linewidth=2, label="peak")
    return [peak, *bucket_panel.keys([release_panel.stack_buckets(one, stage) for one in walks])]


def save_figure(walks: Sequence[ReleaseWalk], library: str, stage: str, output: Path) -> list[Path]:
    with matplotlib.rc_context(STYLE | HATCHES):
        return save(draw_figure(walks, library, stage), output)


def draw_given(given: argparse.Namespace) -> list[Path]:
    runs = table_command.load_recording(given.recording, "`make compare-versions` makes one")
    runs = [run for run in runs if run.scenario == "memory"]
    versions, suites = map(toml_tables.split_names, (given.versions or "", given.suites or ""))
    stacks = releases.select_stacks(given.library, dict.fromkeys(run.stack for run in runs), versions)
    roles = ROLES if given.role == BOTH else (given.role,)
    walks = release_walk.build_walks(release_walk.select_runs(runs, stacks, suites), stacks, roles)
    return save_figure(walks, given.library, given.stage, given.output)
