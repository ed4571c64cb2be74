"""A walk along a library's releases: of a recording, or of releases that are built and measured for it.

Releases are measured in heap runs at two N and in sites runs, into one recording."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tlsmem.base import termination
from tlsmem.base.errors import raise_user_errors
from tlsmem.base.paths import ROOT
from tlsmem.build import cache, system_packages
from tlsmem.build.commands import CONSOLE, BuildFailed, Unavailable
from tlsmem.build.schedule import UNAVAILABLE, Schedule
from tlsmem.compare import release_plot, release_tables, release_walk, two_builds
from tlsmem.config import definitions, releases
from tlsmem.config.choices import BOTH, RELEASE_SUITES
from tlsmem.schema import recording_files
from tlsmem.schema.roles import ROLES
from tlsmem.stats.selection import Selection, select
from tlsmem.store.record import Record
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
    built = ReleaseBuilds(stacks)
    if len(built.stacks) < 2:
        raise BuildFailed(f"of {given.library} {len(built.stacks)} releases were built, and a walk needs two")
    suites = given.suites or list(RELEASE_SUITES)
    found = select(record_runs(built.stacks, suites, out), built.stacks, suites)
    walks = show_walks(given, parser, found, built.stacks)
    for file in release_plot.save_figure(walks, given.stage, out / f"versions-{given.library}"):
        CONSOLE.print(f"compare-versions: {file}")
    return built.status


def build_and_compare(given: argparse.Namespace, parser: argparse.ArgumentParser, stacks: list[str]) -> int:
    """Return the exit status. Raises UserError."""
    termination.end_on_signals()
    with raise_user_errors(given.library):
        return compare_measured(given, parser, stacks)


class ReleaseBuilds:
    """What was built of these stacks; what was not is said on stderr, each with its reason."""

    def __init__(self, stacks: Sequence[str]) -> None:
        """Raises BuildFailed with a sentence when nothing can be built."""
        if not (ROOT / "build/core/libheapmeter.so").is_file():
            raise BuildFailed("build/core/libheapmeter.so is not there: run `make core` first")
        system_packages.require_cargo_for(list(stacks))
        cache.check_writable()
        self.failures = Schedule(list(stacks), definitions.stacks(), ROOT, None).run()
        for name, error in self.failures.items():
            print(f"memtest: left out: {name}: {str(error).removeprefix(f'{name}: ')}", file=sys.stderr)
        self.stacks = [name for name in stacks if name not in self.failures]

    @property
    def status(self) -> int:
        """As of tools/tls-memtest build: 77 when all that is missing is not to be had."""
        unavailable = all(isinstance(error, Unavailable) for error in self.failures.values())
        return 0 if not self.failures else UNAVAILABLE if unavailable else 1


def record_runs(stacks: Sequence[str], suites: Sequence[str], out: Path) -> list[Record]:
    """Those of campaign [compare], in `out`, which was claimed; what is recorded of a binary is not measured again."""
    found = two_builds.measure_sides({name: name for name in stacks}, two_builds.Runs(suites), out)
    return [run for of_stack in found.values() for run in of_stack]
