"""One page of recordings that needs nothing else: what was measured and on what machine, what a session costs by stack,
suite, role, phase and meter, throughput and handshakes, and the command that makes each figure again.

The same tables as Markdown, CSV or JSON go to stdout (--format markdown|csv|json), or into the file -o; --format files
writes Markdown and CSV of every table, PNG and SVG of every picture into the directory -o."""

import argparse
import re
from pathlib import Path

from tlsmem.base import venv
from tlsmem.report.forms import FILES, HTML, TEXTS

EXAMPLES = """examples:
  tools/report.py -o report.html                   your newest recording, and the newest with memory, all stacks, time
  tools/report.py data/local/2026-01-31-some-cpu -o report.html
  tools/report.py data/local/2026-01-31-some-cpu data/local/2026-02-01-other -o both.html  machines are told apart
  tools/report.py data/local/2026-01-31-some-cpu --format csv --table cost-heap
  tools/report.py data/local/2026-01-31-some-cpu --format files -o report          all tables and pictures as files"""


def parser() -> argparse.ArgumentParser:
    kept = argparse.RawDescriptionHelpFormatter
    made = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES, formatter_class=kept)
    made.add_argument("recording", type=Path, nargs="*", help="directories under data/, or files of them")
    made.add_argument("--recordings", type=listed, metavar="NAMES", default=[], help="the same in one word, as of make")
    where = "a file or directory; default: report.html, report, or stdout"
    made.add_argument("-o", "--out", dest="output", type=Path, help=where)
    made.add_argument("--format", choices=(HTML, *TEXTS, FILES), default=HTML, help="default: html")
    made.add_argument("--table", action="append", metavar="NAME", help="only this one, as text; may be repeated")
    return made


def listed(names: str) -> list[Path]:
    """`a b` and `a,b` alike."""
    return [Path(name) for name in re.split(r"[\s,]+", names) if name]


def main() -> None:
    given = parser().parse_args()
    venv.activate()
    from tlsmem.report import build_report

    build_report.ended(given)
