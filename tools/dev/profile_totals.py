#!/usr/bin/env python3
"""Totals of heap profiles: what the tool that wrote a file prints of it, and what `heap read` says.

Makes a file of each form with its own tool, of small programs, and prints a table. It needs the tools: heaptrack,
valgrind, Go, cargo, google-perftools, libgoogle-perftools-dev, libjemalloc-dev and memray. Exit status 1: a tool is
missing, or a total differs. --into replaces the table in a page."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tlsmem.base import venv
from tlsmem.cli.main import run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--form", metavar="WORD", default="", help="only forms with this word in their name")
    parser.add_argument("--into", metavar="PAGE.md", type=Path, help="replace the table in this page")
    given = parser.parse_args()
    venv.activate()
    import total_table

    total_table.run(given, parser)


if __name__ == "__main__":
    run(main)
