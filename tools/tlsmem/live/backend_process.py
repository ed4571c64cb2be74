"""What stands behind a proxy in a live run: a server that answers GET /small with one byte, and GET /full, which comes
with a body, with as many, and keeps its connections open. Standard library only.

It prints a line once it listens, and runs until its stdin ends. It is none of the processes that are measured."""

import re
import resource
import select
import socket
import sys
from functools import partial

BACKLOG, ROOM = 4096, 65536
LENGTH = re.compile(rb"^content-length:\s*(\d+)", re.IGNORECASE | re.MULTILINE)
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s"


class Connection:
    """One connection of a proxy, and what has come of its request."""

    def __init__(self, opened: socket.socket, full_bytes: int) -> None:
        self.socket, self.full_bytes = opened, full_bytes
        self.received = b""

    def serve(self) -> bool:
        """Read what is there, and answer a whole request; return whether the connection stays open."""
        data = self.socket.recv(ROOM)
        self.received += data
        head, separator, body = self.received.partition(b"\r\n\r\n")
        length = LENGTH.search(head)
        if separator and len(body) >= (size := int(length[1]) if length else 0):
            self.received = body[size:]
            answer = b"x" * (self.full_bytes if head.startswith(b"GET /full ") else 1)
            self.socket.sendall(ANSWER % (len(answer), answer))
        return bool(data)


def accept(listener: socket.socket, poll: select.epoll, held: dict[int, Connection], full_bytes: int) -> None:
    """Hold one more connection."""
    connection = Connection(listener.accept()[0], full_bytes)
    held[connection.socket.fileno()] = connection
    poll.register(connection.socket, select.EPOLLIN)


def serve(number: int, held: dict[int, Connection]) -> None:
    """Let a connection go on, or close one that its proxy has closed or broken."""
    try:
        stays = held[number].serve()
    except OSError:
        stays = False
    if not stays:
        held.pop(number).socket.close()


def main() -> None:
    port, full_bytes = map(int, sys.argv[1:])
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    listener = socket.create_server(("127.0.0.1", port), backlog=BACKLOG)
    poll, held = select.epoll(), dict[int, Connection]()
    poll.register(listener, select.EPOLLIN)
    poll.register(sys.stdin, select.EPOLLIN | select.EPOLLHUP)
    act = {listener.fileno(): partial(accept, listener, poll, held, full_bytes)}
    print("listening", flush=True)
    while True:
        for number, _ in poll.poll():
            if number == sys.stdin.fileno():
                return
            act.get(number, partial(serve, number, held))()


if __name__ == "__main__":
    main()
