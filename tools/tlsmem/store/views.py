"""Recordings as tables for queries: DuckDB views of what the store has of their files.

`run` names a run in every table: RECORDING/FILE:PLACE, its place in its file from 1. Two tables share no other columns
than those by which their rows belong together. What the columns mean is in column_meanings.py."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import duckdb

from tlsmem.base.errors import Usage
from tlsmem.base.paths import ROOT
from tlsmem.schema import configuration_records, live_records, recording_files
from tlsmem.schema.manifest import BadRecording
from tlsmem.schema.recording_files import PLAIN, SEALED
from tlsmem.store import tables
from tlsmem.store.read_runs import find_entries

COMMITTED = "20*"  # names of the repository's recordings, below data/
JSON_FIELDS = {  # columns of their own, as they are asked for most
    "allocator_name": ("allocator", "name"),
    "machine_cpu": ("machine", "cpu"),
    "machine_kernel": ("machine", "kernel"),
    "negotiated_protocol": ("negotiated", "protocol"),
    "negotiated_cipher": ("negotiated", "cipher"),
    "negotiated_group": ("negotiated", "group"),
    "peer_stack": ("peer", "stack"),
}
SETTINGS = (  # the words KEY=VALUE that the harness got
    "map_from_entries([(split_part(word, '=', 1), word[strpos(word, '=') + 1:])"
    " FOR word IN argv[3:] IF contains(word, '=')])"
)
FIELDS = ", ".join(f"{column}->>'$.{field}' AS {name}" for name, (column, field) in JSON_FIELDS.items())


def select_blocks(kind: str) -> str:
    """Return the query of the blocks of a kind, which are a list of each phase."""
    of_phase = "run, position, phase, process"
    since = "phase" if kind == "temporary" else "b.since"
    return (
        f"SELECT {of_phase}, '{kind}' AS kind, b.role, {since} AS since, b.stack AS callstack, b.blocks, b.bytes"
        f" FROM (SELECT {of_phase}, unnest({kind}) AS b FROM store.sites)"
    )


VIEWS = {  # of the tables of the store; of a run that was made again the last one counts
    "runs": (
        "SELECT recording, run, split_part(stack, '@', 1) AS library, split_part(stack, '@', 2) AS release,"
        " * EXCLUDE (recording, run, place, phases, sites), phases AS phase_count, sites AS has_sites,"
        f" {SETTINGS} AS settings, {FIELDS} FROM store.runs"
        " QUALIFY row_number() OVER (PARTITION BY recording, key ORDER BY started_at DESC, place DESC) = 1"
    ),
    "phases": "SELECT * EXCLUDE (recording, place) RENAME (allocator AS allocator_statistics) FROM store.phases",
    "blocks": " UNION ALL ".join(map(select_blocks, tables.BLOCKS)),
    "stacks": (
        "SELECT run, callstack, depth, unnest(frame) FROM (SELECT run, number - 1 AS callstack,"
        " generate_subscripts(stacks[number], 1) - 1 AS depth, frames[unnest(stacks[number]) + 1] AS frame"
        " FROM (SELECT run, frames, stacks, generate_subscripts(stacks, 1) AS number FROM store.callstacks))"
    ),
    "live": "SELECT recording, run, position, * EXCLUDE (recording, run, position, place) FROM store.live",
    "live_samples": "SELECT * EXCLUDE (recording, place) FROM store.samples",
}
NO_CALL_STACKS = "blocks and stacks: need a clone of the repository; the installed package has runs and phases"
MACROS = (  # of each pair of sessions a role has one; rows without the amount do not count
    "CREATE MACRO per_session(amount, sessions) AS 2 * (max_by(amount, sessions) - min_by(amount, sessions)) / nullif("
    "max(sessions) FILTER (WHERE amount IS NOT NULL) - min(sessions) FILTER (WHERE amount IS NOT NULL), 0)",
)


class Recordings:
    """The tables of recordings as DuckDB relations: `.df()`, `.pl()`, `.arrow()` or `.fetchall()` of one has its rows.

    `sql` answers a query of the tables; `connection` is DuckDB's, with a view for each."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.connection = connection
        self.runs, self.phases, self.blocks, self.stacks, self.live, self.live_samples = map(connection.view, VIEWS)

    def __repr__(self) -> str:
        return f"Recordings, with the tables {', '.join(VIEWS)}"

    def sql(self, query: str) -> duckdb.DuckDBPyRelation:
        """Return what a query finds. Raises what DuckDB raises."""
        return self.connection.sql(query)


def read(*recordings: Path | str) -> Recordings:
    """Return the tables of these recordings: directories, files of them, or names below data/. Without any, those of
    the repository.

    Raises UserError with a sentence where there is no such recording, or a line of one is no record."""
    return Recordings(define_views(duckdb.connect(), find_files(recordings)))


def find_files(recordings: Iterable[Path | str]) -> list[Path]:
    """Return the files of these recordings, live runs too. Raises as `read` does."""
    found = [recording_files.require_recording(one) for one in recordings] or [*filter(has_tables, list_committed())]
    return list({file.resolve(): file for recording in found for file in list_files(recording)}.values())


def list_committed() -> list[Path]:
    """Return the recordings of the repository, by name. Raises Usage where there are none: outside a clone."""
    found = sorted(one for one in (ROOT / "data").glob(COMMITTED) if one.is_dir())
    if not found:
        raise Usage(f"{ROOT / 'data'}: there are no recordings; name a recording, or run this in a clone")
    return found


def list_files(recording: Path) -> list[Path]:
    """Return the files of a recording, those of its live runs last. Raises BadRecording where there is none."""
    if found := find_tabled(recording):
        return found
    if (recording / configuration_records.FOLDER).is_dir():
        raise BadRecording(
            f"{recording}: has measurements of configurations only, of which there is no table for queries; try:"
            f" tls-memtest measure configuration {recording} --format csv"
        )
    raise BadRecording(f"{recording}: no recording here (no {PLAIN} file)")


def has_tables(recording: Path) -> bool:
    """Tell whether there are tables of a recording: a configuration's runs have none."""
    return bool(find_tabled(recording)) or not (recording / configuration_records.FOLDER).is_dir()


def find_tabled(recording: Path) -> list[Path]:
    """Return the files of a recording of which there are tables, those of its live runs last."""
    live = recording / live_records.FOLDER
    return [*recording_files.list_files(recording), *(recording_files.list_files(live) if live.is_dir() else ())]


def name_file(file: Path) -> tuple[str, str]:
    """Return the name of the recording that a file is of, as people type it, and the file's name there."""
    directory, name = file.parent, f"{file.name.removesuffix(SEALED).removesuffix(PLAIN)}{PLAIN}"
    if directory.name == live_records.FOLDER:
        directory, name = directory.parent, f"{live_records.FOLDER}/{name}"
    place = Path(os.path.abspath(directory))
    return str(place.relative_to(ROOT / "data") if place.is_relative_to(ROOT / "data") else directory), name


def define_views(connection: duckdb.DuckDBPyConnection, files: Sequence[Path]) -> duckdb.DuckDBPyConnection:
    """Define the views of these files, and return the connection. Raises BadRecording as `read` does."""
    entries = find_entries(files, as_parquet=True)
    connection.execute("CREATE SCHEMA store; CREATE TABLE store.files (path TEXT, recording TEXT, file TEXT)")
    for line, queries in ((tables.LINE, tables.TABLES), (tables.LIVE_LINE, tables.LIVE_TABLES)):
        for name, query in queries.items():
            named = {
                str(one.table(name)): name_file(file)
                for one, file in zip(entries, files, strict=True)
                if one.table(name).exists()
            }
            if named:
                rows = ", ".join(f"({', '.join(map(tables.quote, (path, *names)))})" for path, names in named.items())
                connection.execute(f"INSERT INTO store.files VALUES {rows}")
            if name in tables.OF_SITES_RUNS and any(map(recording_files.is_summarised, files)):
                found = f"{select_none(line, query)} UNION ALL {fail(connection, select_none(line, query))}"
            else:
                found = select_files([*named]) or select_none(line, query)
            connection.execute(f"CREATE VIEW store.{name} AS {found}")
    for name, query in VIEWS.items():
        connection.execute(f"CREATE VIEW {name} AS {query}")
    for statement in MACROS:
        connection.execute(statement)
    return connection


def select_files(paths: Sequence[str]) -> str:
    """Return the query of the rows of Parquet files, with the names of their recordings and runs; nothing if there is
    no file."""
    listed = ", ".join(map(tables.quote, paths))
    if not listed:
        return ""
    return (
        "SELECT f.recording, f.recording || '/' || f.file || ':' || (p.run + 1) AS run, p.run AS place,"
        f" p.* EXCLUDE (run, filename) FROM read_parquet([{listed}], filename = true, hive_partitioning = false) AS p"
        " JOIN store.files AS f ON f.path = p.filename"
    )


def fail(connection: duckdb.DuckDBPyConnection, query: str) -> str:
    """Return a query of as many columns that fails."""
    columns = ", ".join(["NULL"] * len(connection.sql(query).columns))
    return f"SELECT {columns} FROM range(1) WHERE error({tables.quote(NO_CALL_STACKS)}) IS NULL"


def select_none(line: Mapping[str, str], query: str) -> str:
    """Return a query of the same columns that has no rows."""
    nothing = ", ".join(f'NULL::{kind} AS "{name}"' for name, kind in {"run": tables.INTEGER, **line}.items())
    return (
        f"WITH lines AS (SELECT {nothing} WHERE false)"
        f" SELECT '' AS recording, '' AS run, run AS place, * EXCLUDE run FROM ({query})"
    )
