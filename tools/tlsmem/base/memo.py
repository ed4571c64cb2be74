"""Results that take long and follow from their arguments alone, kept from one command to the next.

They are in build/records/results.sqlite, which git ignores. Each is found by the function's name, its arguments and the
code that decides it (see cache_file.py). Without the file, or when it cannot be read or written, results are computed
as usual."""

import atexit
import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import cache
from typing import Any
from urllib.parse import quote

from tlsmem.base.cache_file import compute_digest
from tlsmem.base.paths import ROOT

FILE = ROOT / "build/records/results.sqlite"
MOST_BYTES = 256 << 20  # of a larger file all results are forgotten
Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]

pending: dict[bytes, str] = {}  # written when the command ends, in one step


def recall(name: str, arguments: Json, code: bytes, compute: Callable[[], object]) -> Any:
    """Return `compute()`, or what it returned before for the same name, arguments and code.

    The result comes back from JSON, which must be able to hold it: tuples are lists, and keys of mappings strings."""
    key = compute_digest(json.dumps([name, arguments]).encode(), code)
    found = pending.get(key) or read_result(key)
    if found is None:
        found = json.dumps(compute())
        pending[key] = found
    return json.loads(found)


def read_result(key: bytes) -> str | None:
    """Return the stored result as JSON text, or None when there is none or the file cannot be read."""
    connection = open_results()
    if not connection:
        return None
    try:
        row: tuple[str] | None = connection.execute("SELECT result FROM results WHERE key = ?", [key]).fetchone()
    except sqlite3.Error:
        return None
    return row[0] if row else None


@cache
def open_results() -> sqlite3.Connection | None:
    """Open the file of results for reading; return None when there is none."""
    try:
        return sqlite3.connect(f"file:{quote(str(FILE))}?mode=ro", uri=True, timeout=1)
    except sqlite3.Error:
        return None


@atexit.register
def write_results() -> None:
    """Write the pending results; a failure is not reported, because they can be computed again."""
    if not pending:
        return
    try:
        FILE.parent.mkdir(parents=True, exist_ok=True)
        if FILE.exists() and FILE.stat().st_size > MOST_BYTES:
            FILE.unlink()
        with closing(sqlite3.connect(FILE, timeout=1)) as connection, connection:
            connection.execute("PRAGMA synchronous = OFF")  # what is lost is computed again
            connection.execute("CREATE TABLE IF NOT EXISTS results (key BLOB PRIMARY KEY, result TEXT) WITHOUT ROWID")
            connection.executemany("INSERT OR REPLACE INTO results VALUES (?, ?)", pending.items())
    except (OSError, sqlite3.Error):
        pass
