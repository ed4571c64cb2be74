"""Results that take long and follow from their arguments alone, kept from one command to the next.

They are in build/results/results.sqlite, which git ignores; with a wheel, in the user's cache directory. A wheel brings
some along: those that are computed of call stacks and histograms, which it has not. Each is found by the function's
name, its arguments and the code that decides it (see cache_file.py), and is JSON behind a checksum: reading it runs no
code, and a damaged result is computed again. Where the file is missing, locked or damaged, or cannot be written,
results are computed as usual."""

import atexit
import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from functools import cache
from typing import Any
from urllib.parse import quote

from tlsmem.base.cache_file import KEY_BYTES, compute_digest
from tlsmem.base.paths import DERIVED, IS_WHEEL, PUBLISHED

FILE = DERIVED / "results/results.sqlite"
BROUGHT = PUBLISHED / "results.json.xz"  # by a wheel: results by key
MOST_BYTES = 256 << 20  # of a larger file all results are forgotten
Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]
FAILURES = (sqlite3.Error, UnicodeDecodeError)  # Python fails to decode SQLite's message about a damaged schema
# The last two: a later format of SQLite's, and a table that has other columns.
DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_ERROR)

pending: dict[bytes, bytes] = {}  # written when the command ends, in one step


def recall(name: str, arguments: Json, code: bytes, compute: Callable[[], object]) -> Any:
    """Return `compute()`, or what it returned before for the same name, arguments and code.

    The result comes back from JSON, which must be able to hold it: tuples are lists, and keys of mappings strings."""
    key = make_key(name, arguments, code)
    found = pending.get(key) or read_result(key)
    if found is None:
        brought = read_brought()
        short = brought_key(key)
        found = pending[key] = json.dumps(brought[short] if short in brought else compute()).encode()
    return json.loads(found)


def make_key(name: str, arguments: Json, code: bytes) -> bytes:
    """Return what finds a result."""
    return compute_digest(json.dumps([name, arguments]).encode(), code)


@cache
def read_brought() -> dict[str, Json]:
    """Return the results that a wheel brings along, by `brought_key`."""
    if not IS_WHEEL:
        return {}
    import lzma

    brought: dict[str, Json] = json.loads(lzma.decompress(BROUGHT.read_bytes()))
    return brought


def brought_key(key: bytes) -> str:
    """Return what finds a result that a wheel brings along: the beginning of its key, as keys do not compress."""
    return key[:8].hex()


def read_result(key: bytes) -> bytes | None:
    """Return the stored result as JSON, or None when there is none, it is damaged or the file cannot be read."""
    connection = open_results()
    if not connection:
        return None
    try:
        row = connection.execute("SELECT result FROM results WHERE key = ?", [key]).fetchone()
    except FAILURES:
        connection.close()  # so that the command waits for a lock once, and not for each result
        return None
    if not row or not isinstance(row[0], bytes):
        return None
    checksum, found = row[0][:KEY_BYTES], row[0][KEY_BYTES:]
    return found if checksum == compute_digest(key, found) else None


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
    with suppress(OSError, *FAILURES):
        FILE.parent.mkdir(parents=True, exist_ok=True)
        if FILE.exists() and FILE.stat().st_size > MOST_BYTES:
            FILE.unlink()
        try:
            insert_pending()
        except FAILURES as error:
            if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) not in DAMAGED:
                raise
            FILE.unlink()
            insert_pending()


def insert_pending() -> None:
    """Insert all pending results, or none; make the file where there is none. Raises FAILURES."""
    rows = [(key, compute_digest(key, found) + found) for key, found in pending.items()]
    with closing(sqlite3.connect(FILE, timeout=1)) as connection, connection:
        connection.execute("PRAGMA synchronous = OFF")  # what is lost is computed again
        connection.execute("CREATE TABLE IF NOT EXISTS results (key BLOB PRIMARY KEY, result BLOB) WITHOUT ROWID")
        connection.executemany("INSERT OR REPLACE INTO results VALUES (?, ?)", rows)
