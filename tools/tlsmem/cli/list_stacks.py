"""List every stack: library, version, protocols, whether it is recorded or built, and what a session costs.

Tables go to stdout: drawn on a terminal, Markdown in a pipe, unless --format says otherwise. --details tries which
suites the built harnesses can do. --sources shows where each stack comes from. --outdated asks the registries for newer
releases, and tries to download them. --into replaces the text between
<!-- begin: COMMAND --> and <!-- end --> in a page."""

import argparse
import sys

from tlsmem.base import venv
from tlsmem.base.errors import raise_user_errors
from tlsmem.config import option_check
from tlsmem.config.option_parser import CommandParser, make_parser

EXAMPLES = """examples:
  tools/list_stacks.py                                       all of them
  tools/list_stacks.py --stacks "openssl@3.5.5 null@c" --format json
  tools/list_stacks.py --details --stacks openssl@3.5.5      the suites that it can do
  tools/list_stacks.py --outdated                            newer releases, listed and served
  tools/list_stacks.py --sources --into docs/reference/stacks.md       the table in the documentation again"""


def parser() -> CommandParser:
    return make_parser("list_stacks", __doc__, EXAMPLES)


def run(given: argparse.Namespace, parser: CommandParser) -> int:
    """Print what was asked for, or write it into a page. Return the exit status.

    Raises ValueError or OSError with a sentence."""
    from tlsmem.config import definitions, toml_tables
    from tlsmem.cost import stack_inventory
    from tlsmem.tables import stack_list, table_command

    definitions.check_definitions()
    stacks = toml_tables.expand_stacks(given.stacks, "any")
    if given.outdated:
        return deliver_new_releases(stacks, given, parser)
    if given.details or given.sources:
        table = (stack_list.sources_table if given.sources else stack_list.what_they_can)(stacks)
        table_command.deliver([table], given, parser)
    else:
        stack_inventory.run(given, parser, stacks)
    return 0


def deliver_new_releases(stacks: list[str], given: argparse.Namespace, parser: CommandParser) -> int:
    """Print what the registries offer, and a sentence for each that did not answer; return the exit status."""
    from tlsmem.base.paths import ROOT
    from tlsmem.build import offers
    from tlsmem.config import definitions
    from tlsmem.tables import new_releases, table_command

    known = definitions.stacks()
    found, failures = offers.find_new_releases({name: known[name] for name in stacks}, ROOT / "build/logs/offers.log")
    table_command.deliver([new_releases.new_releases_table(found)], given, parser)
    for failure in failures:
        print(f"memtest: {failure}", file=sys.stderr)
    return 1 if failures else 0


def main() -> int:
    asked = parser()
    given = asked.parse_args()
    option_check.check_goal_or_exit("stacks", {"STACKS": given.stacks})
    venv.activate()
    with raise_user_errors(given.into):
        return run(given, asked)
