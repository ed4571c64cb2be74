#!/usr/bin/env python3
"""Run targets of the Makefile, side by side where there are CPUs for it, until one fails.

  tools/dev/run_checks.py check-style check-layers STACKS=null@c

Progress goes to stderr: a bar on a terminal, else a line now and then."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tlsmem.base import venv
from tlsmem.cli.main import run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="+", metavar="TARGET | OPTION=VALUE")
    words = parser.parse_args().words
    venv.activate()
    import check_steps

    targets = [word for word in words if "=" not in word]
    sys.exit(check_steps.run(targets, [word for word in words if "=" in word]))


if __name__ == "__main__":
    run(main)
