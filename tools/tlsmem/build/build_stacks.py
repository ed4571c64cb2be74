"""Build the harnesses of stacks: build/harness/STACK with its manifest STACK.json. What has not changed is kept.

Two are built at a time. One that fails stops no other; the exit status is then 1, or 77 when all that is missing is not
to be had: a source that is no longer offered.
"""

import argparse
import os
import signal
import sys
from pathlib import Path

from tlsmem.base.paths import ROOT
from tlsmem.build import cache, system_packages
from tlsmem.build.commands import Failed, Unavailable
from tlsmem.build.schedule import Schedule
from tlsmem.config import definitions, option_check
from tlsmem.config.definitions import Stack, campaigns, stacks

UNAVAILABLE = 77


def arguments(known: dict[str, Stack]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stacks", nargs="*", metavar="STACK", help="as in memtest/stacks.toml; all when none is named")
    parser.add_argument("--campaign", help="the stacks of this table of memtest/campaigns.toml")
    parser.add_argument(
        "--prefix", metavar="DIRECTORY", type=Path, help="where the library of openssl@path is installed"
    )
    given = parser.parse_args()
    known_campaigns = campaigns()
    if given.campaign and given.campaign not in known_campaigns:
        parser.error(
            f"no campaign {given.campaign} in memtest/campaigns.toml"
            + option_check.nearest(given.campaign, known_campaigns)
        )
    asked = known_campaigns.get(given.campaign)
    given.prefix = given.prefix and given.prefix.absolute()
    given.stacks = option_check.listed(" ".join(given.stacks)) + (asked.every_stack if asked else [])
    given.stacks = option_check.stacks(" ".join(given.stacks) or option_check.ALL, given.prefix)
    for name in given.stacks:
        if name not in known:
            parser.error(f"no stack {name} among those of memtest/stacks.toml{option_check.nearest(name, known)}")
    return given


def run(chosen: list[str], known: dict[str, Stack], prefix: Path | None) -> int:
    """The exit status."""
    if not (ROOT / "build/core/libmemtest.a").is_file():
        raise Failed("build/core/libmemtest.a is not there: run `make core` first")
    system_packages.require_cargo_for(chosen)
    cache.check()
    failures = Schedule(chosen, known, ROOT, prefix).run()
    for name, error in failures.items():
        print(f"memtest: {name}: {str(error).removeprefix(f'{name}: ')}", file=sys.stderr)
    if all(isinstance(error, Unavailable) for error in failures.values()):
        return UNAVAILABLE if failures else 0
    return 1


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what a build has started ends with it
    definitions.check()
    known = stacks()
    given = arguments(known)
    try:
        sys.exit(run(given.stacks, known, given.prefix))
    except (Failed, ValueError) as error:
        print(f"memtest: {error}", file=sys.stderr)
        sys.exit(1)
    except OSError as error:
        sys.exit(f"memtest: {error.filename or 'build'}: {os.strerror(error.errno)}")
    except KeyboardInterrupt:
        sys.exit(130)
