#!/usr/bin/env python3
"""What metering costs: the CPU time of runs under the heap meter over that of plain ones, taken in turn on one CPU.

Of each stack and suite, the median of the ratios of neighbouring runs, and the smallest and the largest.
Nothing is recorded."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench_arguments import parsed
from tlsmem.base import venv
from tlsmem.config import option_check


def main() -> None:
    option_check.check_options_or_exit({})  # the defaults are read from the definitions
    mem = option_check.memory_defaults()
    given = parsed(__doc__, {"STACKS": mem["STACKS"], "SUITES": mem["SUITES"], "N": "2000", "REPEATS": "7"})
    venv.activate()
    import meter_cost

    meter_cost.run(given)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
