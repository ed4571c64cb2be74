"""Measure the heap of any program: run a command and all that it starts under the heap meter, or follow a process.

PID must be a process that `tools/heap.py -- COMMAND` started, or one of its children: the meter is a library that is
loaded when a program starts, and cannot be attached later. Reports show the bytes and blocks that each program
requested: live, at the peak, and in all. A program that replaces itself by exec has a row before and after.
With a command, signals are passed on to it, and the exit status is the command's (128 + the signal's number if a signal
ended it). The command runs to its end even if nobody reads the reports. If the command exits with 0 but a part of it
was not counted, the exit status is 125 and a sentence names the part: a program that is statically linked, was started
without LD_PRELOAD (`env -i`), has an allocator of its own, or took 2 MiB or more from the OS by itself, if that is at
least 10 % of what the meter counted.
"""

import argparse
import sys

from tlsmem.base import venv
from tlsmem.config.option_parser import CommandParser, make_parser

EXAMPLES = """examples:
  tools/heap.py -- nginx -g 'daemon off;'     run it under the meter; what the meter says goes to stderr
  tools/heap.py --json --out heap.ndjson -- sh -c 'make | tail'
  tools/heap.py 1234                          process 1234, which was started by one of the two above, and its children
  tools/heap.py --once 1234                   as it is now; how to read it: docs/how-to/grows.md
  tools/heap.py --growth --connections port:8443 1234     what grows, and for each connection
  tools/heap.py --listen 127.0.0.1:9464 -- nginx -g 'daemon off;'     for Prometheus: docs/how-to/watch.md"""


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
        asked.error("give either -- and a COMMAND, or the PID of a process that runs under the meter")
    if given.host and not given.listen:
        asked.error("--host also needs --listen")
    has_interval = any("--interval".startswith(word.partition("=")[0]) for word in words if word.startswith("--i"))
    if given.once and (given.listen or given.growth or has_interval):
        asked.error("--once gives one report: without --listen, --growth and --interval")
    if given.once and given.connections and command:
        asked.error("with a COMMAND, --once reports when it has ended: then there are no --connections to count")
    return given


def main() -> int:
    given = parsed(sys.argv[1:])
    venv.activate(core=True)
    from tlsmem.cli import heap_meter

    return heap_meter.run(given)
