"""Files that may be compressed, by zstd, gzip, bzip2 or xz: unpacked as they are read, and to where they are torn."""

import bz2
import gzip
import io
import lzma
import os
import stat
import zlib
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

from backports import zstd

from tlsmem.profile.errors import Unreadable

CHUNK = 1 << 18
LARGEST = 512 << 20  # bytes of a file that is read at once, unpacked
PIECE = 512  # of a zstd file: one may hold 128 KiB for each four of its bytes, so that no piece unpacks to over 16 MiB
ZSTD, GZIP, BZIP2, XZ = b"\x28\xb5\x2f\xfd", b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00"
XZ_MEMORY = 128 << 20  # bytes; xz -9 makes files that need 65 MiB, but one may ask for 4 GiB
XZ_PADDING = b"\0"  # may follow a stream
DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error, zstd.ZstdError, lzma.LZMAError)

Progress = Callable[[int], None]  # is told how many bytes of the file, as it lies there, have been read


class TornFile(Exception):
    """The file cannot be unpacked any further. What came before was yielded. `at` and `size` are bytes of the file as
    it lies there: equal when it is cut off, and about where it is damaged else."""

    def __init__(self, at: int, size: int):
        super().__init__()
        self.at, self.size = at, size


def read_chunks(file: Path | str, progress: Progress | None = None) -> Generator[bytes, None, None]:
    """To be closed by who does not read to the end. Raises Unreadable with a sentence when the file cannot be read,
    TornFile where it is cut off or damaged."""
    try:
        with open_regular(file) as packed:
            try:
                for chunk in unpacked(packed):
                    yield chunk
                    if progress:
                        progress(packed.tell())
            except DAMAGED:
                raise TornFile(packed.tell(), os.fstat(packed.fileno()).st_size) from None
    except OSError as error:
        raise Unreadable(f"{file}: cannot read it: {error.strerror or error}") from None


def read_whole(file: Path | str, progress: Progress | None = None, largest: int = LARGEST) -> bytes:
    """Return the content of a file whose form is parsed in one piece.

    Raises Unreadable with a sentence when it cannot be read to its end, or has more than `largest` bytes."""
    content = io.BytesIO()
    try:
        for chunk in read_chunks(file, progress):
            content.write(chunk)
            if content.tell() > largest:
                raise Unreadable(f"{file}: more than {largest >> 20} MiB, too large to be read at once")
    except TornFile:
        raise Unreadable(f"{file}: cut off or damaged: it cannot be unpacked to its end") from None
    return content.getvalue()


def open_regular(file: Path | str) -> io.BufferedReader:
    """Opened, without waiting for somebody to write where it is a pipe. Raises Unreadable or OSError."""
    try:
        found = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except ValueError as error:  # a null byte in the name
        raise Unreadable(f"{file}: cannot read it: {error}") from None
    if not stat.S_ISREG(os.fstat(found).st_mode):
        os.close(found)
        raise Unreadable(f"{file}: not a regular file")
    return os.fdopen(found, "rb")


def unpacked(packed: io.BufferedReader) -> Iterator[bytes]:
    """By what the file begins with, not by its name."""
    start = packed.read(len(XZ))
    packed.seek(0)
    if start.startswith(ZSTD):
        return gathered(read_frames(packed))
    if start.startswith(BZIP2):
        return gathered(read_streams(packed, bz2.BZ2Decompressor))
    if start == XZ:
        return gathered(read_streams(packed, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, XZ_MEMORY), XZ_PADDING))
    return read(gzip.GzipFile(fileobj=packed) if start.startswith(GZIP) else packed)


def read(content: io.BufferedReader | gzip.GzipFile) -> Iterator[bytes]:
    """No more at a time than is there already: gzip raises where it is cut off, and what came before is not lost."""
    while chunk := content.read1(CHUNK):
        yield chunk


def read_frames(packed: io.BufferedReader) -> Iterator[bytes]:
    """Frame after frame. Not by a ZstdFile, which reads the end of a file that is cut off for the content's."""
    frame = None
    while rest := packed.read(PIECE):
        while rest:
            frame = frame or zstd.ZstdDecompressor()
            yield frame.decompress(rest)
            rest = frame.unused_data
            if frame.eof:
                frame = None
    if frame:
        raise EOFError


def read_streams(
    packed: io.BufferedReader, new: Callable[[], "bz2.BZ2Decompressor | lzma.LZMADecompressor"], padding: bytes = b""
) -> Iterator[bytes]:
    """Stream after stream, at most CHUNK bytes at a time. Raises EOFError when the last one is cut off or one is
    damaged, or lzma.LZMAError."""
    stream = None
    while rest := packed.read(CHUNK):
        while rest := rest if stream else rest.lstrip(padding):
            stream = stream or new()
            try:
                yield stream.decompress(rest, CHUNK)
                while not (stream.eof or stream.needs_input):
                    yield stream.decompress(b"", CHUNK)
            except OSError as error:  # bzip2's, which is none of the file's
                raise EOFError from error
            rest = stream.unused_data
            if stream.eof:
                stream = None
    if stream:
        raise EOFError


def gathered(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Of CHUNK bytes or more, so that readers are called less often; before an error what there is."""
    held = io.BytesIO()
    try:
        for piece in pieces:
            held.write(piece)
            if held.tell() >= CHUNK:
                yield held.getvalue()
                held = io.BytesIO()
    except DAMAGED:
        yield held.getvalue()
        raise
    yield held.getvalue()
