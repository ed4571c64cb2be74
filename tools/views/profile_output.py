"""Where the files go that a profile is turned into: whole or not at all, never over the profile itself."""

import sys
from collections.abc import Iterable
from pathlib import Path

import stdout
from profiles import profile_files
from profiles.profile_records import Replacement

STDOUT = "-"


def put(text: str, file: str) -> None:
    """On stdout where `file` is `-`. OSError, which names the file, when it cannot be written."""
    if file == STDOUT:
        with stdout.checked():
            sys.stdout.write(text)
        return
    place = Path(file).resolve()  # a link stays one
    try:
        if place.exists() and not place.is_file():
            place.write_bytes(text.encode())  # a pipe or a device takes it as it comes
            return
        with Replacement(place) as made:
            made.write(text.encode())
    except OSError as error:
        raise OSError(error.errno, error.strerror, file) from None


def check(files: Iterable[str | None], sources: Iterable[str]) -> None:
    """ValueError with a sentence when a file to write is one that is read, or any other profile or recording."""
    read = [Path(source).resolve() for source in sources]
    for file in files:
        if file and file != STDOUT and Path(file).resolve() in read:
            raise ValueError(f"{file} is the profile itself; name another file to write")
        if file and file != STDOUT and profile_files.is_kept(Path(file)):
            raise ValueError(f"{file} is a profile or a recording, which is not written over; name another file")
