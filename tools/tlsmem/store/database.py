"""DuckDB: makes the tables of lines that were checked."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import duckdb

from tlsmem.store import tables
from tlsmem.store.columns import encode_column, write_pieces


@cache
def connect() -> duckdb.DuckDBPyConnection:
    """Return the connection that all reading shares: nothing is kept in it."""
    return duckdb.connect(config={"threads": 1})


def write(folder: Path, lines: Sequence[bytes], as_parquet: bool, are_live: bool) -> tuple[int, int]:
    """Write the tables of these lines into a folder, as Parquet or as columns; return the numbers of runs and phases.
    Those of live runs are Parquet only.

    Raises OSError, and ValueError where a number has more than 64 bits."""
    plain = folder / "lines.jsonl"
    plain.write_bytes(b"\n".join(lines))
    longest_bytes = max(map(len, lines), default=0)
    try:
        with connect().cursor() as cursor:
            line = tables.LIVE_LINE if are_live else tables.LINE
            cursor.execute(tables.read_lines(plain, longest_bytes + (1 << 16), line))
            plain.unlink()
            sites_runs = "0" if are_live else "count(sites)"
            counts = f"count(*)::BIGINT, coalesce(sum(len(phases)), 0)::BIGINT, {sites_runs} > 0"
            ((runs, phases, has_sites),) = cursor.execute(f"SELECT {counts} FROM lines").fetchall()
            if as_parquet:
                write_parquet(folder, cursor, tables.LIVE_TABLES if are_live else tables.TABLES, has_sites)
            else:
                write_for_tables(folder, cursor, has_sites)
            return runs, phases
    except (duckdb.DataError, duckdb.InvalidInputException) as error:
        raise ValueError(str(error)) from None
    except duckdb.IOException as error:
        raise OSError(str(error)) from None


def write_parquet(folder: Path, cursor: duckdb.DuckDBPyConnection, queries: Mapping[str, str], has_sites: bool) -> None:
    """Write each table that the lines have, for queries."""
    for name, query in queries.items():
        if has_sites or name not in tables.OF_SITES_RUNS:
            file = tables.quote(folder / f"{name}.parquet")
            cursor.execute(f"COPY ({query}) TO {file} (FORMAT parquet, COMPRESSION zstd)")


def write_for_tables(folder: Path, cursor: duckdb.DuckDBPyConnection, has_sites: bool) -> None:
    """Write the columns of runs and phases from `lines`, and what is read of one run at a time."""
    for name in ("runs", "phases"):
        write_columns(folder / f"{name}.columns", cursor, name)
    for name in tables.OF_RUNS if has_sites else ():
        write_pieces(folder / f"{name}.pieces", dict(cursor.execute(tables.OF_RUNS[name]).fetchall()))


column_kinds: dict[str, dict[str, str]] = {}  # DuckDB's types of the columns by table


def write_columns(file: Path, cursor: duckdb.DuckDBPyConnection, name: str) -> None:
    """Write the columns of one of the tables."""
    kinds = column_kinds.get(name)
    if not kinds:  # of every file the same
        described = cursor.execute(f"DESCRIBE {tables.TABLES[name]}").fetchall()
        kinds = column_kinds[name] = {column: str(kind) for column, kind, *_ in described}
    lists = ", ".join(f'list("{column}")' for column in kinds)  # in the order of rows, as one thread reads
    (found,) = cursor.execute(f"SELECT {lists} FROM ({tables.TABLES[name]})").fetchall()
    columns = {column: rows or [] for column, rows in zip(kinds, found, strict=True)}
    write_pieces(file, {column: encode_column(rows, kinds[column]) for column, rows in columns.items()})
