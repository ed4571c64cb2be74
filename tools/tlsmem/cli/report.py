"""One page of recordings that needs nothing else: what was measured and on what machine, what a session costs by stack,
suite, role, phase and meter, throughput and handshakes, and the command that makes each figure again.

The same tables as Markdown, CSV or JSON go to stdout (--format markdown|csv|json), or into the file -o. --format
directory writes the page as index.html with its data in files beside it, into the directory -o; --format files adds
Markdown and CSV of every table, PNG and SVG of every picture."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from tlsmem.base import venv
from tlsmem.config import toml_tables
from tlsmem.config.option_parser import CommandParser, make_parser

EXAMPLES = """examples:
  tools/report.py -o report.html                   your newest recording, and the newest with memory, all stacks, time
  tools/report.py data/local/2026-01-31-some-cpu -o report.html
  tools/report.py data/local/2026-01-31-some-cpu data/local/2026-02-01-other -o both.html  two machines, marked
  tools/report.py data/local/2026-01-31-some-cpu --format csv --table cost-heap
  tools/report.py --format directory -o report     the page for a web server: report/index.html and report/data
  tools/report.py data/local/2026-01-31-some-cpu --format files -o report          all tables and pictures as files
  tools/report.py data/local/2026-01-31-some-cpu --format files --picture memory -o pictures      one of the pictures"""


def parser() -> CommandParser:
    return make_parser("report", __doc__, EXAMPLES)


def parsed(words: Sequence[str] | None = None) -> argparse.Namespace:
    """With what make names in one word among the recordings."""
    given = parser().parse_args(words)
    given.recording += map(Path, toml_tables.split_names(given.recordings or ""))
    return given


def main() -> int:
    given = parsed()
    venv.activate()
    from tlsmem.report import build_report

    return build_report.write_report(given)
