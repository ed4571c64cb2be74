"""Memory cgroups of a live run: what the kernel charges to one end of its connections.

In version 1 the kernel's memory is in memory.kmem.usage_in_bytes, which has sockets that were accepted only if a limit
on TCP memory was written before; in version 2 it is in memory.stat. The group is made for the run and removed after
it."""

import contextlib
import os
import signal
import time
from pathlib import Path
from typing import NamedTuple

from tlsmem.live.servers import ServerError

FIRST = Path("/sys/fs/cgroup/memory")
SECOND = (Path("/sys/fs/cgroup/unified"), Path("/sys/fs/cgroup"))
NO_LIMIT = 1 << 62
REMOVALS, REMOVAL_S = 50, 0.05  # how often, and how long after one another


def remove_stale_groups() -> None:
    """Remove the groups of runs that were killed; those in which a process still runs stay."""
    for parent in (FIRST, *SECOND):
        for folder in parent.glob("memtest-*-*"):
            if not Path("/proc", folder.name.split("-")[1]).exists():
                with contextlib.suppress(OSError):
                    folder.rmdir()


class KernelMemory(NamedTuple):
    """Bytes that the kernel holds for the processes of a group. `kernel_bytes` is all of it: sockets and their buffers,
    files, page tables, stacks; `tcp_bytes` are the buffers of TCP in it."""

    kernel_bytes: int
    tcp_bytes: int


class MemoryGroup:
    """A memory cgroup; `with MemoryGroup("server") as group`."""

    def __init__(self, end: str) -> None:
        self.name = f"memtest-{os.getpid()}-{end}"
        self.version = 1 if (FIRST / "memory.kmem.usage_in_bytes").exists() else 2

    def __enter__(self) -> "MemoryGroup":
        self.folder = (FIRST if self.version == 1 else self.find_second()) / self.name
        try:
            self.folder.mkdir()
            if self.version == 1:
                (self.folder / "memory.kmem.tcp.limit_in_bytes").write_text(str(NO_LIMIT))
        except OSError as error:
            with contextlib.suppress(OSError):  # it was made, and has no limit to be written
                self.folder.rmdir()
            raise ServerError(
                f"{self.folder}: cannot make a memory cgroup, which needs root: {error.strerror}"
            ) from None
        return self

    def __exit__(self, *_: object) -> None:
        for _again in range(REMOVALS):
            self.kill()
            try:
                self.folder.rmdir()
                return
            except OSError:  # its last process has ended, and the kernel has yet to let go of it
                time.sleep(REMOVAL_S)

    def kill(self) -> None:
        """Kill what is still in the group: a worker whose master was killed has no parent that would end it."""
        for pid in map(int, (self.folder / "cgroup.procs").read_text().split()):
            if pid != os.getpid():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def find_second(self) -> Path:
        """Return where version 2 is mounted with its memory controller."""
        for folder in SECOND:
            with contextlib.suppress(OSError):
                if "memory" in (folder / "cgroup.controllers").read_text().split():
                    (folder / "cgroup.subtree_control").write_text("+memory")
                    return folder
        raise ServerError(
            "this system has no memory cgroups, neither version 1 nor 2; the kernel's bytes cannot be read"
        )

    def add(self, pid: int) -> None:
        """Put a process into the group; what it starts is in it too."""
        (self.folder / "cgroup.procs").write_text(str(pid))

    def read(self) -> KernelMemory:
        """Return what the kernel holds now."""
        if self.version == 1:
            return KernelMemory(*(self.read_number(name) for name in ("kmem.usage", "kmem.tcp.usage")))
        stat = dict(line.split() for line in (self.folder / "memory.stat").read_text().splitlines())
        sockets = int(stat["sock"])
        kernel = int(stat.get("kernel", sum(int(stat.get(name, 0)) for name in ("slab", "pagetables", "kernel_stack"))))
        return KernelMemory(kernel + sockets, sockets)

    def read_number(self, name: str) -> int:
        return int((self.folder / f"memory.{name}_in_bytes").read_text())
