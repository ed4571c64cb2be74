#!/usr/bin/env python3
"""What it costs to know where memory came from: the CPU time of runs under each meter and profiler over that of plain
ones, taken in turn on one CPU.

Of each stack the median of the ratios, and the smallest and the largest; a run is compared with the plain one of the
same round and N. Valgrind's tools, which are slow, are given a tenth of the sessions. Nothing is recorded. Exit 1 when
sites runs cost more than their limit."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench_arguments import parse
from tlsmem.base import venv
from tlsmem.cli.main import run

EXAMPLES = """examples:
  tools/dev/bench_attribution.py
  tools/dev/bench_attribution.py --stacks openssl@3.5.5 --n 1000"""


def main() -> None:
    given = parse("bench-attribution", __doc__, EXAMPLES)[0]
    venv.activate()
    import attribution_cost

    attribution_cost.run(given)


if __name__ == "__main__":
    run(main)
