"""Reads the lines of recordings: every line is checked."""

import atexit
import gc
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from tlsmem.base.printable import printable_text
from tlsmem.schema import recording_files
from tlsmem.schema.checksum import matches_checksum
from tlsmem.schema.harness_output import describe_error
from tlsmem.schema.manifest import BadRecording
from tlsmem.schema.possible_figures import find_impossible
from tlsmem.schema.recording_files import RESTORE
from tlsmem.schema.records import ALL_KEY_FIELDS, CHECKSUMS_SINCE, SCHEMA, RecordLine, run_key, run_path


def load(recording: Path | str) -> list[RecordLine]:
    """Return the lines of a recording (a directory, or one of its files), each checked, by stack in the order of
    recording. Tables read the store instead: tlsmem.store.read_runs.

    Raises BadRecording when there is no recording, or a line is no record of this schema or cannot be true."""
    with without_collection():
        return [record for file in recording_files.require_files(recording) for record in load_file(file)]


def load_file(file: Path) -> list[RecordLine]:
    """Return the lines of one file, plain or sealed, each checked.

    Raises BadRecording as `load` does. Warns on stderr of a last line that was cut off."""
    file = recording_files.locate(file)
    with without_collection():
        return [parse(line, f"{file}: line {number}") for number, line in recording_files.read_lines(file)]


@contextmanager
def without_collection() -> Iterator[None]:
    """Stop the garbage collector while the block makes records.

    Records are many small objects without reference cycles; searching them takes longer than reading them."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.freeze()  # the collector would search all of them at once when it starts again
            atexit.register(gc.unfreeze)  # DuckDB warns of its objects that are not collected at the end
            gc.enable()


def parse(line: bytes, place: str) -> RecordLine:
    """Return the record of a line without its newline; characters that are not printable become question marks.

    Raises BadRecording, with a sentence that begins with `place`, when the line is no record, was changed after it was
    recorded, or has figures that cannot be true."""
    unchanged = matches_checksum(line)
    if unchanged is False:
        raise BadRecording(f"{place} was changed after it was recorded: its checksum does not match; {RESTORE}")
    try:
        record = RecordLine.model_validate_json(line)
        if not unchanged:  # what was written here has each key once
            UNIQUE_KEYS.decode(line.decode())
    except ValidationError as error:
        what = describe_error(error)
        way_out = "" if "(git pull)" in what else f"; {RESTORE}"
        raise BadRecording(f"{place} is not a record of schema {SCHEMA}: {what}{way_out}") from None
    except RepeatedKey as error:
        raise BadRecording(f"{place}: the key {error} stands twice in an object; {RESTORE}") from None
    if record.schema_ >= CHECKSUMS_SINCE and unchanged is None:
        raise BadRecording(f"{place} was changed after it was recorded: it does not end in its checksum; {RESTORE}")
    if record.schema_ < CHECKSUMS_SINCE and record.checksum:
        raise BadRecording(f"{place} was changed after it was recorded: its schema has no checksum; {RESTORE}")
    if impossible := find_impossible(record):
        raise BadRecording(f"{place} cannot be true: {impossible}; {RESTORE}")
    check_key(record, place)
    return record if is_plain(line) else RecordLine.model_validate_json(printable_json(line))


class RepeatedKey(Exception):
    """A key that an object of JSON has twice."""


def refuse_repeated_keys(pairs: list[tuple[str, object]]) -> None:
    """Raise RepeatedKey when an object of JSON, given as its keys and values, has a key twice."""
    if len(dict(pairs)) < len(pairs):
        names = [name for name, _ in pairs]
        raise RepeatedKey(next(name for name in names if names.count(name) > 1))


UNIQUE_KEYS = json.JSONDecoder(object_pairs_hook=refuse_repeated_keys)


def check_key(record: RecordLine, place: str) -> None:
    """Raise BadRecording when the record's key is not that of its fields, as when one of them was changed."""
    fields = record.model_dump(include=ALL_KEY_FIELDS)
    if record.path != (path := run_path(fields)):
        raise BadRecording(f"{place}: its path is {record.path}, but its machine's is {path}; {RESTORE}")
    key = run_key(fields)
    if record.key != key:
        raise BadRecording(f"{place}: its key is {record.key}, but its fields have the key {key}; {RESTORE}")


def is_plain(line: bytes) -> bool:
    """Return whether all texts of a line of JSON are printable ASCII: no escape can stand for anything else."""
    return line.isascii() and b"\\" not in line and b"\x7f" not in line


def printable_json(text: bytes) -> bytes:
    """Return the same JSON with question marks for the characters of its texts that are not printable."""
    return text if is_plain(text) else json.dumps(printable_value(json.loads(text))).encode()


def printable_value(value: object) -> object:
    """Return a JSON value with question marks for the characters of its texts that are not printable."""
    if isinstance(value, dict):
        return {printable_text(name): printable_value(part) for name, part in value.items()}
    if isinstance(value, list):
        return list(map(printable_value, value))
    return printable_text(value) if isinstance(value, str) else value
