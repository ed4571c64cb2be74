"""Temporary files and directories that a killed command leaves behind.

Whoever makes one holds a lock on it as long as it lives. The next command removes those of their names that nobody has
locked: the kernel lets go of a lock, however the process ends."""

import contextlib
import fcntl
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

LOOK = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


def make_locked(make: Callable[[], Path]) -> tuple[Path, int]:
    """Return what `make` makes, and the descriptor that holds its lock: close it when the file is removed.

    Another command may take it for stale before it is locked, and remove it; then it is made again. Raises OSError."""
    while True:
        path = make()
        with contextlib.suppress(FileNotFoundError):
            descriptor = os.open(path, LOOK)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if path.exists():
                return path, descriptor
            os.close(descriptor)


def remove_stale(folder: Path, prefix: str) -> None:
    """Remove what has a name that begins so, is ours, and is locked by nobody."""
    for path in folder.glob(f"{prefix}*"):
        with contextlib.suppress(OSError):  # another's, in use, or removed meanwhile
            descriptor = os.open(path, LOOK)
            try:
                remove_unlocked(path, descriptor)
            finally:
                os.close(descriptor)


def remove_unlocked(path: Path, descriptor: int) -> None:
    """Remove an open file or directory of ours. Raises BlockingIOError where a process holds its lock."""
    about = os.fstat(descriptor)
    if about.st_uid != os.geteuid():
        return
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    if stat.S_ISDIR(about.st_mode):
        shutil.rmtree(path)
    else:
        path.unlink()
