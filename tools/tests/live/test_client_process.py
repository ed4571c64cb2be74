"""The clients of a live run against a small server of our own, in plain HTTP and over TLS."""

import asyncio
import json
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from tlsmem.base.paths import ROOT
from tlsmem.live.client_process import ClientFailed, Connection
from tlsmem.live.servers import CERTS

SMALL = "GET /small HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Server:
    """Answers each request with `reply`, whatever it asks for; counts the bytes of requests."""

    def __init__(self, over_tls: bool, certs: str, mutual: bool = False, tickets: int = 2) -> None:
        self.reply, self.received, self.open = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", 0, 0
        self.context = None
        if over_tls:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(f"{certs}/chain.pem", f"{certs}/key.pem")
            self.context.num_tickets = tickets
            if mutual:
                self.context.verify_mode = ssl.CERT_REQUIRED
                self.context.load_verify_locations(f"{certs}/client-root.pem")
        self.resumed = 0
        self.loop = asyncio.new_event_loop()
        self.server = self.loop.run_until_complete(asyncio.start_server(self.serve, "127.0.0.1", 0, ssl=self.context))
        self.port = self.server.sockets[0].getsockname()[1]
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        secure = writer.get_extra_info("ssl_object")
        self.resumed += bool(secure and secure.session_reused)
        while data := await reader.read(65536):
            self.received += len(data)
            if data.endswith((b"\r\n\r\n", b"xx")):
                writer.write(self.reply)
            if b"Connection: close" in data:
                break
        writer.close()
        self.open -= 1

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        self.loop.close()


class Clients:
    """The process, command by command."""

    def __init__(self) -> None:
        words = [sys.executable, "-m", "tlsmem.live.client_process", "127.0.0.1"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen(words, cwd=ROOT / "tools", text=True, **pipes)

    def __call__(self, command: str, **arguments: object) -> dict:
        print(json.dumps([command, arguments]), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())

    def stop(self) -> None:
        self.process.stdin.close()
        self.process.wait(10)
        self.process.stdout.close()


@pytest.fixture
def clients() -> Iterator[Clients]:
    made = Clients()
    yield made
    made.stop()


@pytest.fixture(params=["plain", "tls"])
def server(request) -> Iterator[Server]:
    made = Server(request.param == "tls", str(CERTS))
    yield made
    made.stop()


def configure(clients: Clients, server: Server, root: str = str(CERTS / "root.pem"), **more: object) -> dict:
    over_tls = {"root": root if server.context else None, "protocol": "TLSv1.3"}
    return clients("configure", port=server.port, limit_s=10, descriptors=200, **over_tls | more)


@pytest.fixture
def start() -> Iterator[Callable[..., Server]]:
    """Start a server over TLS; all are stopped."""
    made = []

    def start(**options: object) -> Server:
        made.append(Server(True, str(CERTS), **options))
        return made[-1]

    yield start
    for one in made:
        one.stop()


def connect(clients: Clients, server: Server, count: int) -> dict:
    configure(clients, server)
    assert clients("connect", count=count) == {"done": None}
    if not server.context:
        return {}
    assert clients("begin_handshakes", begin=0, end=count) == {"done": None}
    return clients("finish_handshakes", begin=0, end=count)["done"]


def test_connections_shake_hands_ask_and_close(clients, server):
    negotiated = connect(clients, server, 12)
    assert negotiated == ({"protocol": "TLSv1.3", "cipher": "TLS_AES_256_GCM_SHA384"} if server.context else {})
    assert clients("exchange", request=SMALL, body_bytes=0, reply_bytes=1) == {"done": None}
    assert (server.open, server.received) == (12, 12 * len(SMALL))
    assert clients("exchange", request=SMALL, body_bytes=16384, reply_bytes=1) == {"done": None}
    assert server.received == 12 * (2 * len(SMALL) + 16384)
    assert clients("shut_down") == {"done": None}
    assert clients("close") == {"done": None}


def test_another_reply_than_was_expected_is_a_sentence(clients, server):
    connect(clients, server, 2)
    server.reply = b"HTTP/1.1 200 OK\r\n\r\nxyz"
    answer = clients("exchange", request=SMALL, body_bytes=0, reply_bytes=1)
    assert answer == {"failed": "the server sent 3 bytes of a body that has 1"}


def test_an_error_of_the_server_is_a_sentence(clients, server):
    connect(clients, server, 2)
    server.reply = b"HTTP/1.1 500 Internal Server Error\r\n\r\nx"
    answer = clients("exchange", request=SMALL, body_bytes=0, reply_bytes=1)
    assert answer == {"failed": "the server answered HTTP/1.1 500 Internal Server Error"}


def test_a_certificate_of_another_root_is_refused(clients):
    server = Server(True, str(CERTS))
    configure(clients, server, str(CERTS.parent / "ecdsa-p256/root.pem"))
    clients("connect", count=1)
    clients("begin_handshakes", begin=0, end=1)
    answer = clients("finish_handshakes", begin=0, end=1)
    server.stop()
    assert "certificate verify failed" in answer["failed"].lower().replace("_", " ")


def test_nobody_who_listens_is_a_sentence(clients):
    clients("configure", port=1, root=None, protocol="TLSv1.3", limit_s=10, descriptors=100)
    assert clients("connect", count=1) == {"failed": "the server refused a connection: Connection refused"}


def test_a_connection_that_the_kernel_refuses_at_once_is_a_sentence():
    """As it does where no port is left. The socket itself keeps no error, and would count as connected."""
    with pytest.raises(ClientFailed, match=r"^a connection cannot be opened: \w+"):
        Connection(("255.255.255.255", 8080), "127.0.0.1", None)


def test_a_request_that_does_not_fit_is_a_sentence(clients):
    """Nobody reads at the other end, and it is more than the kernel keeps for both."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        clients("configure", port=port, root=None, protocol="", limit_s=10, descriptors=100)
        clients("connect", count=1)
        answer = clients("exchange", request=SMALL, body_bytes=64 << 20, reply_bytes=1)
    assert answer == {"failed": "the server takes no more bytes: its receive buffer is full"}


def test_an_answer_without_a_length_in_digits_is_a_sentence(clients, server):
    connect(clients, server, 1)
    server.reply = b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\nx"
    answer = clients("exchange", request=SMALL, body_bytes=0, reply_bytes=None)
    assert answer == {"failed": "the server's answer to GET / has no Content-Length"}


def shake_hands(clients: Clients, count: int) -> dict:
    clients("connect", count=count)
    clients("begin_handshakes", begin=0, end=count)
    return clients("finish_handshakes", begin=0, end=count)


@pytest.mark.parametrize("protocol", ["TLSv1.2", "TLSv1.3"])
def test_every_connection_resumes_the_session_that_was_made_first(clients, start, protocol):
    server = start()
    assert configure(clients, server, protocol=protocol, resumes=True) == {"done": None}
    assert shake_hands(clients, 5)["done"]["protocol"] == protocol
    assert clients("exchange", request=SMALL, body_bytes=0, reply_bytes=1) == {"done": None}
    assert server.resumed == 5


def test_a_server_that_gives_no_ticket_is_a_sentence(clients, start):
    failed = configure(clients, start(tickets=0), resumes=True)["failed"]
    assert failed == "the server gave no ticket, so no session can be resumed: its configuration, or library"


def test_sessions_that_a_server_makes_anew_are_a_sentence(clients, start):
    configure(clients, start(), resumes=True)
    clients("configure", port=start().port, root=None, protocol="", limit_s=10, descriptors=200)  # with other keys
    assert shake_hands(clients, 3) == {"failed": "3 of 3 sessions were not resumed: the server made new ones"}


def test_a_server_that_requires_certificates_gets_them(clients, start):
    server = start(mutual=True)
    configure(clients, server, certificate=str(CERTS))
    assert "done" in shake_hands(clients, 2)
    assert clients("exchange", request=SMALL, body_bytes=0, reply_bytes=1) == {"done": None}


def test_a_client_without_a_certificate_is_not_taken(clients, start):
    configure(clients, start(mutual=True))
    shake_hands(clients, 1)  # of TLS 1.3: the client is done before the server has looked
    assert "failed" in clients("exchange", request=SMALL, body_bytes=0, reply_bytes=1)
