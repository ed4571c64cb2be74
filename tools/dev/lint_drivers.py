#!/usr/bin/env python3
"""Every driver in C must compile without a warning, against each library that is here. Nothing is fetched or built."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tlsmem.base import venv
from tlsmem.cli.main import run


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    venv.activate()
    import driver_warnings

    driver_warnings.run()


if __name__ == "__main__":
    run(main)
