"""The options of a script that a target of make calls, parsed and checked. Standard library only."""

import argparse
import sys
from pathlib import Path

from tlsmem.cli.command import CommandParser
from tlsmem.cli.developers import COMMANDS


def parse(target: str, about: str | None, examples: str) -> tuple[argparse.Namespace, CommandParser]:
    """Return the values of sys.argv, as flags or as make has them. Raises UserError with a sentence, status 2."""
    command = next(one for one in COMMANDS if one.target == target)
    parser = command.parser()
    parser.prog, parser.description, parser.epilog = Path(sys.argv[0]).name, about, examples
    given = command.parse(sys.argv[1:], parser)
    assert command.check
    command.check(given, parser)
    return given, parser
