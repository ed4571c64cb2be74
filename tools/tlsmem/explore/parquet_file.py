"""A heap profile as a Parquet file, by DuckDB, for queries: a row for each moment and call stack."""

import json
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import duckdb

from tlsmem.base.printable import printable_text
from tlsmem.explore import profile_selection
from tlsmem.explore.profile_selection import Pattern
from tlsmem.profile.frames import Frame
from tlsmem.profile.heap_profile import Profile
from tlsmem.schema.roles import Owner
from tlsmem.store.database import connect
from tlsmem.store.tables import FRAMES, INTEGER, TEXT, quote

COLUMNS = {  # named as in the tables of recordings
    "tls_stack": TEXT,  # of a profile whose record is beside it
    "phase": TEXT,  # a moment; null in rows of the whole run
    "role": TEXT,  # whose memory; null in a program without roles
    "callstack": INTEGER,
    "live_bytes": INTEGER,
    "live_blocks": INTEGER,  # null where the profiler does not count them
    "allocated_bytes": INTEGER,  # these three over the whole run
    "allocated_blocks": INTEGER,
    "temporary_blocks": INTEGER,
    "frames": FRAMES,  # innermost first
}
Row = dict[str, object]


def pack(profile: Profile, only: str | None = None, owner: Owner | None = None, pattern: Pattern = None) -> bytes:
    """Return the file, of every moment or of one.

    Raises PatternNotFound with a sentence when the pattern finds nothing at any moment, and OSError where there is no
    room for temporary files."""
    with tempfile.TemporaryDirectory(prefix="tls-memtest-") as folder:
        lines, made = Path(folder, "rows.jsonl"), Path(folder, "profile.parquet")
        longest = write_lines(lines, rows(profile, only, owner, pattern))
        columns = ", ".join(f"{quote(name)}: {quote(kind)}" for name, kind in COLUMNS.items())
        read = (
            f"read_json({quote(lines)}, format = 'newline_delimited', columns = {{{columns}}},"
            f" maximum_object_size = {longest + (1 << 16)})"
        )
        try:
            with connect().cursor() as cursor:
                cursor.execute(f"COPY (FROM {read}) TO {quote(made)} (FORMAT parquet, COMPRESSION zstd)")
        except duckdb.IOException as error:
            raise OSError(0, str(error), str(made)) from None
        return made.read_bytes()


def write_lines(file: Path, found: Iterable[Row]) -> int:
    """Write rows as JSON Lines and return the length of the longest. Raises OSError, which names the file."""
    longest = 0
    try:
        with file.open("w") as made:
            for row in found:
                longest = max(longest, made.write(f"{json.dumps(row)}\n"))
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(file)) from None
    return longest


def rows(profile: Profile, only: str | None, owner: Owner | None, pattern: Pattern) -> Iterator[Row]:
    """Yield the rows: of moments in their order, then of the whole run. Raises as `pack` does."""
    live, allocated = profile_selection.choose(profile, only, owner, pattern)
    has_roles = bool(profile.run) or profile_selection.has_roles(profile)

    def begin(stack: int) -> Row:
        return {
            "tls_stack": profile.run.stack if profile.run else None,
            "role": profile.stacks.owner(stack) if has_roles else None,
            "callstack": stack,
            "frames": [list_frame(one) for one in profile.stacks.frames(stack)],
        }

    for name, by_stack in live.items():
        for stack, held in by_stack.items():
            yield begin(stack) | {"phase": name, "live_bytes": held.bytes, "live_blocks": held.blocks}
    for stack, one in allocated.items():
        counts = {"allocated_bytes": one.bytes, "allocated_blocks": one.blocks, "temporary_blocks": one.temporary}
        yield begin(stack) | counts


def list_frame(frame: Frame) -> dict[str, str | int | None]:
    """Return a frame as tables have it; an address that means nothing after the run is left out."""
    texts = {"function": frame.function, "file": frame.file, "module": frame.module}
    found: dict[str, str | int | None] = {name: text and printable_text(text) for name, text in texts.items()}
    return found | {"line": frame.line, "offset": None if frame.is_absolute else frame.address}
