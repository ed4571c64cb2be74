"""A network of a live run's own: a namespace with nothing but its loopback, so that no port is taken, and nobody else
can connect."""

import signal
import subprocess
from pathlib import Path

from tlsmem.live.child import start_child
from tlsmem.live.servers import ServerError

HOLD = "ip link set lo up && echo ready && exec sleep {seconds}"
LISTEN = "0A"  # of /proc/net/tcp: the state


class Network:
    """`with Network() as network`; processes join it by `prefix` before their command."""

    def __init__(self, limit_s: float = 24 * 3600) -> None:
        self.limit_s = limit_s

    def __enter__(self) -> "Network":
        words = ["unshare", "--net", "sh", "-c", HOLD.format(seconds=round(self.limit_s))]
        self.holder = start_child(words, signal.SIGKILL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert self.holder.stdout and self.holder.stderr
        if self.holder.stdout.readline() != "ready\n":
            self.holder.wait()
            said = self.holder.stderr.read().strip().splitlines() or ["it said nothing"]
            raise ServerError(f"cannot make a network namespace, which needs root and iproute2: {said[-1]}")
        return self

    def __exit__(self, *_: object) -> None:
        self.holder.kill()
        self.holder.wait()
        for pipe in (self.holder.stdout, self.holder.stderr):
            if pipe:
                pipe.close()

    @property
    def prefix(self) -> list[str]:
        """The words that start a command in this network."""
        return ["nsenter", f"--net=/proc/{self.holder.pid}/ns/net", "--"]

    @property
    def statistics(self) -> Path:
        """The kernel's counters of kTLS in this network."""
        return Path(f"/proc/{self.holder.pid}/net/tls_stat")

    def listens(self, port: int) -> bool:
        """Return whether somebody listens on the port; a JVM does so by sockets of IPv6."""
        files = [Path(f"/proc/{self.holder.pid}/net/{name}") for name in ("tcp", "tcp6")]
        lines = [line for file in files if file.exists() for line in file.read_text().splitlines()[1:]]
        sockets = (line.split() for line in lines)
        return any(int(words[1].split(":")[1], 16) == port and words[3] == LISTEN for words in sockets)
