"""DuckDB queries that stand on a page, run over data/, each with a table of what it finds below it."""

import re
import signal
from operator import itemgetter
from pathlib import Path

import duckdb

from tlsmem.base import markdown_embedding
from tlsmem.base.errors import UserError
from tlsmem.base.paths import ROOT
from tlsmem.base.printable import printable_text
from tlsmem.tables import render
from tlsmem.tables.table import Cell, Column, Table, text_cell

QUERY = re.compile(r"```sql\n(?P<text>.*?)```\n(?P<found>\n(?:\|[^\n]*\n)+)?", re.DOTALL)


def open_database(root: Path = ROOT) -> duckdb.DuckDBPyConnection:
    """A database in memory; `data/` in its queries is below this directory."""
    return duckdb.connect(config={"file_search_path": str(root)})


def grid(relation: duckdb.DuckDBPyRelation) -> str:
    """In Markdown, numbers on the right."""
    numeric = [str(one).startswith(("BIGINT", "HUGEINT", "INTEGER", "DOUBLE", "DECIMAL")) for one in relation.types]
    names = enumerate(zip(relation.columns, numeric, strict=True))
    columns = [Column(name, name, not right, value=itemgetter(at), form=query_cell) for at, (name, right) in names]
    found = Table("query", "", "", columns)
    found.add_rows(relation.fetchall())
    return render.format_markdown_grid(found)


def query_cell(value: object) -> Cell:
    """A value as DuckDB prints it; NULL is empty."""
    return text_cell("" if value is None else str(value))


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


def run(page: Path) -> None:
    """Writes the page anew; what goes wrong is a sentence on stderr."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # while a query runs DuckDB may not hear of it
        found = answer_queries(page.read_text(), open_database())
        signal.signal(signal.SIGINT, signal.default_int_handler)
        markdown_embedding.write_atomically(page, found)
    except UnicodeDecodeError:
        raise UserError(f"{page}: not UTF-8 text") from None
    except ValueError as error:
        raise UserError(f"{page}: {printable_text(str(error))}") from None
    except OSError as error:
        raise UserError(f"{page}: {error.strerror}") from None
