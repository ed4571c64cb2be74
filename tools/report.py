#!/usr/bin/env python3
"""One page of recordings: what was measured, what it costs, and the command that makes each figure again."""

# ruff: noqa: E402

import environment

environment.activate()

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from reporting import cost, measured, page, recordings, timed_runs
from reporting.recordings import Recording
from reporting.sections import Section
from views import profile_output

EXAMPLES = """examples:
  tools/report.py data/2026-01-31-some-cpu -o report.html"""
MAKERS = (measured.section, cost.section, timed_runs.section)


def sections(read: Sequence[Recording]) -> list[Section]:
    made = (maker(read) for maker in MAKERS)
    return [section for section in made if section]


def parser() -> argparse.ArgumentParser:
    kept = argparse.RawDescriptionHelpFormatter
    made = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES, formatter_class=kept)
    made.add_argument("recording", type=Path, nargs="+", help="directories under data/, or files of them")
    made.add_argument("-o", "--output", type=Path, default=Path("report.html"))
    return made


def main() -> None:
    given = parser().parse_args()
    try:
        read = recordings.read(given.recording)
        text = page.page("What a TLS session costs", ", ".join(one.name for one in read), sections(read))
        profile_output.put(text, str(given.output))
    except ValueError as error:
        sys.exit(f"report: {error}")
    except OSError as error:
        sys.exit(f"report: {error.filename or given.output}: {error.strerror}")


if __name__ == "__main__":
    main()
