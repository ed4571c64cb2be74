"""From a file of a recording to its columns, and to its tables in Parquet: every line is checked once.

The sealed JSON stays the record. What is derived is an entry of the cache directory: a directory by the digest of the
file, its manifest and the code that checks it, written completely or not at all. An entry that is cut, changed or of
another version is as good as none; where it cannot be kept, it lasts as long as the process."""

import atexit
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from tlsmem.base.cache_file import REQUIREMENTS, compute_digest, digest_files
from tlsmem.base.errors import UserError
from tlsmem.base.paths import DERIVED, PACKAGE
from tlsmem.base.repository import MANIFEST
from tlsmem.schema import live_records, recording_files
from tlsmem.schema.read_records import parse, printable_json, without_collection
from tlsmem.schema.recording_files import SEALED, SUMMARY, Lines
from tlsmem.schema.records import RecordLine, digest_line
from tlsmem.store import tables
from tlsmem.store.columns import pack_records
from tlsmem.store.summary import rebuild_lines, unpack_summary

FOLDER = DERIVED / "store"
LEAST_BYTES = 64 << 10  # what is derived from a smaller file that is not sealed is not kept
CODE = (  # checks lines, and derives entries of them
    *("schema/*.py", "base/printable.py"),
    *(f"store/{name}.py" for name in ("columns", "database", "derive", "summary", "summary_columns", "tables")),
)
ABOUT, PARQUET = "entry", ".parquet"  # the file, and the end of an entry's name
LEAST_SECONDS = 3600  # that an entry stays: a command may be reading it
Write = Callable[[Path], tuple[int, int]]  # writes the files of an entry into a folder; the numbers of runs and phases


@dataclass(frozen=True)
class Entry:
    """What was derived from one file: where its tables are, and how many rows they have."""

    source: str  # the file; where that is no more, the entry goes
    folder: Path
    runs: int
    phases: int
    cut: int | None  # the number of the last line (from 1), which was cut off while it was written
    digests: dict[str, str]  # of its files, by name

    def table(self, name: str) -> Path:
        """Return the Parquet file of a table."""
        return self.folder / f"{name}.parquet"

    def is_intact(self) -> bool:
        """Return whether the files are as they were written."""
        try:
            return all(digest_file(self.folder / name) == digest for name, digest in self.digests.items())
        except OSError:
            return False


def find_entry(file: Path, as_parquet: bool = False) -> Entry:
    """Return the entry with the columns of a file of a recording, or with its tables. A new one is derived.

    Raises BadRecording where the file cannot be read or a line is no record, with file, line and a way out."""
    if recording_files.is_summarised(file):
        return find_summarised(file, as_parquet)
    packed = recording_files.read_file(file)
    place = find_place(file, packed, as_parquet)
    return read_entry(place) or derive_entry(file, packed, place, as_parquet)


def has_entry(file: Path, as_parquet: bool = False) -> bool:
    """Return whether an entry of a file is there, or need not be. Raises BadRecording where it cannot be read."""
    if recording_files.is_summarised(file):
        return True  # or as good as there
    packed = recording_files.read_file(file)
    return is_small(file, packed) or (find_place(file, packed, as_parquet) / ABOUT).exists()


def find_summarised(file: Path, as_parquet: bool = False) -> Entry:
    """Return the entry of a file that is in the summary of its recording. Those with the columns of all its files are
    made together, and tables are made of the columns.

    Raises UserError where the summary is damaged, or there is no room at all."""
    place = find_summarised_place(file, as_parquet)
    if found := read_entry(place):
        return found
    if as_parquet:
        lines = rebuild_lines(find_summarised(file).folder)
        return store_entry(file, prepare_tables(file, lines), place)
    made: dict[str, Entry] = {}
    for name, content in unpack_summary(file.with_name(SUMMARY)).items():
        of = file.with_name(name)
        made[name] = store_entry(of, content.write, find_summarised_place(of))
    return made[file.name]


def find_summarised_place(file: Path, as_parquet: bool = False) -> Path:
    """Return where the entry of a file in a summary is, if there is one. Raises OSError without a summary."""
    return find_place(file, digest_summary(file.with_name(SUMMARY)) + file.name.encode(), as_parquet)


@cache
def digest_summary(summary: Path) -> bytes:
    """Return a digest of the summary of a recording. Raises OSError where it cannot be read."""
    return digest_files([summary])


def find_place(file: Path, packed: bytes, as_parquet: bool) -> Path:
    """Return where the entry of a file with these bytes is, if there is one."""
    return FOLDER / f"{compute_key(file, packed)}{PARQUET if as_parquet else ''}"


def compute_key(file: Path, packed: bytes) -> str:
    """Return what stands for a file with these bytes, its manifest, and the code that checks them and makes tables."""
    manifest = file.with_name(MANIFEST)
    parts = (packed, manifest.read_bytes() if manifest.exists() else b"")
    return f"{tables.VERSION}-{compute_digest(digest_own_code(), *map(compute_digest, parts)).hex()[:32]}"


@cache
def digest_own_code() -> bytes:
    """Return a digest of the modules that check lines and make tables of them, and of the packages' versions."""
    modules = sorted(module for pattern in CODE for module in PACKAGE.glob(pattern))
    return digest_files([*modules, *filter(Path.is_file, REQUIREMENTS)])


def read_entry(place: Path) -> Entry | None:
    """Return the entry at this place; None where there is none that is complete and as it was written."""
    try:
        entry = Entry(**read_about(place) | {"folder": place})
    except (OSError, ValueError, TypeError):
        return None
    return entry if entry.is_intact() else None


def read_about(folder: Path) -> dict[str, Any]:
    """Return what an entry says of itself. Raises OSError, and ValueError where it is not as it was written."""
    digest, _, about = (folder / ABOUT).read_bytes().partition(b"\n")
    if digest != compute_digest(about).hex().encode():
        raise ValueError(f"{folder}: not as it was written")
    found: dict[str, Any] = json.loads(about)
    return found


def derive_entry(file: Path, packed: bytes, place: Path, as_parquet: bool) -> Entry:
    """Check all lines of a file, derive its entry, and keep that at the place, if it can be kept.

    Raises BadRecording as `find_entry` does, and UserError where there is no room at all."""
    lines, cut = recording_files.split_lines(recording_files.unpack_content(file, packed))
    with without_collection():
        write = prepare_parquet(file, lines) if as_parquet else pack_records(check_lines(file, lines)).write
    return store_entry(file, write, None if is_small(file, packed) else place, cut)


def store_entry(file: Path, write: Write, place: Path | None, cut: int | None = None) -> Entry:
    """Write the entry of a file to its place; for this process alone where there is none, or it cannot be written.

    Raises UserError where there is no room at all."""
    try:
        if place:
            with suppress(OSError):  # a full disk, or one that may not be written
                return keep(write_entry(make_folder(FOLDER), write, file, cut), place)
        return write_entry(make_folder(make_own_folder()), write, file, cut)
    except OSError as error:
        raise UserError(f"{file}: needs a temporary directory to be read: {error}; set TMPDIR= to another") from None


def check_lines(file: Path, lines: Lines) -> Iterator[tuple[RecordLine, bytes]]:
    """Yield the record of each line, and the line. Raises BadRecording, with file and line, where one is no record."""
    return ((parse(line, f"{file}: line {number}"), line) for number, line in lines)


def prepare_parquet(file: Path, lines: Lines) -> Write:
    """Return what writes the tables for queries of the lines of a file. Raises BadRecording as `check_lines` does."""
    if is_live(file):
        for number, line in lines:
            live_records.parse_live(line, f"{file}: line {number}")
    else:
        find_entry(file)  # which checks the lines, once
    return prepare_tables(file, [add_digest(line) for _, line in lines])


def prepare_tables(file: Path, checked: Sequence[bytes]) -> Write:
    """Return what writes the tables for queries of lines that were checked."""
    from tlsmem.store.database import write_parquet  # slow to import, and seldom needed

    return lambda folder: write_parquet(folder, checked, is_live(file))


def is_live(file: Path) -> bool:
    """Return whether the file has live runs, whose lines and tables are others."""
    return file.parent.name == live_records.FOLDER


def add_digest(line: bytes) -> bytes:
    """Return a line without its newline as tables for queries are made of it: with its digest, and with question marks
    for what is not printable."""
    return b'{"digest":"%s",%s' % (digest_line(line).encode(), printable_json(line)[1:])


def derive_lines(records: Iterable[RecordLine]) -> Entry:
    """Return the tables of records that were checked; they last as long as the process. Raises OSError."""
    content = pack_records((one, one.to_json_line().rstrip(b"\n")) for one in records)
    return write_entry(make_folder(make_own_folder()), content.write)


def make_folder(below: Path) -> Path:
    """Return a new directory for an entry that is being written. Raises OSError."""
    below.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=".partial-", dir=below))


def write_entry(folder: Path, write: Write, source: Path | None = None, cut: int | None = None) -> Entry:
    """Write what is derived of a file into a folder, which is removed where that fails. Raises OSError."""
    try:
        runs, phases = write(folder)
        digests = {file.name: digest_file(file) for file in sorted(folder.iterdir())}
        entry = Entry(str(source and source.resolve()), folder, runs, phases, cut, digests)
        about = json.dumps({**asdict(entry), "folder": None}).encode()
        (folder / ABOUT).write_bytes(compute_digest(about).hex().encode() + b"\n" + about)
        return entry
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def keep(entry: Entry, place: Path) -> Entry:
    """Move a complete entry to its place, and return it from there. Where another process was first, its entry is as
    good; a bad one is moved away, since another process may be reading it."""
    for _ in range(2):
        with suppress(OSError):
            entry.folder.rename(place)
            return replace(entry, folder=place)
        if found := read_entry(place):
            shutil.rmtree(entry.folder, ignore_errors=True)
            return found
        with suppress(OSError):
            place.rename(make_folder(FOLDER) / "bad")
    return entry


def remove_old() -> None:
    """Remove old entries whose file is no more or has a newer entry, and what was left of killed processes."""
    newest: dict[tuple[str, bool], float] = {}
    found = []
    for about in FOLDER.glob(f"*/{ABOUT}"):
        with suppress(OSError):
            place, changed_at = about.parent, about.stat().st_mtime
            of = (read_source(place), place.suffix == PARQUET)
            found.append((place, of, changed_at))
            newest[of] = max(newest.get(of, 0), changed_at)
    gone = {of for of in newest if not of[0] or not recording_files.is_there(Path(of[0]))}
    needless = [(place, at) for place, of, at in found if at < newest[of] or of in gone]
    for place in FOLDER.glob(".partial-*"):
        with suppress(FileNotFoundError):  # another process has just finished it
            needless.append((place, place.stat().st_mtime))
    for place, changed_at in needless:
        if time.time() - changed_at > LEAST_SECONDS:
            shutil.rmtree(place, ignore_errors=True)


def read_source(place: Path) -> str:
    """Return the file that an entry is of; nothing where the entry is not as it was written. Raises OSError."""
    try:
        return str(read_about(place)["source"])
    except (ValueError, KeyError):
        return ""


def is_small(file: Path, packed: bytes) -> bool:
    """Return whether a file grows yet, and deriving its tables again takes no longer than a user notices."""
    return len(packed) < LEAST_BYTES and not file.name.endswith(SEALED)


def digest_file(file: Path) -> str:
    """Return a digest of the file's content. Raises OSError."""
    return compute_digest(file.read_bytes()).hex()


@cache
def make_own_folder() -> Path:
    """Return a directory that lasts as long as this process."""
    made, owner = Path(tempfile.mkdtemp(prefix="tls-memtest-")), os.getpid()
    atexit.register(lambda: shutil.rmtree(made, ignore_errors=True) if os.getpid() == owner else None)
    return made
