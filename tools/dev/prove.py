#!/usr/bin/env python3
"""What the project claims of its own figures, checked on a recording of the campaigns that `make prove` records.

One row a claim, stack and suite: what was measured, the limit, the verdict. Exit 1 when one does not hold and is not
known for it, or when a run is missing."""

# ruff: noqa: E402

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tlsmem.base import venv

venv.activate()

import argparse

from tlsmem.schema import records
from tlsmem.schema.machine import default_recording
from tlsmem.selfcheck import claims
from tlsmem.stats.comparability import left_out
from tlsmem.tables import table_command

EXAMPLES = """examples:
  make prove                      record the campaigns and check them
  tools/dev/prove.py data/local/2026-01-31-some-cpu"""


def parser() -> argparse.ArgumentParser:
    made = table_command.parser(__doc__, EXAMPLES)
    about = "default: what this machine recorded today in data/local"
    made.add_argument("recording", type=Path, nargs="?", default=default_recording(), help=about)
    return made


def run(arguments: argparse.Namespace) -> int:
    """ValueError and OSError with a sentence."""
    recorded = table_command.loaded(arguments.recording, "`make prove` makes one")
    for said in left_out(recorded):
        print(f"prove: {arguments.recording}: {said}", file=sys.stderr)
    table = claims.proof(recorded)
    table_command.deliver([table], arguments, parser())
    proven = arguments.into or all(cells[-1].value is True for cells in table.rows)
    return 0 if proven and not records.skipped else 1


if __name__ == "__main__":
    table_command.end("prove", parser().parse_args(), run)
