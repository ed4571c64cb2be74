"""What builds that run at a time share: the CPUs, the word to stop, and turns at what only one may make."""

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tlsmem.build import progress

stop_requested = threading.Event()  # set: whatever a build has started ends with it
running_builds = 1  # that run now


class BuildStopped(Exception):
    """A build ended because all of them do."""


def count_cpus() -> int:
    return len(os.sched_getaffinity(0))


def jobs_per_build() -> int:
    """How many programs one build may run at a time."""
    return max(1, count_cpus() // running_builds)


@contextmanager
def alone(lock: Path, what: str) -> Iterator[None]:
    """One at a time in a clone, whether a thread or a process; `what` is waited for, and said to be."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with open(lock, "w") as file:
        waited = False
        while not locked(file.fileno()):
            if not waited:
                progress.CONSOLE.print(f"{what}: waiting for another build of it in this clone to end", markup=False)
            waited = True
            if stop_requested.wait(0.2):
                raise BuildStopped
        yield


def locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def hold_lock(file: Path) -> Iterator[None]:
    """The file stays; the kernel takes the lock from a process that ends."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with open(file, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
