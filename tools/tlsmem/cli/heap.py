"""The heap meter on any program: follow a command and all that it starts, or a process that is already metered.

    tools/heap.py -- nginx -g 'daemon off;'     run it under the meter; what the meter says goes to stderr
    tools/heap.py --json --out heap.ndjson -- sh -c 'make | tail'
    tools/heap.py 1234                          process 1234, started under the meter, and its children
    tools/heap.py --once 1234                   as it is now

Shown are the bytes and blocks that each program requested: live, at their peak, and in all. With a command the exit
status is the command's (128 + the signal's number if one ended it), and signals are passed on to it; it is followed
to its end though nobody reads the reports any more.
"""

import argparse
import sys

from tlsmem.base import venv


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("pid", nargs="?", type=int, metavar="PID", help="a process under the meter")
    made.add_argument("--interval", type=seconds, default=1.0, metavar="S", help="between reports (default: 1 s)")
    made.add_argument("--once", action="store_true", help="one report: now, or of a command at its end")
    made.add_argument("--json", action="store_true", help="NDJSON: an object for each program and one for all")
    made.add_argument("--out", metavar="FILE", help="where to (default: stderr with a command, else stdout)")
    return made


def seconds(text: str) -> float:
    value = float(text)
    if not 0.01 <= value <= 3600:
        raise argparse.ArgumentTypeError(f"{text}: from 0.01 to 3600 seconds")
    return value


def parsed(words: list[str]) -> argparse.Namespace:
    """What stands after -- is the command's own."""
    asked, command = parser(), []
    if "--" in words:
        words, command = words[: words.index("--")], words[words.index("--") + 1 :]
    given = asked.parse_args(words)
    given.command = command
    if bool(command) == (given.pid is not None):
        asked.error("either PID, or -- and a COMMAND")
    return given


def main() -> None:
    given = parsed(sys.argv[1:])
    venv.activate()
    from tlsmem.cli import heap_meter

    heap_meter.run(given)
