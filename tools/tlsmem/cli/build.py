"""Build the harnesses of stacks: build/harness/STACK with its manifest STACK.json. What has not changed is kept.

Two are built at a time. One that fails stops no other; the exit status is then 1, or 77 when all that is missing is not
to be had: a source that is no longer offered.
"""

import argparse
from pathlib import Path

from tlsmem.base import venv
from tlsmem.config import option_check


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("stacks", nargs="*", metavar="STACK", help="as in memtest/stacks.toml; all when none is named")
    made.add_argument("--campaign", help="the stacks of this table of memtest/campaigns.toml")
    made.add_argument("--prefix", metavar="DIRECTORY", type=Path, help="where the library of openssl@path is installed")
    return made


def unknown(given: argparse.Namespace) -> str | None:
    """A sentence about the first name that is not defined; ValueError where definitions cannot be read."""
    campaigns, stacks = option_check.read_tables("campaigns"), option_check.read_tables("stacks")
    if given.campaign and given.campaign not in campaigns:
        near = option_check.suggest_nearest(given.campaign, campaigns)
        return f"no campaign {given.campaign} in memtest/campaigns.toml{near}"
    for name in option_check.expand_stacks(" ".join(given.stacks) or option_check.ALL_STACKS, given.prefix):
        if name not in stacks:
            return f"no stack {name} among those of memtest/stacks.toml{option_check.suggest_nearest(name, stacks)}"
    return None


def main() -> None:
    asked = parser()
    given = asked.parse_args()
    try:
        if wrong := unknown(given):
            asked.error(wrong)
    except option_check.Unreadable:
        pass  # definitions.check() says it
    venv.activate()
    from tlsmem.build import build_stacks

    build_stacks.run_and_exit(given)
