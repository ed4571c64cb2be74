"""A server that accepts connections and holds them in an epoll set, and does nothing else. Standard library only.

It prints a line once it listens, and runs until its stdin ends."""

import resource
import select
import socket
import sys
from functools import partial

BACKLOG = 4096


def accept(listener: socket.socket, poll: select.epoll, held: dict[int, socket.socket]) -> None:
    """Hold a connection, or close one whose client has."""
    connection = listener.accept()[0]
    held[connection.fileno()] = connection
    poll.register(connection, select.EPOLLIN)


def main() -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=BACKLOG)
    poll, held = select.epoll(), dict[int, socket.socket]()
    poll.register(listener, select.EPOLLIN)
    poll.register(sys.stdin, select.EPOLLIN | select.EPOLLHUP)
    act = {listener.fileno(): partial(accept, listener, poll, held)}
    print("listening", flush=True)
    while True:
        for number, _ in poll.poll():
            if number == sys.stdin.fileno():
                return
            act.get(number, partial(held.pop, number, None))()


if __name__ == "__main__":
    main()
