#!/usr/bin/env python3
"""What the project claims of its own figures, checked on a recording of the campaigns that `make prove` records.

One row a claim, stack and suite: what was measured, the limit, the verdict. Exit 1 when one does not hold and is not
known for it, or when a run is missing."""

# ruff: noqa: E402

import environment

environment.activate()

import argparse
import signal
import sys
from datetime import date
from pathlib import Path

import rich.console

import claims
import definitions
import embedding
import records
import stdout
import tables
from comparable import left_out
from machine import cpu_model, recording_name

EXAMPLES = """examples:
  make prove                      record the campaigns and check them
  tools/prove.py data/2026-01-31-some-cpu"""


def today() -> Path:
    return definitions.ROOT / "data" / recording_name(date.today(), cpu_model())


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("recording", type=Path, nargs="?", default=today(), help="default: this machine's of today")
    made.add_argument("--into", type=Path, metavar="FILE", help="write into this Markdown file, where the command is")
    return made


def run(arguments: argparse.Namespace) -> int:
    """ValueError and OSError with a sentence."""
    if not arguments.recording.exists():
        raise ValueError("there is no such recording; `make prove` makes one")
    recorded = records.load(arguments.recording)
    for said in left_out(recorded):
        print(f"prove: {arguments.recording}: {said}", file=sys.stderr)
    table = claims.proof(recorded)
    if arguments.into:
        embedding.replace(arguments.into, arguments, parser(), tables.text_of([table], tables.MARKDOWN))
        return 0
    with stdout.checked():
        tables.show([table], tables.TABLE if sys.stdout.isatty() else tables.MARKDOWN, rich.console.Console())
    proven = all(cells[-1].value is True for cells in table.rows)
    return 0 if proven and not records.skipped else 1


def main() -> None:
    arguments = parser().parse_args()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a reader that has seen enough is no error
    try:
        sys.exit(run(arguments))
    except ValueError as error:
        sys.exit(f"prove: {arguments.recording}: {error}")
    except OSError as error:
        sys.exit(f"prove: {error.filename or arguments.into}: {error.strerror}")


if __name__ == "__main__":
    main()
