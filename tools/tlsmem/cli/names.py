"""Check the options of a make target before anything is installed or built, or list them.

Exit status 2, with a message: the target does not take the option, the value is invalid, or a file of memtest/*.toml
cannot be read. Needs the standard library only.
"""

import argparse
import signal
from pathlib import Path

from tlsmem.base import markdown_embedding, repository, stdout
from tlsmem.base.errors import raise_user_errors
from tlsmem.config import option_check, option_pages
from tlsmem.config.option_model import ALL_GOALS
from tlsmem.config.option_parser import CommandParser, default_text, make_parser
from tlsmem.config.options import options_of_goal

EXAMPLES = """examples:
  tools/names.py N=10000 STACKS="openssl@3.5.5 null@c"
  tools/names.py --goal profile TOOL=heaptrack
  tools/names.py --list                                   what `make help` shows of options
  tools/names.py --list compare
  tools/names.py --reference --into docs/reference/options.md       that page again"""


def parser() -> CommandParser:
    return make_parser("names", __doc__, EXAMPLES)


def main() -> None:
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a reader that has seen enough is no error
    asked = parser()
    given = asked.parse_args()
    if given.default:
        taken = options_of_goal(given.goal)
        if given.default not in taken:
            asked.error(f"{given.goal} takes no {given.default}")
        print(default_text(taken[given.default].goals[given.goal]))
        return
    if given.makefile:
        print(option_pages.makefile_text())
        return
    options = dict(word.partition("=")[::2] for word in given.options)
    looks = given.list or given.reference  # at the options, and asks for nothing
    option_check.check_goal_or_exit(given.goal, options, whole=not looks)
    if "OUT" in options and given.goal != "report":  # a report records nothing
        repository.check_recording_or_exit(Path(options["OUT"]))
    if given.reference and given.into:
        write_reference(given, asked)
    with stdout.exit_on_write_error():
        if given.reference and not given.into:
            print(option_pages.reference_text())
        elif given.list:
            print(option_pages.help_text(None if given.list == ALL_GOALS else given.list))


def write_reference(given: argparse.Namespace, asked: CommandParser) -> None:
    with raise_user_errors(given.into):
        markdown_embedding.replace_block(given.into, given, asked, option_pages.reference_text())
