"""Answers to queries of recordings, in the forms of other answers, and their tables as files."""

import argparse
import csv
import json
import math
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import Any

import duckdb
import rich.console

from tlsmem.base import markdown_embedding, stdout
from tlsmem.base.errors import UserError, raise_user_errors
from tlsmem.base.nearest import suggest_nearest
from tlsmem.base.printable import printable_text
from tlsmem.config.choices import CSV, JSON, MARKDOWN, TABLE
from tlsmem.schema import recording_files
from tlsmem.store import derive, tables, views
from tlsmem.store.column_meanings import MEANINGS, TABLE_MEANINGS, name_unit
from tlsmem.tables import render, table_command
from tlsmem.tables.table import Cell, Heading, Table, text_cell

NUMBERS = ("BIGINT", "HUGEINT", "INTEGER", "DOUBLE", "DECIMAL")  # types begin so
LISTS = "`tls-memtest data sql` lists the tables and their columns"
MISSING_NAME = re.compile(
    r'(?:(?P<table>Table) with name|column) "?(?P<name>[^"\s]+)"? (?:does )?not '
    r'|have a column named "(?P<column>[^"]+)"'
)
WAIT_SECONDS = 10
ROWS = 2000  # that are in memory at a time
LOCKED: dict[str, Any] = {  # a misspelt table is no variable of this program, and nothing comes from the net
    "python_enable_replacements": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}


def list_tables() -> list[Table]:
    """Return a table of the columns of each table: type, unit, meaning."""
    connection = views.define_views(duckdb.connect(), [])
    return [list_columns(name, connection.view(name)) for name in views.VIEWS]


def list_columns(name: str, relation: duckdb.DuckDBPyRelation) -> Table:
    """Return the table of a table's columns."""
    meanings = MEANINGS[name]
    headings = ("column", "type", "unit", "meaning")
    made = Table(name, name, f"{TABLE_MEANINGS[name].capitalize()}.", [Heading(one, one, True) for one in headings])
    for column, kind in zip(relation.columns, map(str, relation.types), strict=True):
        made.rows.append([*map(text_cell, (column, kind, name_unit(column), meanings.get(column, "")))])
    return made


def answer(given: argparse.Namespace, asked: argparse.ArgumentParser) -> int:
    """Print what a query finds; without a query, the tables. Return 1 where a line was cut off. Raises UserError."""
    with raise_user_errors(given.into or "stdout"):
        if given.query is None:
            table_command.deliver(list_tables(), given, asked)
            return 0
        connection = open_locked(given.recordings, given.query)
        try:
            run_beside(connection, lambda: answer_query(connection, given, asked))
        except duckdb.Error as error:
            raise UserError(describe_error(error), 2) from None
    return 1 if recording_files.skipped_lines else 0


def run_beside(connection: duckdb.DuckDBPyConnection, work: Callable[[], None]) -> None:
    """Do what may take long in a thread, so that Ctrl-C ends it: a thread in which DuckDB runs may not hear of it.
    Raises what the work raises."""
    failures: list[BaseException] = []
    done = Event()

    def run() -> None:
        try:
            work()
        except BaseException as error:
            failures.append(error)
        finally:
            done.set()

    thread = Thread(target=run, daemon=True)
    thread.start()
    try:
        done.wait()  # Thread.join() cannot be called again once it was interrupted
    except KeyboardInterrupt:
        connection.interrupt()
        # A thread that is in DuckDB when the interpreter ends, to free a result too, aborts the process.
        thread.join(WAIT_SECONDS)
        raise
    if failures:
        raise failures[0]


def answer_query(
    connection: duckdb.DuckDBPyConnection, given: argparse.Namespace, asked: argparse.ArgumentParser
) -> None:
    """Print what a query finds, or write it into a page. Raises what DuckDB raises, ValueError or OSError."""
    connection.execute(require_select(given.query))
    if given.into:
        text = f"{render.format_markdown_grid(fetch(connection))}\n"
        markdown_embedding.replace_block(given.into, given, asked, text)
    else:
        show(connection, given)


def open_locked(recordings: Sequence[Path], query: str) -> duckdb.DuckDBPyConnection:
    """Return a connection with the tables of recordings that reads nothing else. Raises as `views.find_files` does."""
    if recording_files.find_recording(query):
        raise UserError(f"{query} is a recording: put the query before it; {LISTS}", 2)
    connection = views.define_views(duckdb.connect(config=LOCKED), views.find_files(recordings))
    places = ", ".join(map(tables.quote, (derive.FOLDER, derive.make_own_folder())))
    connection.execute(
        f"SET temp_directory = {tables.quote(derive.make_own_folder())}; SET allowed_directories = [{places}]"
    )
    connection.execute("SET enable_external_access = false; SET lock_configuration = true")
    return connection


def require_select(query: str) -> duckdb.Statement:
    """Return the one statement of a query, which changes nothing. Raises UserError, and what DuckDB raises."""
    statements = duckdb.extract_statements(query)
    if len(statements) != 1:
        raise UserError(f"the query has {len(statements)} statements; give one select", 2)
    if statements[0].type != duckdb.StatementType.SELECT:
        raise UserError(
            f"the query is {statements[0].type.name.replace('_', ' ')}; only select is allowed, which changes nothing",
            2,
        )
    return statements[0]


def describe_error(error: duckdb.Error) -> str:
    """Return a sentence about a query that cannot be answered, with the nearest name."""
    if "'pytz'" in str(error):  # a package that DuckDB asks for
        return "the query: a time with a zone cannot be shown; cast it to TIMESTAMP"
    first, *more = str(error).splitlines()
    said = first.partition(" Error: ")[2].rstrip("!") or first
    missing = MISSING_NAME.search(said)
    columns = dict.fromkeys(column for of_table in MEANINGS.values() for column in of_table)
    wanted = missing and (missing["name"] or missing["column"])
    near = suggest_nearest(wanted, views.VIEWS if missing and missing["table"] else columns) if wanted else ""
    hint = next((f"; {line[0].lower()}{line[1:]}" for line in more if line.startswith("Did you mean")), "")
    return f"the query: {said[:1].lower()}{said[1:]}{near or ('' if missing else hint) or f'; {LISTS}'}"


def show(found: duckdb.DuckDBPyConnection, given: argparse.Namespace) -> None:
    """Print the rows of a query that was executed, in the form that was asked for."""
    form = given.format or (TABLE if stdout.is_terminal() else MARKDOWN)
    with stdout.raise_write_errors():
        if form == CSV:
            write_csv(found)
        elif form == JSON:
            write_json(found, given.query)
        elif form == MARKDOWN:
            print(render.format_markdown_grid(fetch(found)))
        else:
            table = replace(fetch(found), caption=" ".join(given.query.split()))
            render.show([table], TABLE, rich.console.Console())


def list_names(found: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the names of the columns of a query that was executed."""
    return [str(one[0]) for one in found.description or ()]


def fetch_rows(found: duckdb.DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a query that was executed; few of them are in memory at a time."""
    while rows := found.fetchmany(ROWS):
        yield from rows


def fetch(found: duckdb.DuckDBPyConnection) -> Table:
    """Return the rows of a query that was executed as a table."""
    kinds = [str(one[1]) for one in found.description or ()]
    return make_table(list_names(found), kinds, found.fetchall())


def make_table(names: Sequence[str], kinds: Sequence[str], rows: Iterable[Sequence[Any]]) -> Table:
    """Return rows as a table, numbers on the right."""
    made = Table(
        "query",
        "",
        "",
        [Heading(name, name, not kind.startswith(NUMBERS)) for name, kind in zip(names, kinds, strict=True)],
    )
    made.rows = [[query_cell(value) for value in row] for row in rows]
    number = len(made.rows)
    made.title = f"{number:,} row{'' if number == 1 else 's'}"
    return made


def query_cell(value: object) -> Cell:
    """A value as DuckDB prints it; NULL is empty."""
    return text_cell(write_value(value))


def write_value(value: object) -> str:
    """Return a value as a text: a list or a map as JSON, NULL as nothing."""
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, default=str)
    return "" if value is None else str(value)


def write_csv(found: duckdb.DuckDBPyConnection) -> None:
    """Print the rows as CSV, as they come."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(list_names(found))
    for row in fetch_rows(found):
        writer.writerow([printable_text(value) if isinstance(value, str) else write_value(value) for value in row])


def write_json(found: duckdb.DuckDBPyConnection, query: str) -> None:
    """Print the rows as JSON, as they come, in the form of other answers. Columns of JSON are values. Raises
    UserError where two columns have one name."""
    names = list_names(found)
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UserError(f"the query: two columns are named {twice}; give one another name by AS", 2)
    are_json = [str(one[1]) == "JSON" for one in found.description or ()]
    head = json.dumps({"name": "query", "title": "", "caption": query}, ensure_ascii=False)[:-1]
    sys.stdout.write(f'{{"tables": [{render.escape_control_characters(head)}, "rows": [')
    between = "\n"
    for row in fetch_rows(found):
        values = [
            json.loads(one) if of_json and one else drop_infinity(one)
            for one, of_json in zip(row, are_json, strict=True)
        ]
        text = json.dumps(dict(zip(names, values, strict=True)), ensure_ascii=False, default=str)
        sys.stdout.write(f"{between}{render.escape_control_characters(text)}")
        between = ",\n"
    sys.stdout.write('\n], "notes": []}]}\n')


def drop_infinity(value: object) -> object:
    """Return a value as JSON can have it: no number there is infinite."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def export(given: argparse.Namespace) -> None:
    """Write tables of recordings into a directory, a file each: all of them, or none. Raises UserError."""
    target: Path = given.output
    names = given.table or [*views.VIEWS]
    connection = views.define_views(duckdb.connect(), views.find_files(given.recordings))
    with raise_user_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        try:
            run_beside(connection, lambda: write_files(connection, names, beside, given.format))
            place_files(beside, target)
        except duckdb.Error as error:
            raise UserError(f"{target}: cannot be written: {error}; nothing was exported") from None
        finally:
            shutil.rmtree(beside, ignore_errors=True)


def write_files(connection: duckdb.DuckDBPyConnection, names: Sequence[str], folder: Path, form: str) -> None:
    """Write these tables into a folder, and say on stderr how many rows they have. Raises what DuckDB raises."""
    options = "FORMAT parquet, COMPRESSION zstd" if form == "parquet" else "FORMAT csv, HEADER"
    for name in names:
        file = tables.quote(folder / f"{name}.{form}")
        ((rows,),) = connection.execute(f"COPY (FROM {name}) TO {file} ({options})").fetchall()
        print(f"{name}.{form}: {rows:,} rows", file=sys.stderr)


def place_files(beside: Path, target: Path) -> None:
    """Move complete files to the directory where they belong, in place of those of their names. Raises OSError."""
    if target.exists():
        for file in beside.iterdir():
            os.replace(file, target / file.name)
    else:
        os.chmod(beside, 0o777 & ~os.umask(os.umask(0o022)))
        beside.rename(target)
