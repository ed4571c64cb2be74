"""List every stack: library, version, protocols, whether it is recorded or built, and what a session costs.

Tables go to stdout: drawn on a terminal, Markdown in a pipe, unless --format says otherwise. --details tries which
suites the built harnesses can do. --sources shows where each stack comes from. --outdated asks the registries for newer
releases, and tries to download them. --into replaces the text between
<!-- begin: COMMAND --> and <!-- end --> in a page."""

import argparse
import sys

from tlsmem.base import venv
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


def run(given: argparse.Namespace, parser: CommandParser) -> None:
    """Print what was asked for, or write it into a page. Raises ValueError or OSError with a sentence."""
    from tlsmem.config import definitions, toml_tables
    from tlsmem.cost import stack_inventory
    from tlsmem.tables import stack_list, table_command

    definitions.check_definitions()
    stacks = toml_tables.expand_stacks(given.stacks, "any")
    if given.outdated:
        deliver_new_releases(stacks, given, parser)
    elif given.details or given.sources:
        table = (stack_list.sources_table if given.sources else stack_list.what_they_can)(stacks)
        table_command.deliver([table], given, parser)
    else:
        stack_inventory.run(given, parser, stacks)


def deliver_new_releases(stacks: list[str], given: argparse.Namespace, parser: CommandParser) -> None:
    """Print what the registries offer; exit with 1 and a sentence for each that did not answer."""
    from tlsmem.base.paths import ROOT
    from tlsmem.build import offers
    from tlsmem.config import definitions
    from tlsmem.tables import new_releases, table_command

    known = definitions.stacks()
    found, failures = offers.find_new_releases({name: known[name] for name in stacks}, ROOT / "build/logs/offers.log")
    table_command.deliver([new_releases.new_releases_table(found)], given, parser)
    if failures:
        sys.exit("\n".join(f"memtest: {failure}" for failure in failures))


def main() -> None:
    asked = parser()
    given = asked.parse_args()
    option_check.check_goal_or_exit("stacks", {"STACKS": given.stacks})
    venv.activate()
    try:
        run(given, asked)
    except ValueError as error:
        sys.exit(f"memtest: {error}")
    except OSError as error:
        sys.exit(f"memtest: {error.filename}: {error.strerror}")
