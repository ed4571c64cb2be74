#!/usr/bin/env python3
"""How long it takes to read what is on disk: commands as whole processes, in turn with those of another checkout.

Each case is a command of this checkout. With --against DIRECTORY the same command of that checkout runs in turn with
it, and so does the reference program of the case, such as heaptrack_print. Prints the medians of CPU time, wall time
and peak memory, and the median of the ratios of runs that were made one after the other. Nothing is recorded."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tlsmem.base import venv
from tlsmem.cli.main import run

MOST_REPEATS = 1000


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--against", metavar="DIRECTORY", type=checkout, help="another checkout, with a .venv of its own")
    made.add_argument("--repeats", metavar="N", type=repeats, default=7, help="counted runs (default: %(default)s)")
    made.add_argument(
        "--large",
        metavar="DIRECTORY",
        type=Path,
        help="heap profiles of 100 MB and more instead, in turn with the profilers' own printers; they are taken "
        "in DIRECTORY, unless they are there",
    )
    made.add_argument("--case", metavar="WORD", default="", help="only cases with this word in their name")
    return made


def checkout(text: str) -> Path:
    folder = Path(text).resolve()
    if not (folder / "tools/tlsmem").is_dir():
        raise argparse.ArgumentTypeError(f"{text} is no checkout of this repository: it has no tools/tlsmem")
    if not (folder / ".venv/ready").exists():
        raise argparse.ArgumentTypeError(f"{text} has no Python packages: run `make setup` there")
    return folder


def repeats(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or not 1 <= int(text) <= MOST_REPEATS:
        raise argparse.ArgumentTypeError(f"{text} is no whole number from 1 to {MOST_REPEATS}")
    return int(text)


def main() -> None:
    given = parser().parse_args()
    venv.activate()
    import read_cost

    read_cost.run(given)


if __name__ == "__main__":
    run(main)
