"""Every stack that is known: whether it is built, its licence, and which suites it can do, by its harness's own word.

Results go to stdout: drawn on a terminal, Markdown in a pipe, or as --format says. --sources is where each comes from,
from the definitions alone; --into replaces what is between <!-- begin: COMMAND --> and <!-- end --> in a page."""

from tlsmem.base import venv
from tlsmem.config import option_check
from tlsmem.config.option_parser import CommandParser, make_parser

EXAMPLES = """examples:
  tools/list_stacks.py                                       all of them
  tools/list_stacks.py --stacks "openssl@3.5.5 null@c" --format json
  tools/list_stacks.py --sources --into docs/stacks.md       the table in the documentation again"""


def parser() -> CommandParser:
    return make_parser("list_stacks", __doc__, EXAMPLES)


def main() -> None:
    asked = parser()
    given = asked.parse_args()
    option_check.check_goal_or_exit("stacks", {"STACKS": given.stacks})
    venv.activate()
    from tlsmem.tables import stack_list

    stack_list.run(given, asked)
