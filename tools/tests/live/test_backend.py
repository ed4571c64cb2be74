"""The server behind a proxy: what it answers, and that it ends with its stdin."""

import os
import socket
import subprocess
import sys

import pytest

from tlsmem.base.paths import PACKAGE

FULL = 5000


@pytest.fixture
def backend():
    """Yield its port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = [sys.executable, "-m", "tlsmem.live.backend_process", str(port), str(FULL)]
    variables = os.environ | {"PYTHONPATH": str(PACKAGE.parent)}
    with subprocess.Popen(words, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin and process.stdout and process.stdout.readline() == "listening\n"
        yield port
        process.stdin.close()
        assert process.wait(10) == 0


def ask(connection: socket.socket, *parts: bytes) -> bytes:
    """Return the body of the answer to a request that is sent in parts."""
    for part in parts:
        connection.sendall(part)
    received = b""
    while b"\r\n\r\n" not in received or len(received.partition(b"\r\n\r\n")[2]) < length(received):
        received += connection.recv(65536)
    return received.partition(b"\r\n\r\n")[2]


def length(received: bytes) -> int:
    return int(received.partition(b"Content-Length: ")[2].partition(b"\r\n")[0])


def test_one_byte_and_a_full_body_on_a_connection_that_stays_open(backend):
    with socket.create_connection(("127.0.0.1", backend), timeout=10) as connection:
        for _ in range(2):
            assert ask(connection, b"GET /small HTTP/1.1\r\n", b"Host: localhost\r\n\r\n") == b"x"
            head = f"GET /full HTTP/1.1\r\ncontent-length: {FULL}\r\n\r\n".encode()
            assert ask(connection, head, b"y" * 10, b"y" * (FULL - 10)) == b"x" * FULL


def test_it_outlives_connections_that_are_closed_and_reset(backend):
    for linger in (b"", b"\1\0\0\0\0\0\0\0"):
        with socket.create_connection(("127.0.0.1", backend), timeout=10) as connection:
            if linger:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            connection.sendall(b"GET /sm")
    with socket.create_connection(("127.0.0.1", backend), timeout=10) as connection:
        assert ask(connection, b"GET /small HTTP/1.1\r\n\r\n") == b"x"
