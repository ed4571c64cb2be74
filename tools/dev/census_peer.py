"""A client or server of known numbers of TLS sessions, in a process of its own. Standard library only.

    census_peer.py connect PORT     reads lines such as `open N` from stdin
    census_peer.py serve PORT CHAIN KEY
    census_peer.py hold PORT        accepts connections, and keeps them until they are closed: behind a proxy

`open`: sessions whose handshake is complete; `close`: ends the oldest connections; `silent`: connections that send
nothing; `part`: the first half of a ClientHello; `hello`: all of it, and nothing after; `leave`: ends the oldest of
these. After each line the client prints how many sessions it holds, as {"established": N, "waiting": N}. The server
holds what connects until its peer closes."""

import json
import selectors
import socket
import ssl
import sys
from collections.abc import Callable
from typing import Any

BACKLOG = 1024
LIMIT_S = 20


class Client:
    """What is open: sessions, and connections that never complete their handshake."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.context.check_hostname, self.context.verify_mode = False, ssl.CERT_NONE
        self.established: list[ssl.SSLSocket] = []
        self.waiting: list[socket.socket] = []

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), LIMIT_S)

    def open(self) -> None:
        self.established.append(self.context.wrap_socket(self.connect()))

    def close(self) -> None:
        one = self.established.pop(0) if self.established else self.waiting.pop(0)
        one.close()

    def leave(self) -> None:
        self.waiting.pop(0).close()

    def silent(self) -> None:
        self.waiting.append(self.connect())

    def part(self) -> None:
        hello = self.make_hello()
        self.send(hello[: len(hello) // 2])

    def hello(self) -> None:
        self.send(self.make_hello())

    def send(self, content: bytes) -> None:
        connection = self.connect()
        connection.sendall(content)
        self.waiting.append(connection)

    def make_hello(self) -> bytes:
        outgoing = ssl.MemoryBIO()
        session = self.context.wrap_bio(ssl.MemoryBIO(), outgoing)
        try:
            session.do_handshake()
        except ssl.SSLWantReadError:
            return outgoing.read()
        raise AssertionError("a handshake without a server")


def connect(port: int) -> None:
    client = Client(port)
    for line in sys.stdin:
        verb, count = line.split()
        for _ in range(int(count)):
            getattr(client, verb)()
        print(json.dumps({"established": len(client.established), "waiting": len(client.waiting)}), flush=True)


def serve(port: int, chain: str, key: str) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, key)

    def begin(connection: socket.socket) -> ssl.SSLSocket:
        connection.setblocking(False)
        return context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)

    keep_open(port, begin, has_ended)


def hold(port: int) -> None:
    keep_open(port, lambda connection: connection, lambda connection: not connection.recv(4096))


def keep_open(port: int, begin: Callable[[socket.socket], Any], has_ended: Callable[[Any], bool]) -> None:
    """Accept connections, begin each, and keep it until it has ended, which is asked whenever there is something to
    read."""
    listener = socket.create_server(("127.0.0.1", port), backlog=BACKLOG)
    ready = selectors.DefaultSelector()
    ready.register(listener, selectors.EVENT_READ)
    while True:
        for found, _ in ready.select():
            if found.fileobj is listener:
                ready.register(begin(listener.accept()[0]), selectors.EVENT_READ)
            elif has_ended(found.fileobj):
                ready.unregister(found.fileobj)
                found.fileobj.close()


def has_ended(session: Any) -> bool:
    """Go on with a session: its handshake, or a read. Returns whether its peer has closed."""
    try:
        session.do_handshake()
        return not session.recv(4096)
    except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
        return False
    except OSError:
        return True


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(int(sys.argv[2]), *sys.argv[3:5])
    elif sys.argv[1] == "hold":
        hold(int(sys.argv[2]))
    else:
        connect(int(sys.argv[2]))
