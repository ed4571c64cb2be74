"""The heap meter on any program: follow a command and all that it starts, or a process that was started so.

PID must be a process that `tools/heap.py -- COMMAND` started, or one of its children: the meter is a library that is
loaded at the start of a program, and a process without it cannot be attached to later.
Shown are the bytes and blocks that each program requested: live, at their peak, and in all. A program that becomes
another by exec has a row before and after.
With a command the exit status is the command's (128 + the signal's number if one ended it), and signals are passed on
to it; it is followed to its end though nobody reads the reports any more. If the command exits with 0 but a part of it
was not counted, the exit status is 125 and a sentence names the part: a program that is statically linked, was started
without LD_PRELOAD (`env -i`), or brings an allocator of its own.
"""

import argparse
import sys

from tlsmem.base import venv
from tlsmem.config.option_parser import CommandParser, make_parser

EXAMPLES = """examples:
  tools/heap.py -- nginx -g 'daemon off;'     run it under the meter; what the meter says goes to stderr
  tools/heap.py --json --out heap.ndjson -- sh -c 'make | tail'
  tools/heap.py 1234                          process 1234, which was started by one of the two above, and its children
  tools/heap.py --once 1234                   as it is now"""


def parser() -> CommandParser:
    return make_parser("heap", __doc__, EXAMPLES)


def parsed(words: list[str]) -> argparse.Namespace:
    """What stands after -- is the command's own."""
    asked, command = parser(), []
    if "--" in words:
        words, command = words[: words.index("--")], words[words.index("--") + 1 :]
    given = asked.parse_args(words)
    given.command = command
    if bool(command) == (given.pid is not None):
        asked.error("either -- and a COMMAND, or PID of a process that was started so")
    return given


def main() -> None:
    given = parsed(sys.argv[1:])
    venv.activate()
    from tlsmem.cli import heap_meter

    heap_meter.run(given)
