#!/usr/bin/env python3
"""Check the heap meter against three profilers that are not ours: on the same run of the same binary all tell the same
live bytes at the end of every phase, to the byte.

Asked are the heap meter, its sites run, heaptrack, massif and DHAT (one run per phase). What a tool sees of itself is
subtracted by name. Results go to stdout, progress and what does not agree to stderr; exit 1 when anything differs."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench_arguments import parse
from tlsmem.base import venv
from tlsmem.cli.main import run

QUICK = ["contexts", "established"]
EXAMPLES = """examples:
  tools/dev/selfcheck.py --quick
  tools/dev/selfcheck.py --stacks rustls+ring@0.23.46 --n 200"""


def arguments() -> argparse.Namespace:
    given, _ = parse("selfcheck", __doc__, EXAMPLES)
    given.quick = QUICK if given.quick else None
    return given


def main() -> None:
    given = arguments()
    venv.activate()
    import meter_check

    meter_check.run(given)


if __name__ == "__main__":
    run(main)
