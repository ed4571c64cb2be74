"""A command and all that it starts, as a process group that ends with whoever started it, however that ends.

Run as a script: `process_group.py DESCRIPTOR COMMAND ...`. It leads the group, and the descriptor is one end of a
socket. Once the other end is closed, as the kernel does for a process that is killed, the group is killed. It exits as
the command does; where that cannot be run, it writes the error's number into the socket. Standard library only."""

import errno
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

CANNOT_BE_RUN = 127


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
    starter = socket.socket(fileno=descriptor)
    starter.set_inheritable(False)
    threading.Thread(target=end_with, args=(starter,), daemon=True).start()
    try:
        process = subprocess.Popen(command, close_fds=False)
    except OSError as error:
        starter.sendall(str(error.errno or errno.EINVAL).encode())
        os._exit(CANNOT_BE_RUN)
    status = process.wait()
    if status < 0:
        if -status != signal.SIGKILL:
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


def end_with(starter: socket.socket) -> None:
    """Kill the group, this process too, once the other end is closed."""
    starter.recv(1)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    lead(int(sys.argv[1]), sys.argv[2:])
