#!/usr/bin/env python3
"""The style and the tests of what is written in Go. Without Go of the version that go.mod names, one line says so: no
toolchain is fetched for a check, and the exit status is 0."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tlsmem.base import venv
from tlsmem.cli.main import run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("style", "tests"))
    given = parser.parse_args()
    venv.activate()
    import go_checks

    go_checks.run(given.what)


if __name__ == "__main__":
    run(main)
