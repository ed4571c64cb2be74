"""Leaks of a real server, planted one kind at a time: two looks name the kind that grows."""

import socket
import ssl
from contextlib import ExitStack

import pytest

from tests.census.conftest import Holder, compile_c
from tlsmem.census.census import take_census
from tlsmem.census.watch import add_up, find_growth

STAY, LEAKED = 20, 100  # connections; the first as in leaks_objects.c
VERDICTS = {
    "SSL": [f"there are {LEAKED} sessions more than connections, 0 at first: sessions whose connection has ended"],
    "SSL_SESSION": [f"{STAY + LEAKED} SSL_SESSION, {STAY} at first, for {STAY} sessions: a cache of sessions"],
    "X509": [f"{LEAKED + 1} X509, 1 at first, for {STAY} sessions: certificates that are never freed"],
    "BIO": [f"{STAY + LEAKED} BIO, {STAY} at first, for {STAY} sessions: BIOs that are never freed"],
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


@pytest.mark.parametrize("kind", VERDICTS)
def test_the_kind_that_is_leaked_is_named(kind, program, certificate):
    server = Holder([program, *certificate, kind])
    with ExitStack() as stack:
        stack.callback(server.close)
        port = server.read()["port"]
        for _ in range(STAY):
            stack.enter_context(connect(port))
        first = look(server.pid)
        for _ in range(LEAKED):
            with connect(port) as client:
                assert client.recv(1) == b""  # the server closes when it has leaked
        grown = list(find_growth(first, look(server.pid)))
    assert len(grown) == len(VERDICTS[kind]), grown
    assert all(sentence.startswith(start) for sentence, start in zip(grown, VERDICTS[kind], strict=True)), grown
