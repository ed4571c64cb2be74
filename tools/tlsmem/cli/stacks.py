"""tls-memtest stacks: which stacks there are."""

import argparse

from tlsmem.base.errors import UserError, raise_user_errors
from tlsmem.base.paths import DERIVED
from tlsmem.cli import checks
from tlsmem.cli.command import Command, CommandParser, each
from tlsmem.cli.options import Words


def check(given: argparse.Namespace, asked: CommandParser) -> None:
    checks.check_definitions()
    checks.check_no_trees(given)


def run(given: argparse.Namespace, asked: CommandParser) -> None:
    from tlsmem.config import definitions, toml_tables
    from tlsmem.cost import stack_inventory
    from tlsmem.tables import stack_list, table_command

    with raise_user_errors("stacks"):
        definitions.check_definitions()
        stacks = toml_tables.expand_stacks(given.stacks, "any")
        if given.outdated:
            deliver_new_releases(stacks, given, asked)
        elif given.details or given.sources:
            table = (stack_list.sources_table if given.sources else stack_list.what_they_can)(stacks)
            table_command.deliver([table], given, asked)
        else:
            stack_inventory.run(given, asked, stacks)


def deliver_new_releases(stacks: list[str], given: argparse.Namespace, asked: CommandParser) -> None:
    """Print what the registries offer. Raises UserError with a sentence for each that did not answer."""
    from tlsmem.build import offers
    from tlsmem.config import definitions
    from tlsmem.tables import stack_list, table_command

    known = definitions.stacks()
    found, failures = offers.find_new_releases({name: known[name] for name in stacks}, DERIVED / "logs/offers.log")
    table_command.deliver([stack_list.new_releases_table(found)], given, asked)
    if failures:
        raise UserError("\nmemtest: ".join(failures))


COMMANDS = (
    Command(
        "stacks",
        "every stack: protocols, recorded or built, what a session costs",
        {"stacks": "all"}
        | each("outdated", "details stacks", "sources stacks", "into", "output text")
        | {"format": Words("table on a terminal, else markdown")},
        run,
        """List every stack: library, version, protocols, whether it is recorded or built, and what a session costs.

Tables go to stdout: drawn on a terminal, Markdown in a pipe, unless --format says otherwise. --details tries which
suites the built harnesses can do. --sources shows where each stack comes from. --outdated asks the registries for newer
releases, and tries to download them. --into replaces the text between
<!-- begin: COMMAND --> and <!-- end --> in a page.""",
        """\
  tools/tls-memtest stacks                                       all of them
  tools/tls-memtest stacks --stacks "openssl@3.5.5 null@c" --format json
  tools/tls-memtest stacks --details --stacks openssl@3.5.5      the suites that it can do
  tools/tls-memtest stacks --outdated                            newer releases, listed and served
  tools/tls-memtest stacks --sources --into docs/reference/stacks.md       the table in the documentation again""",
        check,
        target="stacks",
    ),
)
