"""Files that may be compressed, by zstd or gzip: unpacked as they are read, and to where they are torn."""

import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import zstandard

from unreadable import Unreadable

CHUNK = 1 << 18
ZSTD, GZIP = b"\x28\xb5\x2f\xfd", b"\x1f\x8b"

Progress = Callable[[int], None]  # is told how many bytes of the file, as it lies there, have been read


class Torn(Exception):
    """The file cannot be unpacked any further. What came before was yielded."""


def chunks(file: Path | str, progress: Progress | None = None) -> Iterator[bytes]:
    """Unreadable, with a sentence, when the file cannot be read at all; Torn where it is cut off or damaged."""
    try:
        with open(file, "rb") as packed, unpacked(packed) as content:
            while chunk := content.read(CHUNK):
                yield chunk
                if progress:
                    progress(packed.tell())
    except OSError as error:
        if isinstance(error, gzip.BadGzipFile):
            raise Torn from None
        raise Unreadable(f"{file}: cannot read it: {error.strerror or error}") from None
    except (EOFError, zlib.error, zstandard.ZstdError):
        raise Torn from None


def unpacked(packed: BinaryIO) -> BinaryIO:
    """By what the file begins with, not by its name. zstd's frames may follow each other."""
    start = packed.read(4)
    packed.seek(0)
    if start == ZSTD:
        return zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
    return gzip.GzipFile(fileobj=packed) if start.startswith(GZIP) else io.BufferedReader(packed)
