"""Harnesses of stacks, built two at a time; the exit status says whether all are there."""

import argparse
import sys
from pathlib import Path

from tlsmem.base import termination
from tlsmem.base.errors import raise_user_errors
from tlsmem.base.paths import ROOT
from tlsmem.build import cache, system_packages, trees
from tlsmem.build.commands import BuildFailed, Unavailable
from tlsmem.build.schedule import Schedule
from tlsmem.config import definitions, toml_tables
from tlsmem.config.definitions import Stack, campaigns, stacks

UNAVAILABLE = 77


def run(chosen: list[str], known: dict[str, Stack], prefix: Path | None) -> int:
    """The exit status."""
    if not (ROOT / "build/core/libmemtest.a").is_file():
        raise BuildFailed("build/core/libmemtest.a is not there: run `make core` first")
    system_packages.require_cargo_for(chosen)
    cache.check_writable()
    failures = Schedule(chosen, known, ROOT, prefix).run()
    for name, error in failures.items():
        print(f"memtest: {name}: {str(error).removeprefix(f'{name}: ')}", file=sys.stderr)
    if all(isinstance(error, Unavailable) for error in failures.values()):
        return UNAVAILABLE if failures else 0
    return 1


def requested_stacks(given: argparse.Namespace) -> list[str]:
    """The stacks that were named, and those of the campaign; all where there are none. Their names are known."""
    campaign = campaigns()[given.campaign].every_stack if given.campaign else []
    return toml_tables.expand_stacks([*given.stacks, *campaign] or [toml_tables.ALL_STACKS], given.prefix)


def build_requested(given: argparse.Namespace) -> int:
    """Return the exit status, as `run` does. Raises UserError."""
    termination.end_on_signals()
    definitions.check_definitions()
    trees.resolve_named(given)
    with raise_user_errors("build"):
        return run(requested_stacks(given), stacks(), given.prefix and given.prefix.absolute())
