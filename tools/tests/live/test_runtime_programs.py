"""The programs of memtest/runtimes, where their runtimes are installed: servers that answer requests, clients that
verify the server, and both say their heap. Without a network of their own, on ports that are free."""

import json
import shutil
import socket
import subprocess
import time
from contextlib import contextmanager

import pytest

from tlsmem.base.paths import ROOT
from tlsmem.config.runtimes import runtimes
from tlsmem.live.client_process import Clients
from tlsmem.live.runtimes import read_runtimes
from tlsmem.live.servers import CERTS, SEARCHED, Ports, ServerError, Setup, find_program

pytestmark = pytest.mark.slow  # runtimes start, and are built
OTHER_CERTS = ROOT / "memtest/certs/rsa-4096"
LIMIT_S, FULL = 120, 16384
NAMES = list(runtimes())
SMALL = "GET /small HTTP/1.1\r\nHost: localhost\r\n\r\n"
LARGE = f"GET /full HTTP/1.1\r\nHost: localhost\r\nContent-Length: {FULL}\r\n\r\n"


class Program:
    """A program that runs; `ask` sends a command."""

    def __init__(self, process):
        self.process = process

    def ask(self, command):
        print(command, file=self.process.stdin, flush=True)
        while line := self.process.stdout.readline():
            name, _, answer = line.partition(" ")
            if name in ("failed", command.split()[0]):
                return name, json.loads(answer)
        raise AssertionError(f"{command}: the program ended with {self.process.wait()}")


def find_ports() -> Ports:
    with socket.socket() as one, socket.socket() as other:
        for free in (one, other):
            free.bind(("127.0.0.1", 0))
        return Ports(one.getsockname()[1], other.getsockname()[1])


@contextmanager
def run(name, folder, ports, certs=CERTS):
    """Run a program; skip where its runtime, or what builds it, is not installed."""
    server = read_runtimes()[name]
    tools = {words[0] for words in runtimes()[name.removesuffix("-client")].build}
    if not shutil.which(server.program, path=SEARCHED) or not all(map(shutil.which, tools)):
        pytest.skip(f"the runtime of {name} is not installed")
    try:
        program = find_program(server)
    except ServerError as error:
        pytest.skip(str(error))
    words = server.configure(Setup(folder, ports, 100, "TLSv1.3"))
    words = [str(certs) if word == str(CERTS) else word for word in words]
    with open(folder / f"{name}.errors", "wb") as errors:
        process = subprocess.Popen(
            [program.path, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=folder
        )
    try:
        yield Program(process)
    finally:
        process.stdin.close()
        try:
            process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        finally:
            process.stdout.close()


def wait_for(port):
    until = time.monotonic() + LIMIT_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except ConnectionRefusedError:
            assert time.monotonic() < until, "nothing listens"
            time.sleep(0.05)


def check_heap(program):
    name, heap = program.ask("heap")
    assert name == "heap" and heap["used_bytes"] > 100_000 and heap["committed_bytes"] > 100_000


@pytest.mark.parametrize("name", NAMES)
def test_a_server_answers_all_requests_and_says_its_heap(name, tmp_path):
    ports = find_ports()
    with run(name, tmp_path, ports) as program:
        check_heap(program)
        for port, root in ((ports.plain, None), (ports.tls, str(CERTS / "root.pem"))):
            wait_for(port)
            clients = Clients("127.0.1.1")
            clients.configure(port, root, "TLSv1.3", LIMIT_S, 200)
            clients.connect(12)
            if root:
                clients.begin_handshakes(0, 12)
                assert clients.finish_handshakes(0, 12)["protocol"] == "TLSv1.3"
            clients.exchange(SMALL, 0, 1)
            clients.exchange(LARGE, FULL, FULL)
            clients.exchange(SMALL, 0, 1)
            clients.shut_down()
            clients.close()
        assert program.ask("collect") == ("collect", {})
        check_heap(program)


@pytest.mark.parametrize("name", [name for name, table in runtimes().items() if table.is_client])
def test_a_client_asks_on_all_connections_and_closes_them(name, tmp_path):
    ports = find_ports()
    with run("python-asyncio", tmp_path, ports) as server, run(f"{name}-client", tmp_path, ports) as client:
        wait_for(ports.tls)
        assert client.ask("connect plain 7") == ("connect", {})
        assert client.ask("ask small") == ("ask", {}) and client.ask("ask full") == ("ask", {})
        assert client.ask("close") == ("close", {})
        for count in (7, 5):
            named, used = client.ask(f"connect tls {count}")
            assert (named, used.get("protocol")) == ("connect", "TLSv1.3"), used
            assert used["cipher"].startswith("TLS_")
        assert client.ask("ask small") == ("ask", {}) and client.ask("ask full") == ("ask", {})
        check_heap(client)
        assert client.ask("collect") == ("collect", {}) and client.ask("close") == ("close", {})
        check_heap(server)


@pytest.mark.parametrize("name", [name for name, table in runtimes().items() if table.is_client])
def test_a_client_refuses_a_server_whose_certificate_it_cannot_verify(name, tmp_path):
    ports = find_ports()
    with run("python-asyncio", tmp_path, ports), run(f"{name}-client", tmp_path, ports, OTHER_CERTS) as client:
        wait_for(ports.tls)
        named, sentence = client.ask("connect tls 3")
        assert named == "failed" and isinstance(sentence, str) and sentence
        assert client.ask("heap")[0] == "heap"  # it goes on
