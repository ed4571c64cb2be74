"""The summary of a recording, which an installed package has in place of its files: the columns of each file, without
call stacks and histograms of latencies.

It is one file of compressed JSON, with each column of all files in a row, which packs better than file by file. Numbers
are written as what they differ by from what is expected of them: summary_columns.py. Keys that follow from what else
a run declares are left out."""

import json
import lzma
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic_core import from_json, to_json

from tlsmem.base.errors import UserError
from tlsmem.schema.records import ALL_KEY_FIELDS, run_key
from tlsmem.store import summary_columns, tables
from tlsmem.store.columns import (
    CODED,
    PHASE_KINDS,
    RUN_KINDS,
    Columns,
    Content,
    Pieces,
    decode_column,
    encode_column,
    pack_pieces,
)
from tlsmem.store.summary_columns import Before, Column, Table

FILES = {"runs": "runs.columns", "phases": "phases.columns"}  # of an entry, by table
KINDS = {"runs": RUN_KINDS, "phases": PHASE_KINDS}
NUMBERS = [name for name, kind in PHASE_KINDS.items() if kind == tables.INTEGER]  # of phases
# It takes a tenth less than zstd's highest level.
FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 4, "pb": 0, "nice_len": 273}]


def pack_summary(folders: Mapping[str, Path]) -> bytes:
    """Return the summary of the files of a recording from their entries' folders, by the files' names."""
    found = [{table: read_table(folder / file) for table, file in FILES.items()} for folder in folders.values()]
    befores = [find_rows_before(one) for one in found]
    for one, before in zip(found, befores, strict=True):
        runs, phases = one["runs"], one["phases"]
        if make_keys(runs) == runs["key"]:
            runs["key"] = None
        runs["timings"] = drop_histograms(runs["timings"])
        phases["allocator"] = exchange_free_bytes(phases["allocator"])
        phases |= summary_columns.pack_numbers(phases, NUMBERS, before)
    columns: dict[str, Table] = {
        table: {name: [one[table][name] for one in found] for name in kinds} for table, kinds in KINDS.items()
    }
    texts, forms = summary_columns.split_numbers(columns["phases"]["allocator"], befores)
    columns["phases"]["allocator"] = texts
    for name, coded in list_coded(columns):
        coded[name] = [column and summary_columns.count_back(column) for column in coded[name]]
    return compress(to_json({"files": [*folders], **columns, "forms": forms}))


def list_coded(columns: Mapping[str, Table]) -> list[tuple[str, Table]]:
    """Return the columns of texts: the name of each, and the table that it is in."""
    return [(name, columns[table]) for table, kinds in KINDS.items() for name, kind in kinds.items() if kind in CODED]


def find_rows_before(one: Mapping[str, Table]) -> Before:
    """Return for each row of a file's phases the one before it of the same process."""
    processes, counts = decode_column(one["phases"]["process"], None), decode_column(one["runs"]["phases"], None)
    return summary_columns.find_rows_before(processes, counts)


def make_keys(runs: Table) -> Column:
    """Return the column of keys that follows from the other columns of runs."""
    rows = {
        name: decode_column(runs[name], from_json if RUN_KINDS[name] == tables.JSON else None)
        for name in [*ALL_KEY_FIELDS, "schema"]
    }
    keys = []
    for values in zip(*rows.values(), strict=True):
        fields = dict(zip(rows, values, strict=True))
        if fields["schema"] == 1:
            del fields["env"]  # such a line has none
        keys.append(run_key(fields))
    return from_json(encode_column(keys, tables.TEXT))


def compress(content: bytes) -> bytes:
    """Return the content as small as it gets; lzma.decompress has it back."""
    return lzma.compress(content, filters=FILTERS)


def read_table(file: Path) -> Table:
    """Return the columns of a file of them, as they stand there."""
    pieces = Pieces(file)
    return {name: pieces.read(name) for name in pieces.index[1]}


def unpack_summary(file: Path) -> dict[str, Content]:
    """Return the columns of each file of a recording, by its name. Raises UserError where the summary is damaged."""
    try:
        found = from_json(lzma.decompress(file.read_bytes()))
        for name, coded in list_coded(found):
            coded[name] = [column and summary_columns.count_forth(column) for column in coded[name]]
        files = [
            {table: {name: column[at] for name, column in found[table].items()} for table in FILES}
            for at in range(len(found["files"]))
        ]
        befores = [*map(find_rows_before, files)]
        texts = summary_columns.join_numbers(found["phases"]["allocator"], found["forms"], befores)
        return {name: unpack_file(*one) for name, *one in zip(found["files"], files, befores, texts, strict=True)}
    except (OSError, ValueError, LookupError, TypeError, StopIteration, lzma.LZMAError) as error:
        raise UserError(f"{file}: cannot be read; install the package again ({error})") from None


def unpack_file(made: Mapping[str, Table], before: Before, allocator: Column) -> Content:
    """Return the columns of a file. `allocator`: its statistics, put together again."""
    runs, phases = made["runs"], made["phases"]
    if runs["key"] is None:
        runs["key"] = make_keys(runs)
    summary_columns.unpack_numbers(phases, NUMBERS, before)
    phases["allocator"] = exchange_free_bytes(allocator)
    packed = {FILES[table]: pack_pieces({name: to_json(one) for name, one in made[table].items()}) for table in FILES}
    return Content(packed, count_rows(runs["digest"]), count_rows(phases["phase"]))


def rebuild_lines(folder: Path) -> list[bytes]:
    """Return the lines of the runs whose columns are in this folder, each with its digest, as tables for queries are
    made of them: what a sites run had by call stack is empty."""
    runs, phases = (read_rows(folder / FILES[table], kinds) for table, kinds in KINDS.items())
    lines, first = [], 0
    for run in runs:
        end = first + run["phases"]
        run |= {"phases": [rebuild_phase(phase) for phase in phases[first:end]]}
        run |= {"sites": {"frames": [], "stacks": []} if run["sites"] else None}
        lines.append(to_json(run))
        first = end
    return lines


def read_rows(file: Path, kinds: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the rows of a file of columns, by the columns' names."""
    columns = Columns(file, {name: from_json for name, kind in kinds.items() if kind == tables.JSON})
    return [dict(zip(kinds, row, strict=True)) for row in zip(*(columns[name] for name in kinds), strict=True)]


def rebuild_phase(row: dict[str, Any]) -> dict[str, Any]:
    """Return a phase as it stands in a line."""
    phase = {name: row[name] for name in tables.PHASE_COLUMNS}
    for part, columns in (("heap", tables.HEAP_COLUMNS), ("sites", tables.PAIR_COLUMNS)):
        phase[part] = None
        for name, place in columns.items():
            if row[name] is not None:
                set_place(phase, place.split("."), row[name])
    return phase


def set_place(phase: dict[str, Any], place: Sequence[str], value: object) -> None:
    """Set the value at a place of a phase, in objects that are made."""
    *outer, last = place
    for name in outer:
        phase[name] = phase.get(name) or {}
        phase = phase[name]
    phase[last] = value


def count_rows(column: Column) -> int:
    """Return how many rows a column of texts has."""
    return column if isinstance(column, int) else len(column["rows"])


def drop_histograms(column: Column) -> Column:
    """Return the column of timings without the histograms of their parts."""
    return change_values(column, lambda text: text and drop_histogram(text))


def drop_histogram(text: str) -> str:
    """Return the JSON of the threads of a timed run without the histograms of their parts."""
    threads = json.loads(text)
    for thread in threads:
        for part in thread["parts"]:
            part.pop("histogram", None)
    return to_json(threads).decode()


def exchange_free_bytes(column: Column) -> Column:
    """Return the column of allocator statistics with glibc's free bytes as what they differ by from all bytes less
    those in use, or from that back."""
    return change_values(column, lambda text: text and exchange_in_text(text))


def exchange_in_text(text: str) -> str:
    """Return the JSON of the statistics of a phase, so changed."""
    found = json.loads(text)
    if glibc := found.get("glibc"):
        glibc["fordblks_bytes"] = glibc["arena_bytes"] - glibc["uordblks_bytes"] - glibc["fordblks_bytes"]
    return to_json(found).decode()


def change_values(column: Column, change: Callable[[Any], Any]) -> Column:
    """Return a column of texts with each of its values changed."""
    return column if isinstance(column, int) else {**column, "values": [change(one) for one in column["values"]]}
