"""DuckDB: makes the tables for queries of lines that were checked."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import duckdb

from tlsmem.store import tables


@cache
def connect() -> duckdb.DuckDBPyConnection:
    """Return the connection that all reading shares: nothing is kept in it."""
    return duckdb.connect(config={"threads": 1})


def write_parquet(folder: Path, lines: Sequence[bytes], are_live: bool) -> tuple[int, int]:
    """Write each table that these lines have into a folder; return the numbers of runs and phases. Raises OSError."""
    plain = folder / "lines.jsonl"
    plain.write_bytes(b"\n".join(lines))
    longest_bytes = max(map(len, lines), default=0)
    line, queries = (tables.LIVE_LINE, tables.LIVE_TABLES) if are_live else (tables.LINE, tables.TABLES)
    try:
        with connect().cursor() as cursor:
            cursor.execute(tables.read_lines(plain, longest_bytes + (1 << 16), line))
            plain.unlink()
            sites_runs = "0" if are_live else "count(sites)"
            counts = f"count(*)::BIGINT, coalesce(sum(len(phases)), 0)::BIGINT, {sites_runs} > 0"
            ((runs, phases, has_sites),) = cursor.execute(f"SELECT {counts} FROM lines").fetchall()
            for name, query in queries.items():
                if has_sites or name not in tables.OF_SITES_RUNS:
                    file = tables.quote(folder / f"{name}.parquet")
                    cursor.execute(f"COPY ({query}) TO {file} (FORMAT parquet, COMPRESSION zstd)")
            return runs, phases
    except duckdb.IOException as error:
        raise OSError(str(error)) from None
