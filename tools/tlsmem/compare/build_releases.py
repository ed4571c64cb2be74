"""Builds releases of a library, and measures them in heap runs at two N and in sites runs, into one recording."""

import sys
from collections.abc import Sequence
from pathlib import Path

from tlsmem.base.paths import ROOT
from tlsmem.build import cache, system_packages
from tlsmem.build.commands import BuildFailed, Unavailable
from tlsmem.build.schedule import UNAVAILABLE, Schedule
from tlsmem.compare import two_builds
from tlsmem.config import definitions
from tlsmem.store.record import Record


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
