"""Run the DuckDB queries that stand on a page, over data/, and put what each finds below it."""

import argparse
from pathlib import Path

from tlsmem.base import venv

EXAMPLES = """example:
  tools/query.py docs/records.md

A query is a block of sql. What it found is the table below it; of a block without a table, which makes what others
ask, nothing is shown. Paths in queries are relative to the root of the repository."""


def parser() -> argparse.ArgumentParser:
    kept = argparse.RawDescriptionHelpFormatter
    made = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES, formatter_class=kept)
    made.add_argument("page", type=Path, help="a Markdown file, which is written anew")
    return made


def main() -> None:
    given = parser().parse_args()
    venv.activate()
    from tlsmem.tables import documented_queries

    documented_queries.run(given.page)
