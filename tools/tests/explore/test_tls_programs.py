"""Real programs under heaptrack, with a server on loopback: which of their bytes are TLS."""

import os
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tlsmem.base.paths import ROOT
from tlsmem.explore import tls_table
from tlsmem.profile import open_profile
from tlsmem.profile.heap_profile import PEAK, Profile
from tlsmem.profile.tls_shares import CONTEXTS, CRYPTO, SESSIONS, TLS

CERTIFICATE, KEY = ROOT / "memtest/certs/rsa-2048/chain.pem", ROOT / "memtest/certs/rsa-2048/key.pem"
PYTHON, CURL, NGINX = "/usr/bin/python3", "/usr/bin/curl", "/usr/sbin/nginx"
LIMIT_S = 60
CONNECTIONS = 20

pytestmark = pytest.mark.skipif(
    not (shutil.which("heaptrack") and Path(PYTHON).exists()),
    reason="needs heaptrack and the system's Python",
)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """Of a TLS server that answers every connection with one HTTP response."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE, KEY)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=answer, args=(listener, context), daemon=True).start()
        yield listener.getsockname()[1]


def answer(listener: socket.socket, context: ssl.SSLContext) -> None:
    while True:
        try:
            accepted, _ = listener.accept()
        except OSError:  # the test has ended
            return
        accepted.settimeout(LIMIT_S / 4)
        with suppress(OSError), context.wrap_socket(accepted, server_side=True) as connection:
            connection.recv(4096)
            connection.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nyes")


def profiled(folder: Path, *command: object) -> Profile:
    subprocess.run(
        ["heaptrack", "-o", str(folder / "taken"), *map(str, command)],
        check=True,
        timeout=LIMIT_S,
        capture_output=True,
    )
    return open_profile.open_profile(folder / "taken.zst")


def shares(profile: Profile) -> dict[str, int]:
    """Bytes at the peak by share, which add up to all of them."""
    rows = tls_table.shares_at(profile, PEAK)
    found: dict[str, int] = {}
    for row in rows:
        found[row.share] = found.get(row.share, 0) + row.held.bytes
    assert sum(found.values()) == profile.moments[PEAK].bytes
    return found


@pytest.mark.thorough
def test_hashes_are_no_tls(tmp_path):
    code = "import hashlib; kept = [hashlib.new('sha256', b'x') for _ in range(200)]"
    taken = profiled(tmp_path, PYTHON, "-c", code)
    found = shares(taken)
    assert not {*TLS} & {*found}
    if any("libcrypto" in (frame.module or "") for place in taken.stacks.places for frame in place):
        assert found[CRYPTO] > 200 * 64
    assert tls_table.describe_shares(taken, PEAK).startswith("TLS holds 0 B of ")


@pytest.mark.thorough
def test_a_client_in_python_has_contexts_and_its_library(tmp_path, port):
    code = f"""
import socket, ssl
context = ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
kept = []
for _ in range({CONNECTIONS}):
    kept.append(context.wrap_socket(socket.create_connection(("127.0.0.1", {port}))))
    kept[-1].sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
    kept[-1].recv(100)
more = bytearray(4 << 20)
"""
    (tmp_path / "client.py").write_text(code)
    taken = profiled(tmp_path, PYTHON, tmp_path / "client.py")
    found = shares(taken)
    assert found[SESSIONS] > CONNECTIONS * 20_000 and found[CONTEXTS] > 0
    assert "OpenSSL" in tls_table.describe_shares(taken, PEAK)


@pytest.mark.thorough
@pytest.mark.skipif(not Path(CURL).exists(), reason="needs curl")
def test_curl_holds_tls_and_cryptography_alone(tmp_path, port):
    """On Debian 12: TLS 27.7 %, crypto only 19.5 %, library load 14.4 % (GnuTLS, which librtmp brings)."""
    version = subprocess.run([CURL, "--version"], check=True, capture_output=True, text=True).stdout
    if "OpenSSL/3.0" not in version:
        pytest.skip("this curl is not of OpenSSL 3.0")
    taken = profiled(tmp_path, CURL, "-sk", "-o", tmp_path / "got", f"https://127.0.0.1:{port}/")
    found, every = shares(taken), taken.moments[PEAK].bytes
    assert (tmp_path / "got").read_text() == "yes"
    assert 0.2 < sum(found.get(share, 0) for share in TLS) / every < 0.5
    assert 0.1 < found[CRYPTO] / every < 0.3


@pytest.mark.thorough
@pytest.mark.skipif(not Path(NGINX).exists(), reason="needs nginx")
def test_nginx_holds_a_session_for_each_connection(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    paths = "".join(
        f" {name}_temp_path {tmp_path}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (tmp_path / "nginx.conf").write_text(
        f"daemon off; master_process off; pid {tmp_path}/pid; error_log {tmp_path}/errors; events {{ }}\n"
        f"http {{ access_log off;{paths} server {{ listen 127.0.0.1:{port} ssl;\n"
        f"ssl_certificate {CERTIFICATE}; ssl_certificate_key {KEY}; return 204; }} }}\n"
    )
    command = ["heaptrack", "-o", str(tmp_path / "taken"), NGINX, "-p", tmp_path, "-c", tmp_path / "nginx.conf"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        kept = [connect(port) for _ in range(CONNECTIONS)]
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGQUIT)
        for one in kept:
            one.close()
        assert process.wait(LIMIT_S) == 0
    finally:
        process.kill()
        process.wait()
    taken = open_profile.open_profile(tmp_path / "taken.zst")
    found = shares(taken)
    assert found[SESSIONS] > CONNECTIONS * 10_000 and found[CONTEXTS] > 0 and CRYPTO not in found
    told = tls_table.describe_shares(taken, PEAK, CONNECTIONS)
    assert "OpenSSL" in told and "Per session: " in told


def connect(port: int) -> ssl.SSLSocket:
    """Try until the server listens."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    until = time.monotonic() + LIMIT_S
    while True:
        try:
            return context.wrap_socket(socket.create_connection(("127.0.0.1", port)))
        except ConnectionRefusedError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)
