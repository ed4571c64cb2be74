"""The clients of a live run: a process that opens connections to one server and takes them from state to state.

It reads one command a line on stdin, as JSON, and answers each with one line: {"done": ...} or {"failed": "sentence"}.
It runs apart so that its memory, and the kernel's for its ends, are not the server's. Standard library only."""

import errno
import hashlib
import json
import os
import resource
import select
import socket
import ssl
import sys
import time
from collections.abc import Callable, Iterable, Iterator

from tlsmem.live.applications import find_application, speak_http

IP_BIND_ADDRESS_NO_PORT = 24  # of Linux: the port is chosen when it is known whom to connect to, which is quick
ROOM = 65536  # bytes of a read
LAST = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
AT_ONCE = 100  # connections that are being opened: a server's backlog may be 511


class ClientFailed(Exception):
    """One sentence."""


class Connection:
    """One connection: its socket, and over TLS the library's state, which it may drop."""

    def __init__(
        self,
        endpoint: tuple[str, int],
        source: str,
        context: ssl.SSLContext | None,
        session: ssl.SSLSession | None = None,
    ) -> None:
        self.socket = socket.socket()
        self.socket.setblocking(False)
        self.socket.setsockopt(socket.IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
        self.socket.bind((source, 0))
        if (error := self.socket.connect_ex(endpoint)) not in (0, errno.EINPROGRESS):  # such as no port that is left
            raise ClientFailed(f"a connection cannot be opened: {os.strerror(error)}")
        self.received = bytearray()
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls, self.is_complete = None, False
        if context:
            self.tls = context.wrap_bio(self.incoming, self.outgoing, server_hostname="localhost", session=session)

    def fileno(self) -> int:
        return self.socket.fileno()

    def shake_hands(self) -> bool:
        """Take one step; return whether the handshake is complete. Certificates and the host name are verified."""
        assert self.tls
        try:
            self.tls.do_handshake()
            self.is_complete = True
        except ssl.SSLWantReadError:
            pass
        self.flush()
        return self.is_complete

    def flush(self) -> None:
        """Send what the library wants to send."""
        if data := self.outgoing.read():
            self.send_bytes(data)

    def send_bytes(self, data: bytes) -> None:
        """Send all of it: a few records fit into the socket's buffer."""
        if self.socket.send(data) != len(data):
            raise ClientFailed("the server takes no more bytes: its receive buffer is full")

    def pull(self) -> None:
        """Read what has arrived, decrypt it, and keep it. Raises ClientFailed at the end of the stream."""
        try:
            data = self.socket.recv(ROOM)
        except BlockingIOError:
            return
        if not data:
            raise ClientFailed("the server has closed a connection")
        if not self.tls:
            self.received += data
            return
        self.incoming.write(data)
        if self.is_complete:
            self.decrypt()

    def decrypt(self) -> None:
        """Take all records that are complete; tickets among them."""
        assert self.tls
        try:
            while data := self.tls.read(ROOM):
                self.received += data
        except ssl.SSLWantReadError:
            pass

    def send(self, data: bytes) -> None:
        """Send application data."""
        if not self.tls:
            self.send_bytes(data)
            return
        self.tls.write(data)
        self.flush()

    def drop_tls(self) -> None:
        """Keep the socket alone."""
        self.tls = None
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()


class Clients:
    """All connections of this process, in the order in which they were opened, from one source address."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.connections: list[Connection] = []
        self.context: ssl.SSLContext | None = None
        self.session: ssl.SSLSession | None = None
        self.endpoint = ("127.0.0.1", 0)
        self.limit_s = 60.0
        self.application = speak_http()

    def configure(
        self,
        port: int,
        root: str | None,
        protocol: str,
        limit_s: float,
        descriptors: int,
        pinned: bool = False,
        client: dict[str, str | bool] | None = None,
        certificate: str | None = None,
        resumes: bool = False,
    ) -> None:
        """Set whom to connect to. `root`: a file of certificates, over TLS; `protocol`: TLSv1.2 or TLSv1.3; `client`:
        what `find_application` takes.

        `pinned`: over TLS of a version that the server chooses; each connection must present the certificate that the
        first one did. `certificate`: a directory with the clients' own. `resumes`: every connection offers the ticket
        of one session, which is made first."""
        self.endpoint, self.limit_s = ("127.0.0.1", port), limit_s
        if client:
            self.application = find_application(client)
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(descriptors, hard), hard))
        if root or pinned:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            if root:
                version = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}[protocol]
                self.context.minimum_version = self.context.maximum_version = version
                self.context.load_verify_locations(root)
            else:
                self.context.check_hostname = False
                self.context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
                self.context.load_verify_locations(cadata=ssl.get_server_certificate(self.endpoint))

        if self.context and certificate:
            self.context.load_cert_chain(f"{certificate}/client-chain.pem", f"{certificate}/client-key.pem")
        if resumes:
            self.session = self.fetch_session()

    def fetch_session(self) -> ssl.SSLSession:
        """Return a session that the server gave a ticket for. Raises ClientFailed where it gave none."""
        assert self.context
        plain = socket.create_connection(self.endpoint, self.limit_s)
        with plain, self.context.wrap_socket(plain, server_hostname="localhost") as secure:
            secure.sendall(LAST)
            while secure.recv(ROOM):  # tickets of TLS 1.3 come before the answer
                pass
            session = secure.session
        if not session or not session.has_ticket:
            raise ClientFailed("the server gave no ticket, so no session can be resumed: its configuration, or library")
        return session

    def fetch_certificates(self, names: list[str]) -> list[str]:
        """Complete a handshake for each name, one after the other. Return the SHA-256 of each certificate that the
        server answered with."""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # of which one is what is asked
        found = []
        for name in names:
            plain = socket.create_connection(self.endpoint, self.limit_s)
            with plain, context.wrap_socket(plain, server_hostname=name) as secure:
                found.append(hashlib.sha256(secure.getpeercert(binary_form=True) or b"").hexdigest())
        return found

    def connect(self, count: int) -> None:
        """Open so many connections more; each is writable at the end, so the kernel has accepted it."""
        for begin in range(0, count, AT_ONCE):
            new = []
            for _ in range(min(AT_ONCE, count - begin)):
                self.connections.append(Connection(self.endpoint, self.source, self.context, self.session))
                new.append(self.connections[-1])
            for connection in self.wait(new, select.EPOLLOUT):
                if error := connection.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                    raise ClientFailed(f"the server refused a connection: {os.strerror(error)}")

    def wait(self, connections: Iterable[Connection], event: int) -> Iterator[Connection]:
        """Yield each connection once, when the event has come to it. Raises ClientFailed after the time limit."""
        waiting = {connection.fileno(): connection for connection in connections}
        until = time.monotonic() + self.limit_s
        with select.epoll() as poll:
            for number in waiting:
                poll.register(number, event | select.EPOLLONESHOT)
            while waiting:
                events = poll.poll(max(0.0, until - time.monotonic()))
                if not events:
                    raise ClientFailed(f"{len(waiting):,} connections are still waiting after {self.limit_s:.0f} s")
                for number, _ in events:
                    if number in waiting:
                        yield waiting.pop(number)

    def begin_handshakes(self, begin: int, end: int) -> None:
        """Send the ClientHello of each connection, and wait until the server has answered each; nothing is read."""
        some = self.connections[begin:end]
        self.ask_for_tls(some)
        for connection in some:
            connection.shake_hands()
        for _ in self.wait(some, select.EPOLLIN):
            pass

    def ask_for_tls(self, connections: list[Connection]) -> None:
        """Ask on each whether TLS may begin, where the protocol has that. Raises ClientFailed where it may not."""
        if not (asked := self.application.asks_tls):
            return
        for connection in connections:
            connection.send_bytes(asked)
        for connection in self.wait(connections, select.EPOLLIN):
            if (answer := connection.socket.recv(ROOM)) != self.application.grants_tls:
                raise ClientFailed(f"the server does not begin TLS: it answered {answer!r}")

    def finish_handshakes(self, begin: int, end: int) -> dict[str, str]:
        """Complete the handshakes that were begun. Return what was negotiated, alike of all."""
        waiting, found = self.connections[begin:end], set[tuple[str, str]]()
        while waiting:
            behind = []
            for connection in self.wait(waiting, select.EPOLLIN):
                connection.pull()
                if not connection.shake_hands():
                    behind.append(connection)
            waiting = behind
        for connection in self.connections[begin:end]:
            assert connection.tls
            found.add((connection.tls.version() or "", (connection.tls.cipher() or ("",))[0]))
        anew = sum(not one.tls.session_reused for one in self.connections[begin:end] if one.tls)
        if self.session and anew:
            raise ClientFailed(f"{anew:,} of {end - begin:,} sessions were not resumed: the server made new ones")
        if len(found) != 1:
            raise ClientFailed(f"connections of one run negotiated different things: {sorted(found)}")
        version, cipher = found.pop()
        return {"protocol": version, "cipher": cipher}

    def drop_tls(self) -> None:
        """Keep the sockets of all connections and drop the state of TLS: they carry no data any more."""
        for connection in self.connections:
            connection.drop_tls()

    def greet(self, begin: int, end: int) -> None:
        """Say what the protocol begins with on each of these connections, and wait for the answers."""
        some = self.connections[begin:end]
        if self.application.greeting:
            for connection in some:
                connection.received.clear()
                connection.send(self.application.greeting)
            self.await_answers(some, self.application.is_greeted)

    def ask(self) -> None:
        """Send a request on each connection, one after the other, and wait for its answer."""
        for connection in self.connections:
            connection.received.clear()
            connection.send(self.application.request)
            self.await_answers([connection], self.application.is_answered)

    def await_answers(self, connections: list[Connection], is_complete: Callable[[bytes], bool]) -> None:
        """Read until each has a complete answer. Raises ClientFailed where one is another."""
        waiting = connections
        while waiting:
            behind = []
            for connection in self.wait(waiting, select.EPOLLIN):
                connection.pull()
                try:
                    if not is_complete(bytes(connection.received)):
                        behind.append(connection)
                except ValueError as error:
                    raise ClientFailed(str(error)) from None
            waiting = behind

    def exchange(self, request: str, body_bytes: int, reply_bytes: int | None) -> None:
        """Send a request on each connection, and read the whole reply, whose body has so many bytes; None: as many as
        its Content-Length says, whatever the status.

        One connection at a time: buffers for a reply under way are not multiplied."""
        data = request.encode() + b"x" * body_bytes
        for connection in self.connections:
            connection.received.clear()
            connection.send(data)
            while not self.has_reply(connection, reply_bytes):
                for _ in self.wait([connection], select.EPOLLIN):
                    connection.pull()

    def has_reply(self, connection: Connection, reply_bytes: int | None) -> bool:
        """Return whether the whole reply is there. Raises ClientFailed where it is another one."""
        head, separator, body = bytes(connection.received).partition(b"\r\n\r\n")
        if not separator:
            return False
        status = head.split(b"\r\n", 1)[0]
        if reply_bytes is None:
            return len(body) >= read_length(head)
        if b" 200 " not in status + b" ":
            raise ClientFailed(f"the server answered {status.decode(errors='replace')}")
        if len(body) > reply_bytes:
            raise ClientFailed(f"the server sent {len(body):,} bytes of a body that has {reply_bytes:,}")
        return len(body) == reply_bytes

    def shut_down(self) -> None:
        """End the stream towards the server on each connection, and leave the other direction."""
        for connection in self.connections:
            connection.socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Close all connections."""
        for connection in self.connections:
            connection.socket.close()
        self.connections.clear()


def read_length(head: bytes) -> int:
    """Return the Content-Length of a reply. Raises ClientFailed where it has none: its end cannot be told."""
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length" and value.strip().isdigit():
            return int(value)
    raise ClientFailed("the server's answer to GET / has no Content-Length")


def main() -> None:
    clients = Clients(sys.argv[1])
    commands: dict[str, Callable[..., object]] = {
        name: getattr(clients, name)
        for name in (
            "configure",
            "fetch_certificates",
            "connect",
            "begin_handshakes",
            "finish_handshakes",
            "greet",
            "ask",
            "drop_tls",
            "exchange",
            "shut_down",
            "close",
        )
    }
    for line in sys.stdin:
        name, arguments = json.loads(line)
        try:
            answer = {"done": commands[name](**arguments)}
        except ClientFailed as error:
            answer = {"failed": str(error)}
        except OSError as error:  # errors of TLS among them
            answer = {"failed": f"{name}: {error.strerror or error}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
