"""A walk along a library's releases: of a recording, or of releases that are built and measured for it."""

import argparse
from pathlib import Path

from tlsmem.base import termination
from tlsmem.base.errors import raise_user_errors
from tlsmem.build.commands import CONSOLE, BuildFailed
from tlsmem.compare import record_releases, release_plot, release_tables, release_walk, two_builds
from tlsmem.config import releases
from tlsmem.config.choices import BOTH, RELEASE_SUITES
from tlsmem.schema import recording_files
from tlsmem.schema.roles import ROLES
from tlsmem.stats.selection import Selection, select
from tlsmem.store.recordings import load_recording
from tlsmem.tables import table_command


def show_walks(
    given: argparse.Namespace, parser: argparse.ArgumentParser, found: Selection, stacks: list[str]
) -> list[release_walk.ReleaseWalk]:
    roles = ROLES if given.role == BOTH else (given.role,)
    walks = release_walk.build_walks(found, stacks, roles, given.roles)
    table_command.deliver(release_tables.build_tables(walks, given.library, given.stage, given.table), given, parser)
    return walks


def compare_recorded(given: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Raises ValueError with a sentence."""
    runs = load_recording(given.recording, "`make compare-versions` makes one")
    runs = [run for run in runs if run.scenario == "memory"]
    stacks = releases.select_stacks(given.library, dict.fromkeys(run.stack for run in runs), given.versions)
    show_walks(given, parser, release_walk.select_runs(runs, stacks, given.suites), stacks)
    return 1 if recording_files.skipped_lines else 0


def compare_measured(given: argparse.Namespace, parser: argparse.ArgumentParser, stacks: list[str]) -> int:
    """Raises BuildFailed, ValueError or OSError with a sentence."""
    out = two_builds.claim(given.out or Path(f"build/versions/{given.library}"))
    built = record_releases.ReleaseBuilds(stacks)
    if len(built.stacks) < 2:
        raise BuildFailed(f"of {given.library} {len(built.stacks)} releases were built, and a walk needs two")
    suites = given.suites or list(RELEASE_SUITES)
    found = select(record_releases.record_runs(built.stacks, suites, out), built.stacks, suites)
    walks = show_walks(given, parser, found, built.stacks)
    for file in release_plot.save_figure(walks, given.stage, out / f"versions-{given.library}"):
        CONSOLE.print(f"compare-versions: {file}")
    return built.status


def build_and_compare(given: argparse.Namespace, parser: argparse.ArgumentParser, stacks: list[str]) -> int:
    """Return the exit status. Raises UserError."""
    termination.end_on_signals()
    with raise_user_errors(given.library):
        return compare_measured(given, parser, stacks)
