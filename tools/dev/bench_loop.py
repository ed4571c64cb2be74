#!/usr/bin/env python3
"""What the harness costs: its rates over those of a minimal hand-written loop around the same library, taken in turn on
one CPU.

Of each part the median of the ratios of neighbouring runs, with its bootstrap interval, and the smallest and the
largest. A handshake is with the construction and the freeing of the session. Nothing is recorded, and nothing else
should run: where the interval holds the aim, whether it is met is not known. BENCH_MULTIPLIER lengthens the work."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench_arguments import parse
from tlsmem.base import venv
from tlsmem.cli.main import run

STACKS = ("openssl@3.5.5", "rustls+aws-lc@0.23.46")  # that have a loop


EXAMPLES = """examples:
  tools/dev/bench_loop.py
  BENCH_MULTIPLIER=0.1 tools/dev/bench_loop.py --stacks openssl@3.5.5    for a try, no figure"""


def arguments() -> argparse.Namespace:
    given, asked = parse("bench-loop", __doc__, EXAMPLES)
    for stack in given.stacks:
        if stack not in STACKS:
            asked.error(f"{stack} has no loop; {' and '.join(STACKS)} have one")
    return given


def main() -> None:
    given = arguments()
    venv.activate()
    import loop_cost

    loop_cost.run(given)


if __name__ == "__main__":
    run(main)
