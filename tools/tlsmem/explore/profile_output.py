"""Where the files go that a profile is turned into: whole or not at all, never over the profile itself."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from tlsmem.base import stdout
from tlsmem.base.atomic_file import replace_file
from tlsmem.profile import open_profile
from tlsmem.profile.errors import Unreadable

STDOUT = "-"


def write_text(text: str, file: str) -> None:
    """On stdout where `file` is `-`. OSError, which names the file, when it cannot be written."""
    if file == STDOUT:
        with stdout.raise_write_errors():
            sys.stdout.write(text)
    else:
        write_file(text.encode(), file)


def write_bytes(content: bytes, file: str) -> None:
    """As write_text."""
    if file == STDOUT:
        with stdout.raise_write_errors():
            sys.stdout.flush()
            sys.stdout.buffer.write(content)
    else:
        write_file(content, file)


def write_file(content: bytes, file: str) -> None:
    """OSError, which names the file, when it cannot be written."""
    place = Path(file).resolve()  # a link stays one
    try:
        if place.exists() and not place.is_file():
            place.write_bytes(content)  # a pipe or a device takes it as it comes
            return
        with replace_file(place) as beside:
            beside.write_bytes(content)
    except OSError as error:
        raise OSError(error.errno, error.strerror, file) from None


def check_outputs(files: Iterable[str | None], sources: Iterable[str]) -> None:
    """Raises ValueError with a sentence when a file to write is read, is any other profile or recording, or is named
    twice."""
    read = [place for source in sources for place in profile_files(Path(source))]
    written: list[Path] = []
    for file in filter(None, files):
        place = Path(file)
        if any(is_same_file(place, other) for other in written):
            raise ValueError(f"{file} is named for two files to write; name another for one of them")
        written += [place] if file == STDOUT or not place.exists() or place.is_file() else []  # not of devices
        if file != STDOUT and any(is_same_file(place, other) for other in read):
            raise ValueError(f"{file} is the profile itself or its record; name another file to write")
        if file != STDOUT and open_profile.is_profile_or_recording(place):
            raise ValueError(f"{file} is a profile or a recording, which is not written over; name another file")


def profile_files(source: Path) -> Iterator[Path]:
    """The profile, the record beside it, and what a record is of."""
    yield source
    if source.is_dir():
        return
    yield source.with_suffix(".json")
    try:
        recorded = open_profile.is_json(open_profile.read_beginning(source), "tool_version")
        if recorded:
            from tlsmem.profile import profile_metadata

            if name := profile_metadata.load(source).file:
                yield source.with_name(name)
    except Unreadable:  # its reader will tell
        pass


def is_same_file(one: Path, other: Path) -> bool:
    """Also by another name, a link or a hard link; and where neither exists yet."""
    try:
        return one.samefile(other)
    except OSError:
        return one.resolve() == other.resolve()
