"""What is fetched or built at its first use: by one process at a time, others wait for it."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """The file stays; the kernel takes the lock from a process that ends."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with open(file, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
