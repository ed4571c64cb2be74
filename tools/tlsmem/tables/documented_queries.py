"""DuckDB queries that stand on a page, run over the tables of data/, each with a table of what it finds below it."""

import re
import signal
from pathlib import Path

import duckdb

from tlsmem.base import atomic_file
from tlsmem.base.errors import UserError
from tlsmem.base.paths import ROOT
from tlsmem.base.printable import printable_text
from tlsmem.store import views
from tlsmem.tables import render, sql_answers

QUERY = re.compile(r"```sql\n(?P<text>.*?)```\n(?P<found>\n(?:\|[^\n]*\n)+)?", re.DOTALL)

LISTING = "<!-- begin: tools/tls-memtest data sql -->"  # the tables and their columns stand there


def open_database(root: Path = ROOT) -> duckdb.DuckDBPyConnection:
    """A database in memory; `data/` in its queries is below this directory."""
    return duckdb.connect(config={"file_search_path": str(root)})


def grid(relation: duckdb.DuckDBPyRelation) -> str:
    """In Markdown, numbers on the right."""
    kinds = [*map(str, relation.types)]
    return render.format_markdown_grid(sql_answers.make_table(relation.columns, kinds, relation.fetchall()))


def answer_queries(page: str, database: duckdb.DuckDBPyConnection) -> str:
    """The page with what its queries find now. Raises ValueError with a sentence when there are none, or one cannot be
    run."""

    def renewed(block: re.Match[str]) -> str:
        first = block["text"].strip().partition("\n")[0]
        try:
            relation = database.sql(block["text"])
            if block["found"] and relation is None:
                raise ValueError(f"the query that begins {first!r} returns nothing, but a table is below it")
            return f"```sql\n{block['text']}```\n\n{grid(relation)}\n" if block["found"] else block[0]
        except duckdb.Error as error:
            raise ValueError(f"the query that begins {first!r}: {str(error).partition(chr(10))[0]}") from None

    made, found = QUERY.subn(renewed, page)
    if not found:
        raise ValueError("the page has no query; a query is a block that begins with ```sql")
    return made


def has_queries(page: Path) -> bool:
    """Return whether a page is one of queries: it is not if all that it has is the list of tables."""
    try:
        text = page.read_text()
    except (OSError, UnicodeDecodeError):
        return True  # whoever runs them says what is wrong
    return bool(QUERY.search(text)) or LISTING not in text


def run(page: Path) -> None:
    """Writes the page anew; what goes wrong is a sentence on stderr."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # while a query runs DuckDB may not hear of it
        database = views.define_views(open_database(), views.find_files(()))
        found = answer_queries(page.read_text(), database)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with atomic_file.replace_file(page) as beside:
            beside.write_text(found)
    except UnicodeDecodeError:
        raise UserError(f"{page}: not UTF-8 text") from None
    except ValueError as error:
        raise UserError(f"{page}: {printable_text(str(error))}") from None
    except OSError as error:
        raise UserError(f"{page}: {error.strerror}") from None
