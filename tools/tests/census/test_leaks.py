"""Leaks of a real server, planted one kind at a time: two looks name the kind that grows."""

import socket
import ssl
from contextlib import ExitStack

import pytest

from tests.census.conftest import Holder, compile_c
from tlsmem.census.census import take_census
from tlsmem.census.growth import add_up, find_growth
from tlsmem.census.report import summarise
from tlsmem.census.sessions import add_up_sockets
from tlsmem.census.sockets import SocketState

STAY, LEAKED, SILENT = 20, 100, 150  # connections; the first as in leaks_objects.c
VERDICTS = {
    "SSL": [f"sessions with a closed socket have grown from 0 to {LEAKED}: they are not freed with their connection"],
    "SSL_SESSION": [
        f"SSL_SESSION objects have grown from {STAY} to {STAY + LEAKED}, with {STAY} sessions now: "
        "perhaps a cache of sessions"
    ],
    "X509": [
        f"X509 objects have grown from 1 to {LEAKED + 1}, with {STAY} sessions now: "
        "perhaps certificates that are never freed"
    ],
    "BIO": [
        f"BIO objects have grown from {STAY} to {STAY + LEAKED}, with {STAY} sessions now: "
        "perhaps BIOs that are never freed"
    ],
    "none": [],
}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("leaks") / "leaks_objects"
    return compile_c("leaks_objects.c", path, "-lssl", "-lcrypto")


def connect(port):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    client = context.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=30))
    assert client.recv(1) == b"k"
    return client


def look(pid):
    found, remarks = take_census([pid])
    assert not remarks
    return add_up(0.0, found)


def count_sockets(pid):
    (process,), _ = take_census([pid])
    return add_up_sockets(process.libraries[0].groups), process


@pytest.fixture
def serve(program, certificate):
    """Starts a server that leaks objects of a kind, with those connections that stay; gives it, and its port."""
    with ExitStack() as stack:

        def start(kind):
            server = Holder([program, *certificate, kind])
            stack.callback(server.close)
            port = server.read()["port"]
            for _ in range(STAY):
                stack.enter_context(connect(port))
            return server, port

        yield start


def leak(port):
    for _ in range(LEAKED):
        with connect(port) as client:
            assert client.recv(1) == b""  # the server closes when it has leaked


QUICK = ("BIO", "none")


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[] if kind in QUICK else pytest.mark.thorough) for kind in VERDICTS]
)
def test_the_kind_that_is_leaked_is_named(kind, serve):
    server, port = serve(kind)
    first = look(server.pid)
    leak(port)
    grown = list(find_growth(first, look(server.pid)))
    assert len(grown) == len(VERDICTS[kind]), grown
    assert all(sentence.startswith(start) for sentence, start in zip(grown, VERDICTS[kind], strict=True)), grown


@pytest.mark.thorough
def test_silent_peers_do_not_hide_sessions_that_are_leaked(serve):
    """There are more connections than sessions all the time."""
    server, port = serve("SSL")
    with ExitStack() as stack:
        for _ in range(SILENT):
            stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
        stack.enter_context(connect(port)).close()  # by now it has accepted those before
        first = look(server.pid)
        leak(port)
        last = look(server.pid)
        counts, process = count_sockets(server.pid)
    assert last.sessions == STAY + LEAKED + 1 < last.connections == STAY + SILENT
    assert counts == {SocketState.OPEN: STAY, SocketState.CLOSED: LEAKED + 1}
    (sentence,) = find_growth(first, last)
    assert sentence.startswith(f"sessions with a closed socket have grown from 1 to {LEAKED + 1}")
    assert (
        f"{STAY} of {STAY + LEAKED + 1} sessions have an open socket; the socket of {LEAKED + 1} is closed: "
        "leaked, unless the program frees them soon."
    ) in summarise([process])
