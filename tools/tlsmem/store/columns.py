"""Files of pieces, each of which is read alone, when it is first used: the columns of a table, which shows few of a
hundred, or the call stacks of a run.

A file begins with a line of JSON: where each piece begins after that line, and how many bytes it has. A piece is JSON,
compressed. A column is a list with a value a row; one of texts or lists is an object whose `values` are the distinct
ones, and whose `rows` has for each row the number of its value, from 0; one without any value is its number of rows.
Reading this takes a half to a seventh of the time that DuckDB takes for Parquet, and DuckDB's import takes longer than
the columns of most tables: the figures are in docs/explanation/store.md."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from backports import zstd
from pydantic_core import from_json, to_json

from tlsmem.base.errors import UserError
from tlsmem.base.repository import require_clone
from tlsmem.schema.records import RecordLine, digest_line
from tlsmem.store import tables

LEVEL = 1  # of compression: higher ones take longer and save little
CODED = (tables.TEXT, f"{tables.TEXT}[]", tables.JSON)  # columns whose distinct values are few
Convert = Callable[[Any], Any]  # what the store has of a value to what records have; null is None and stays so
Row = tuple[Any, ...]
Read = Callable[[Any], Row]  # from an object to its values


def read_part(places: Collection[str], part: str) -> Read:
    """Return what reads the values at these places of a phase from the part that they are in: None where it is."""
    read = attrgetter(*(place.removeprefix(f"{part}.") for place in places))
    nothing = (None,) * len(places)
    return lambda found: nothing if found is None else read(found)


PEAKS = "sites.peak_bytes"
PAIR_PLACES = tables.PAIR_COLUMNS.values()
RUN_KINDS = {**tables.RUN_COLUMNS, "phases": tables.INTEGER, "sites": tables.BOOLEAN}
PHASE_KINDS = {**tables.PHASE_COLUMNS, **dict.fromkeys([*tables.HEAP_COLUMNS, *tables.PAIR_COLUMNS], tables.INTEGER)}
RUN_FIELDS = ["schema_" if name == "schema" else name for name in tables.RUN_COLUMNS if name != "digest"]
read_run: Read = attrgetter(*RUN_FIELDS)
read_own: Read = attrgetter(*tables.PHASE_COLUMNS)
read_heap = read_part(tables.HEAP_COLUMNS.values(), "heap")
read_pair = read_part([place for place in PAIR_PLACES if not place.startswith(PEAKS)], "sites")
read_peaks = read_part([place for place in PAIR_PLACES if place.startswith(PEAKS)], PEAKS)


class Content(NamedTuple):
    """What an entry of columns has: its files, by name, and their numbers of rows."""

    files: Mapping[str, bytes]
    runs: int
    phases: int

    def write(self, folder: Path) -> tuple[int, int]:
        """Write the files into a folder; return the numbers of runs and phases. Raises OSError."""
        for name, packed in self.files.items():
            (folder / name).write_bytes(packed)
        return self.runs, self.phases


def pack_records(records: Iterable[tuple[RecordLine, bytes]]) -> Content:
    """Return the columns of records, each beside its line, and what tables read of one sites run at a time."""
    runs, phases, blocks, callstacks = list[Row](), list[Row](), dict[str, bytes](), dict[str, bytes]()
    for record, line in records:
        if record.sites:
            pairs = [one.sites for one in record.phases]
            blocks[str(len(runs))] = to_json(
                [{name: getattr(one, name, None) for name in tables.BLOCKS} for one in pairs]
            )
            callstacks[str(len(runs))] = to_json(record.sites)
        runs.append((digest_line(line), *read_run(record), len(record.phases), record.has_sites))
        for one in record.phases:
            peaks = one.sites and one.sites.peak_bytes
            phases.append((*read_own(one), *read_heap(one.heap), *read_pair(one.sites), *read_peaks(peaks)))
    files = {"runs.columns": pack_rows(runs, RUN_KINDS), "phases.columns": pack_rows(phases, PHASE_KINDS)}
    files |= {"blocks.pieces": pack_pieces(blocks), "callstacks.pieces": pack_pieces(callstacks)} if blocks else {}
    return Content(files, len(runs), len(phases))


def pack_rows(rows: Sequence[Row], kinds: Mapping[str, str]) -> bytes:
    """Return a file of these columns, which have a kind each, from rows of as many values."""
    columns = zip(*rows, strict=True) if rows else [()] * len(kinds)
    return pack_pieces(
        {name: encode_column(column, kind) for (name, kind), column in zip(kinds.items(), columns, strict=True)}
    )


def pack_pieces(pieces: Mapping[str, bytes]) -> bytes:
    """Return a file of pieces of JSON by name."""
    packed = {name: zstd.compress(text, LEVEL) for name, text in pieces.items()}
    ends = accumulate(map(len, packed.values()))
    index = {name: (end - len(packed[name]), len(packed[name])) for name, end in zip(packed, ends, strict=True)}
    return b"".join([to_json(index), b"\n", *packed.values()])


def encode_column(rows: Sequence[Any], kind: str) -> bytes:
    """Return the JSON of a column of one of the kinds in tables.py."""
    if all(value is None for value in rows):
        return to_json(len(rows))
    if kind not in CODED:
        return to_json(rows)
    keys = [None if value is None else make_key(value, kind) for value in rows]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return to_json({"values": [*numbers], "rows": [numbers[key] for key in keys]})


def make_key(value: Any, kind: str) -> Any:
    """Return what the file has of a value, and equal values alike: of JSON its text."""
    if kind == tables.JSON:
        return to_json(value).decode()
    return tuple(value) if isinstance(value, list) else value


class Pieces:
    """A file of pieces."""

    def __init__(self, file: Path) -> None:
        self.file = file

    @cached_property
    def index(self) -> tuple[int, dict[str, list[int]]]:
        """How long the first line is, and where the pieces begin after it, with their sizes; in bytes."""
        with self.file.open("rb") as content:
            line = content.readline()
        return len(line), from_json(line)

    def read(self, name: str) -> Any:
        """Return a piece. Raises UserError where it cannot be read."""
        try:
            length, places = self.index
            offset, size = places[name]
            with self.file.open("rb") as content:
                content.seek(length + offset)
                return from_json(zstd.decompress(content.read(size)))
        except (OSError, ValueError, KeyError, zstd.ZstdError) as error:
            if not self.file.exists() and self.file.parent.exists():
                require_clone("call stacks of recordings")
            raise UserError(f"{self.file}: was changed meanwhile; run the command again ({error})") from None


class Columns(dict[str, list[Any]]):
    """The columns of a file of them: a list each, with a value a row, which is there when it is asked for."""

    def __init__(self, file: Path, convert: Mapping[str, Convert]) -> None:
        super().__init__()
        self.pieces, self.convert = Pieces(file), convert

    def __missing__(self, name: str) -> list[Any]:
        self[name] = made = decode_column(self.pieces.read(name), self.convert.get(name))
        return made


def decode_column(found: Any, convert: Convert | None) -> list[Any]:
    """Return the rows of a column; equal values are converted once, and are one object."""
    if isinstance(found, int):
        return [None] * found
    if isinstance(found, list):
        return found
    values = found["values"]
    if convert:
        values = [None if value is None else convert(value) for value in values]
    return [values[number] for number in found["rows"]]
