"""Appends runs to a recording, one line each, so that nothing already recorded is ever lost or changed."""

import errno
import fcntl
import os
from collections.abc import Callable
from pathlib import Path

from tlsmem.base import repository
from tlsmem.base.errors import UserError
from tlsmem.schema.manifest import BadRecording
from tlsmem.schema.read_records import parse
from tlsmem.schema.recording_files import PLAIN, SEALED, TORN_MARK, is_torn
from tlsmem.schema.records import RecordLine

held_locks: list[int] = []  # descriptors of recordings; the kernel lets go of them, however the runner ends


def append(directory: Path, record: RecordLine) -> None:
    """Append one run to `directory`/STACK.jsonl and wait until it is on the disk.

    Two runners may append to one file. Raises UserError when the line cannot be written; the file is then as
    it was before."""
    file = directory / f"{record.stack}{PLAIN}"
    refuse_sealed(directory, file)
    line = record.to_json_line()
    try:
        parse(line.rstrip(b"\n"), f"the run of {record.started_at}")
    except BadRecording as error:
        raise UserError(f"{file}: cannot record a run: {error}") from None
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    except OSError as error:
        raise UserError(f"{file}: cannot record a run: {error.strerror}") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        write(descriptor, line)
    except OSError as error:
        raise UserError(
            f"{file}: cannot record a run: {error.strerror}; what was recorded before is unchanged"
        ) from None
    finally:
        os.close(descriptor)


def append_line(folder: Path, name: str, line: bytes) -> None:
    """Append the line of a run to a file below a recording, whose directory is made if need be, and wait until it is on
    the disk. Raises UserError when it cannot be written; the file is then as it was before."""
    file = folder / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        refuse_sealed(folder, file)
        descriptor = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            write(descriptor, line)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise UserError(
            f"{file}: cannot record a run: {error.strerror}; what was recorded before is unchanged"
        ) from None


def refuse_sealed(directory: Path, file: Path | None = None) -> None:
    """Raise UserError when the recording, or `file`, one stack's part of it, takes no more runs."""
    if repository.is_sealed(directory) or (file and file.with_suffix(SEALED).exists()):
        raise UserError(f"{directory}: the recording is sealed and takes no more runs; give another OUT")


def write(descriptor: int, line: bytes) -> None:
    """Append the line to an open, locked file, with a single write, and wait until it is on the disk.

    Raises OSError, ENOSPC on a full disk; a line that was written in part is cut off again, as it is no record."""
    end = os.fstat(descriptor).st_size
    whole = boundary(os.pread(descriptor, end, 0)) + line
    try:
        if os.write(descriptor, whole) != len(whole):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(descriptor)
    except OSError:
        os.ftruncate(descriptor, end)
        raise


def boundary(content: bytes) -> bytes:
    """Return the bytes that must stand between the content of a file and the next record: usually none.

    A torn last line stays as it is; the mark after it says that it is torn."""
    if not content:
        return b""
    last = content.removesuffix(b"\n").rpartition(b"\n")[2]
    newline = b"" if content.endswith(b"\n") else b"\n"
    return newline + (TORN_MARK + b"\n" if is_torn(last) else b"")


def prepare(directory: Path, wait: Callable[[int], None] | None = None) -> None:
    """Make the recording's directory if need be and lock it until the runner ends.

    Raises UserError when it cannot be written, or another campaign records into it: both would make every run.
    With `wait` that waits, given the descriptor to lock, until the other has ended."""
    repository.check_recording(directory)
    refuse_sealed(directory)
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{directory}: cannot record here: {error.strerror}") from None
    if not os.access(directory, os.W_OK | os.X_OK):
        raise UserError(f"{directory}: cannot record here: not writable")
    while held_locks:  # of an earlier campaign of this process
        os.close(held_locks.pop())
    try:
        held_locks.append(os.open(directory, os.O_RDONLY | os.O_DIRECTORY))
        fcntl.flock(held_locks[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)  # of the directory itself: no file to leave behind
    except BlockingIOError:
        if wait:
            wait(held_locks[-1])
            return
        raise UserError(
            f"{directory}: another campaign is recording here; wait until it ends, or give another OUT"
        ) from None
    except OSError:
        pass  # a file system that locks no directories, such as NFS
