"""Files of pieces, each of which is read alone, when it is first used: the columns of a table, which shows few of a
hundred, or the call stacks of a run.

A file begins with a line of JSON: where each piece begins after that line, and how many bytes it has. A piece is JSON,
compressed. A column is a list with a value a row; one of texts or lists is an object whose `values` are the distinct
ones, and whose `rows` has for each row the number of its value, from 0. Reading this takes a half to a seventh of the
time that DuckDB takes for Parquet, and DuckDB's import takes longer than the columns of most tables: the figures are in
docs/explanation/store.md."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any

from backports import zstd
from pydantic_core import from_json

from tlsmem.base.errors import UserError

LEVEL = 1  # of compression: higher ones take longer and save little
CODED = ("VARCHAR", "VARCHAR[]", "JSON")  # DuckDB's types of columns whose distinct values are few
Convert = Callable[[Any], Any]  # what the store has of a value to what records have; null is None and stays so


def write_pieces(file: Path, pieces: Mapping[str, str]) -> None:
    """Write pieces of JSON by name. Raises OSError."""
    packed = {name: zstd.compress(text.encode(), LEVEL) for name, text in pieces.items()}
    ends = accumulate(map(len, packed.values()))
    index = {name: (end - len(packed[name]), len(packed[name])) for name, end in zip(packed, ends, strict=True)}
    file.write_bytes(b"".join([json.dumps(index).encode(), b"\n", *packed.values()]))


def encode_column(rows: Sequence[Any], kind: str) -> str:
    """Return the JSON of a column of one of DuckDB's types."""
    if kind not in CODED:
        return json.dumps(rows)
    keys = [tuple(value) if isinstance(value, list) else value for value in rows]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return json.dumps({"values": [*numbers], "rows": [numbers[key] for key in keys]})


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
    if isinstance(found, list):
        return found
    values = found["values"]
    if convert:
        values = [None if value is None else convert(value) for value in values]
    return [values[number] for number in found["rows"]]
