"""Files that are replaced whole or not at all. Standard library only."""

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def replace_file(file: Path) -> Iterator[Path]:
    """Yield the path of a new file beside `file`, which takes its place when the block ends without an error.

    Until then, and after an error, what is there stays, for instance when the disk is full. A symbolic link stays one,
    and a file keeps its mode. Raises OSError, which names `file`, where the new file cannot be made or written."""
    place = file.resolve()
    beside = place.with_name(f".{place.name}.{os.getpid()}-{threading.get_native_id()}")
    try:
        yield beside
        if place.exists():
            shutil.copymode(place, beside)
        os.replace(beside, place)
    except OSError as error:
        if error.filename is None or str(error.filename) == str(beside):
            raise OSError(error.errno, error.strerror, str(file)) from None
        raise
    finally:
        with suppress(OSError):  # it may not be there, nor its directory
            beside.unlink()
