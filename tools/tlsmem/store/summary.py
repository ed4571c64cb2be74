"""The summary of a recording, which an installed package has in place of its files: the columns of each file, without
call stacks and histograms of latencies.

It is one file of compressed JSON, with each column of all files in a row, which packs better than file by file. A
column that other columns nearly give, as the total of all owners, is what it differs by from their sum."""

import json
import lzma
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic_core import from_json, to_json

from tlsmem.base.errors import UserError
from tlsmem.store import tables
from tlsmem.store.columns import PHASE_KINDS, RUN_KINDS, Columns, Content, Pieces, pack_pieces

FILES = {"runs": "runs.columns", "phases": "phases.columns"}  # of an entry, by table
KINDS = {"runs": RUN_KINDS, "phases": PHASE_KINDS}
SUMS: Mapping[str, Sequence[str]] = {  # columns of phases that these others nearly give, which stand before them
    "rss_bytes": ("rss_anon_bytes", "rss_file_bytes", "rss_shmem_bytes"),
    "rollup_rss_bytes": ("rss_bytes",),
    "rollup_anon_bytes": ("rss_anon_bytes",),
    "peak_rss_bytes": ("rss_bytes",),
    **{f"total_{count}": [f"{owner}_{count}" for owner in tables.OWNERS[:-1]] for count in tables.COUNTS},
}
# It takes a tenth less than zstd's highest level.
FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 4, "pb": 0, "nice_len": 273}]
NUMBER = re.compile("0|[1-9][0-9]*")  # as its digits say it: 05 is two
Column = Any  # as columns.py has it in a file
Table = dict[str, Column]  # by name


def pack_summary(folders: Mapping[str, Path]) -> bytes:
    """Return the summary of the files of a recording from their entries' folders, by the files' names."""
    found = [{table: read_table(folder / file) for table, file in FILES.items()} for folder in folders.values()]
    for one in found:
        one["runs"]["timings"] = drop_histograms(one["runs"]["timings"])
        one["phases"]["allocator"] = exchange_free_bytes(one["phases"]["allocator"])
        one["phases"] |= {name: subtract(one["phases"], name, sources) for name, sources in SUMS.items()}
    columns: dict[str, Table] = {
        table: {name: [one[table][name] for one in found] for name in kinds} for table, kinds in KINDS.items()
    }
    columns["phases"]["allocator"] = split_numbers(columns["phases"]["allocator"])
    return compress(to_json({"files": [*folders], **columns}))


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
        found["phases"]["allocator"] = join_numbers(*found["phases"]["allocator"])
        return {name: unpack_file(found, at) for at, name in enumerate(found["files"])}
    except (OSError, ValueError, LookupError, TypeError, lzma.LZMAError) as error:
        raise UserError(f"{file}: cannot be read; install the package again ({error})") from None


def unpack_file(found: dict[str, Any], at: int) -> Content:
    """Return the columns of the file with this number."""
    made: dict[str, Table] = {table: {name: column[at] for name, column in found[table].items()} for table in FILES}
    for name, sources in SUMS.items():
        made["phases"][name] = add(made["phases"], name, sources)
    made["phases"]["allocator"] = exchange_free_bytes(made["phases"]["allocator"])
    packed = {FILES[table]: pack_pieces({name: to_json(one) for name, one in made[table].items()}) for table in FILES}
    return Content(packed, count_rows(made["runs"]["digest"]), count_rows(made["phases"]["phase"]))


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


def split_numbers(columns: Sequence[Column]) -> list[Any]:
    """Return columns of texts, one for each file, with each text as the number of its form: what stands between its
    numbers. Then the forms, each with its numbers in columns over all files, which pack a quarter smaller."""
    forms: dict[tuple[str, ...], tuple[int, list[list[int]]]] = {}

    def take(text: str | None) -> int | None:
        if text is None:
            return None
        form, numbers = tuple(NUMBER.split(text)), [int(one) for one in NUMBER.findall(text)]
        place, rows = forms.setdefault(form, (len(forms), []))
        rows.append(numbers)
        return place

    made = [change_values(column, take) for column in columns]
    return [made, [(form, len(rows), [*zip(*rows, strict=True)]) for form, (_, rows) in forms.items()]]


def join_numbers(columns: Sequence[Column], forms: Sequence[tuple[Sequence[str], int, Sequence[Sequence[int]]]]) -> Any:
    """Return what `split_numbers` was called with."""
    texts = []
    for (first, *others), count, numbers in forms:
        rows = zip(*numbers, strict=True) if others else [()] * count
        texts.append(
            iter([first + "".join(f"{one}{after}" for one, after in zip(row, others, strict=True)) for row in rows])
        )
    return [change_values(column, lambda place: None if place is None else next(texts[place])) for column in columns]


def change_values(column: Column, change: Callable[[Any], Any]) -> Column:
    """Return a column of texts with each of its values changed."""
    return column if isinstance(column, int) else {**column, "values": [change(one) for one in column["values"]]}


def subtract(table: Table, name: str, sources: Sequence[str]) -> Column:
    """Return what the column differs by from the sum of others; itself, where one of them has no value."""
    column, others = table[name], [table[source] for source in sources]
    if isinstance(column, int) or any(isinstance(one, int) for one in others):
        return column
    return [None if value is None else value - sum(some) for value, *some in zip(column, *others, strict=True)]


def add(table: Table, name: str, sources: Sequence[str]) -> Column:
    """Return what `subtract` was called with."""
    column, others = table[name], [table[source] for source in sources]
    if isinstance(column, int) or any(isinstance(one, int) for one in others):
        return column
    return [None if value is None else value + sum(some) for value, *some in zip(column, *others, strict=True)]
