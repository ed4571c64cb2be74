"""Every stack that is known: whether it is built, its licence, and which suites it can do, by its harness's own word.

Results go to stdout: drawn on a terminal, Markdown in a pipe, or as --format says. --sources is where each comes from,
from the definitions alone; --into replaces what is between <!-- begin: COMMAND --> and <!-- end --> in a page."""

import argparse
from pathlib import Path

from tlsmem.base import venv
from tlsmem.cli import table_arguments
from tlsmem.config import option_check

EXAMPLES = """examples:
  tools/list_stacks.py                                       all of them
  tools/list_stacks.py --stacks "openssl@3.5.5 null@c" --format json
  tools/list_stacks.py --sources --into docs/stacks.md       the table in the documentation again"""


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--stacks", metavar="STACKS", default=option_check.ALL_STACKS, help="these only (default: all)")
    made.add_argument("--sources", action="store_true", help="what they are, where they come from, how they are made")
    table_arguments.add_format(made)
    made.add_argument("--into", type=Path, metavar="PAGE", help="put the table into this Markdown file, in its place")
    return made


def main() -> None:
    asked = parser()
    given = asked.parse_args()
    try:
        option_check.check_names("STACKS", given.stacks)
    except option_check.Unreadable:
        pass  # definitions.check() says it
    except ValueError as error:
        asked.error(str(error))
    venv.activate()
    from tlsmem.tables import stack_list

    stack_list.run(given, asked)
