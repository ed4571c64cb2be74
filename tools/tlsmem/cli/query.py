"""Run the DuckDB queries of a Markdown page over data/, and write each result below its query."""

from tlsmem.base import venv
from tlsmem.config.option_parser import CommandParser, make_parser

EXAMPLES = """example:
  tools/query.py docs/reference/records.md

A query is a block of sql, and its result is the table below it. A block without a table makes views for later
queries; its result is not shown. Paths in queries are relative to the root of the repository."""


def parser() -> CommandParser:
    return make_parser("query", __doc__, EXAMPLES)


def main() -> None:
    given = parser().parse_args()
    venv.activate()
    from tlsmem.tables import documented_queries

    documented_queries.run(given.page)
