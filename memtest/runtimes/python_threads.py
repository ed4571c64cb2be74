"""A server on http.server and socketserver with a thread for each connection, which shakes hands in its thread; and a
client that has a thread for each connection too."""

import argparse
import http.server
import queue
import socket
import ssl
import threading

from python_program import (
    BACKLOG,
    COMMANDS,
    answer_commands,
    answer_in_thread,
    make_answer,
    make_client_context,
    make_request,
    make_server_context,
    parse_options,
    split_address,
)


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = BACKLOG
    context = None
    full = 0

    def get_request(self) -> tuple[socket.socket, object]:
        connection, address = super().get_request()
        if self.context:
            connection = self.context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        return connection, address

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that close."""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.wfile.write(make_answer(self.requestline.encode(), self.server.full))

    def log_message(self, *_: object) -> None:
        """Say nothing of requests."""


def serve(options: argparse.Namespace) -> None:
    for address, context in ((options.plain, None), (options.tls, make_server_context(options))):
        server = Server(split_address(address), Handler)
        server.context, server.full = context, options.full
        threading.Thread(target=server.serve_forever, daemon=True).start()
    threading.Event().wait()


class Client:
    """Connections to a server, a thread for each; each method is a command."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options, self.context = options, make_client_context(options)
        self.connections: list[socket.socket] = []
        self.answers: queue.SimpleQueue[Exception | None] = queue.SimpleQueue()
        self.requests: list[queue.SimpleQueue[int | None]] = []

    def run(self, secure: bool, requests: "queue.SimpleQueue[int | None]") -> None:
        """Be the thread of a connection: None closes it, 0 asks for /small, a size for /full."""
        try:
            with socket.create_connection(split_address(self.options.tls if secure else self.options.plain)) as bare:
                connection = self.context.wrap_socket(bare, server_hostname="localhost") if secure else bare
                self.connections.append(connection)
                self.answers.put(None)
                while (size := requests.get()) is not None:
                    connection.sendall(make_request(size))
                    read_answer(connection, max(1, size))
                    self.answers.put(None)
                connection.close()
            self.answers.put(None)
        except Exception as error:  # the command that waits has it
            self.answers.put(error)

    def wait(self, count: int) -> None:
        """Wait for so many threads."""
        for error in [self.answers.get() for _ in range(count)]:
            if error:
                raise error

    def connect(self, transport: str, count: str) -> dict[str, object]:
        """Open so many connections at once."""
        new: list[queue.SimpleQueue[int | None]] = [queue.SimpleQueue() for _ in range(int(count))]
        self.requests += new
        for requests in new:
            threading.Thread(target=self.run, args=(transport == "tls", requests), daemon=True).start()
        self.wait(len(new))
        used = self.connections[-1]
        if not isinstance(used, ssl.SSLSocket):
            return {}
        return {"protocol": used.version(), "cipher": (used.cipher() or ("",))[0]}

    def ask(self, what: str) -> dict[str, object]:
        """Send a request on each connection, one after the other, and read the answer."""
        for requests in self.requests:
            requests.put(self.options.full if what == "full" else 0)
            self.wait(1)
        return {}

    def close(self) -> dict[str, object]:
        for requests in self.requests:
            requests.put(None)
        self.wait(len(self.requests))
        self.requests.clear()
        self.connections.clear()
        return {}


def read_answer(connection: socket.socket, size: int) -> None:
    """Read an answer whose body has so many bytes. Raises ValueError where it is another one."""
    received = b""
    while b"\r\n\r\n" not in received or len(received.partition(b"\r\n\r\n")[2]) < size:
        data = connection.recv(65536)
        if not data:
            raise ValueError("the server has closed a connection")
        received += data
    if not received.startswith(b"HTTP/1.1 200 "):
        raise ValueError(f"the server answered {received[:40]!r}")


if __name__ == "__main__":
    options = parse_options()
    if options.role == "client":
        client = Client(options)
        COMMANDS.update(connect=client.connect, ask=client.ask, close=client.close)
        answer_commands()
    else:
        answer_in_thread()
        serve(options)
