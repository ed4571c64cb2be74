"""Kernel TLS: whether this kernel has it, asked with a real socket, and how many connections of a run use it."""

import contextlib
import errno
import os
import socket
from pathlib import Path

from tlsmem.live.servers import ServerError

TCP_ULP = 31  # of Linux: the option that puts a protocol above a TCP socket
COUNTERS = ("TlsTxSw", "TlsTxDevice")  # of /proc/net/tls_stat: connections that the kernel has encrypted for
WAY_OUT = "run it where `modprobe tls` succeeds and OpenSSL is built with enable-ktls"


def require_ktls() -> None:
    """Raise ServerError with a sentence where the kernel takes no socket over: it is asked with a connected one."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        client = stack.enter_context(socket.create_connection(listener.getsockname()))
        stack.enter_context(listener.accept()[0])
        try:
            client.setsockopt(socket.IPPROTO_TCP, TCP_ULP, b"tls")
        except OSError as error:
            number = error.errno or 0
            said = f"{errno.errorcode.get(number, number)}, {os.strerror(number)}"
            raise ServerError(f"this kernel has no kTLS: setting TCP_ULP to tls gives {said}; {WAY_OUT}") from None


def check_use(statistics: Path, connections: int) -> None:
    """Raise ServerError where the network's connections were not handed to the kernel."""
    counts = dict(line.split() for line in statistics.read_text().splitlines())
    used = sum(int(counts.get(name, 0)) for name in COUNTERS)
    if used < connections:
        raise ServerError(
            f"only {used:,} of {connections:,} connections use kTLS: the server's OpenSSL lacks it; {WAY_OUT}"
        )
