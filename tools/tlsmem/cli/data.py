"""tls-memtest data: check, seal and query recordings."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from tlsmem.base import stdout
from tlsmem.base.errors import UserError
from tlsmem.base.repository import is_no_directory, is_sealed, require_clone
from tlsmem.cli.command import Command, CommandParser, each
from tlsmem.cli.kinds import NAME_DIRECTORY
from tlsmem.cli.options import REQUIRED, Words
from tlsmem.config.choices import TABLE_FILES


def print_schema(given: argparse.Namespace, asked: CommandParser) -> None:
    from tlsmem.schema.records import RecordLine

    with stdout.raise_write_errors():
        print(json.dumps(RecordLine.model_json_schema(), indent=2))


def seal(given: argparse.Namespace, asked: CommandParser) -> None:
    from tlsmem.schema import seal_recording
    from tlsmem.schema.recording_files import require_recording

    recording: Path = given.recording
    try:
        made = seal_recording.seal(require_recording(recording))
    except ValueError as error:
        raise UserError(f"{error}; nothing was sealed") from None
    except OSError as error:
        raise UserError(f"{error.filename or recording}: {error.strerror}; the recording is unchanged") from None
    with stdout.raise_write_errors():
        for directory, manifest in made.items():
            plain = sum(file.plain_bytes for file in manifest.files.values())
            packed = sum((directory / name).stat().st_size for name in manifest.files)
            counts = f"{manifest.records:,} records, {len(manifest.files)} files"
            print(f"{directory}: sealed: {counts}, {plain:,} B packed into {packed:,} B")


def verify(given: argparse.Namespace, asked: CommandParser) -> int:
    with stdout.raise_write_errors():
        intact = [is_intact(name) for name in given.recordings]
        return 0 if all(intact) else 1


def is_intact(name: Path) -> bool:
    """Return whether nothing is wrong with a recording, which is said."""
    from tlsmem.schema import seal_recording
    from tlsmem.schema.recording_files import has_summary, require_recording

    try:
        recording = require_recording(name)
    except ValueError as error:
        print(f"memtest: {error}", file=sys.stderr)
        return False
    if has_summary(recording):
        require_clone("data verify of a published recording")
    failures = list(seal_recording.verify(recording))
    for failure in failures:
        print(failure, file=sys.stderr)
    if not failures:
        print(f"{name}: {describe_seal(seal_recording.list_directories(recording))} nothing is wrong with it")
    return not failures


def describe_seal(directories: Sequence[Path]) -> str:
    """Return the beginning of a sentence that says which of a recording's directories are sealed."""
    plain = [directory for directory in directories if not is_sealed(directory)]
    if len(plain) == len(directories):
        return "not sealed;"
    return f"sealed, except for the runs in {plain[0]};" if plain else "sealed, and"


def query(given: argparse.Namespace, asked: CommandParser) -> int | None:
    from tlsmem.tables import documented_queries, sql_answers

    if given.into and given.query is None and documented_queries.has_queries(given.into):
        documented_queries.run(given.into)
        return 0
    return sql_answers.answer(given, asked)


def check_export(given: argparse.Namespace, asked: CommandParser) -> None:
    place: Path = given.output
    if given.format in TABLE_FILES:
        if file := next((one for one in (place, *place.parents) if is_no_directory(one)), None):
            raise UserError(f"-o {place}: {file} is a file; {NAME_DIRECTORY}", 2)
    elif given.table:
        raise UserError(f"--table is for {' and '.join(TABLE_FILES)}; leave it out with --format {given.format}", 2)
    elif place.is_dir():
        raise UserError(f"-o {place} is a directory; with --format {given.format}, name a file", 2)


def export(given: argparse.Namespace, asked: CommandParser) -> int:
    from tlsmem.schema import recording_files

    if given.format in TABLE_FILES:
        from tlsmem.tables import sql_answers

        sql_answers.export(given)
    else:
        from tlsmem.cost import figure_files

        figure_files.export(given.recordings, given.format, given.output)
    return 1 if recording_files.skipped_lines else 0


COMMANDS = (
    Command(
        "data seal",
        "pack a complete recording, which takes no more runs then",
        each("recording sealed"),
        seal,
        examples="  tools/tls-memtest data seal data/local/mine",
    ),
    Command(
        "data verify",
        "check recordings: each line, and sealed files against their manifest",
        each("recordings verified"),
        verify,
        examples="  tools/tls-memtest data verify data/20*",
    ),
    Command(
        "data schema",
        "the JSON schema of a record; docs/reference/records.md has the format",
        {},
        print_schema,
        examples="  tools/tls-memtest data schema > docs/reference/record.schema.json",
    ),
    Command(
        "data sql",
        "query recordings in SQL, as tables: runs, phases, blocks, call stacks",
        each("query", "recordings queried", "output text")
        | {"page of queries": None, "format": Words("table on a terminal, else markdown")},
        query,
        """\
Query recordings in SQL (DuckDB). Without a query, list the tables with all columns.

Tables join by their column `run`. A query reads the recordings and changes nothing. JSON is {"tables": [{"rows":
[{COLUMN: VALUE}]}]}. docs/how-to/query.md has queries to begin with, docs/reference/tables.md every column.

--into PAGE without a query runs the queries of the page, which are blocks of sql, over the recordings of the
repository, and writes each result below its query. A block without a table below it makes views for later queries.
Paths in these queries are relative to the root of the repository.""",
        """\
  tools/tls-memtest data sql
  tools/tls-memtest data sql "select recording, count(*) from runs group by all"
  tools/tls-memtest data sql "select stack, count(*) from runs group by all" data/2026-11-22-amd-epyc --format csv
  tools/tls-memtest data sql --into docs/reference/records.md""",
    ),
    Command(
        "data export",
        "write recordings into files for other tools: tables, or costs for a CI",
        each("recordings queried", "table exported", "format export", "output export")
        | {"format export": "parquet", "output export": REQUIRED},
        export,
        """\
Write the tables of recordings, as `tls-memtest data sql` lists them, into a directory: one file for each table, all of
them or none.

With --format github-action-benchmark, bencher or openmetrics, write one file instead: what a session costs, for each
stack, suite and role, as `tls-memtest cost` has it. docs/how-to/ci.md shows its use.""",
        """\
  tools/tls-memtest data export -o build/tables --table runs --table phases
  tools/tls-memtest data export data/2026-11-22-amd-epyc --format csv -o build/tables
  tools/tls-memtest data export gate-runs --format bencher -o costs.json
  tools/tls-memtest data export data/2026-11-26-amd-epyc-p355e --format openmetrics -o -""",
        check_export,
    ),
)
