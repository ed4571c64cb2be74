#!/usr/bin/env python3
"""What metering costs: the CPU time of runs under the heap meter over that of plain ones, taken in turn on one CPU.

Of each stack and suite, the median of the ratios of neighbouring runs, and the smallest and the largest.
Nothing is recorded."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench_arguments import parse
from tlsmem.base import venv
from tlsmem.cli.main import run

EXAMPLES = """examples:
  tools/dev/bench_meter.py
  tools/dev/bench_meter.py --stacks null@c --suites none --repeats 15"""


def main() -> None:
    given = parse("bench", __doc__, EXAMPLES)[0]
    venv.activate()
    import meter_cost

    meter_cost.run(given)


if __name__ == "__main__":
    run(main)
