"""A command and all that it starts, which ends with whoever started it, however that ends.

Run as a script: `process_group.py DESCRIPTOR COMMAND ...`. It leads the command, and the descriptor is one end of a
socket. Once the other end is closed, as the kernel does for a process that is killed, it kills all its descendants:
those too that lead process groups or sessions of their own, as the compilers of ninja do, and those whose parents have
ended, which the kernel gives to the leader. It exits as the command does; where that cannot be run, it writes the
error's number into the socket. Standard library only."""

import contextlib
import ctypes
import errno
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

CANNOT_BE_RUN = 127
PR_SET_CHILD_SUBREAPER = 36
PATIENCE_S = 10  # with descendants that the kernel does not end yet, or that are another user's


class ProcessGroup:
    """A command that runs; `kill` ends it and all that it started."""

    def __init__(
        self,
        command: Sequence[str],
        where: Path,
        variables: Mapping[str, str],
        output: IO[bytes],
        passed: Sequence[int] = (),
    ) -> None:
        self.error_number = b""
        self.socket, theirs = socket.socketpair()
        leader = [sys.executable, "-I", "-S", __file__, str(theirs.fileno()), *command]
        with theirs:
            self.process = subprocess.Popen(
                leader, cwd=where, env=variables, stdin=subprocess.DEVNULL, pass_fds=[*passed, theirs.fileno()],
                stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip

    @property
    def pid(self) -> int:
        return self.process.pid

    def poll(self) -> int | None:
        return self.process.poll()

    def kill(self) -> None:
        """End what still runs of it, and learn why it could not be run."""
        if self.process.poll() is None:
            self.socket.shutdown(socket.SHUT_RDWR)  # the leader ends the others, then itself
            try:
                self.process.wait(2 * PATIENCE_S)
            except subprocess.TimeoutExpired:  # it was stopped
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
        elif self.process.returncode == CANNOT_BE_RUN:
            self.error_number = self.socket.recv(16)  # at its end there is nothing more, and so no waiting
        self.socket.close()

    def start_error(self) -> str | None:
        """Why the command could not be run; None where it could."""
        return os.strerror(int(self.error_number)) if self.error_number else None


def lead(descriptor: int, command: Sequence[str]) -> None:
    """Run the command, and exit as it does."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    starter = socket.socket(fileno=descriptor)
    starter.set_inheritable(False)
    ending = threading.Lock()
    try:
        process = subprocess.Popen(command, close_fds=False)
    except OSError as error:
        starter.sendall(str(error.errno or errno.EINVAL).encode())
        os._exit(CANNOT_BE_RUN)
    threading.Thread(
        target=end_with, args=(starter, ending), daemon=True
    ).start()  # not before: it must see the command
    status = process.wait()
    ending.acquire()  # for good, if the others are being ended
    if status < 0:
        if -status != signal.SIGKILL:
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


def end_with(starter: socket.socket, ending: threading.Lock) -> None:
    """Kill all descendants until none is left, and the group with this process, once the other end is closed."""
    starter.recv(1)
    ending.acquire()
    until = time.monotonic() + PATIENCE_S
    with contextlib.suppress(ChildProcessError):  # none is left, not even one that this moment's list does not have yet
        while time.monotonic() < until:
            for pid in descendants():
                with contextlib.suppress(OSError):  # it has ended, or is another user's
                    os.kill(pid, signal.SIGKILL)
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
            time.sleep(0.005)
    os.killpg(0, signal.SIGKILL)


def descendants() -> list[int]:
    """The processes below this one that have not ended."""
    children: dict[int, list[int]] = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, parent = place.read_text(errors="replace").rpartition(")")[2].split()[:2]
            if state not in "ZX":
                children.setdefault(int(parent), []).append(int(place.parent.name))
    found, above = list[int](), [os.getpid()]
    while above:
        below = [child for pid in above for child in children.get(pid, ())]
        found, above = found + below, below
    return found


if __name__ == "__main__":
    lead(int(sys.argv[1]), sys.argv[2:])
