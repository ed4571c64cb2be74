"""An nginx of our own, unmodified, on loopback, under the heap meter; and idle connections to it."""

import contextlib
import os
import resource
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from nginx_limits import MOST, SPARE
from tlsmem.base.paths import ROOT
from tlsmem.run import heap_process, heap_tree
from tlsmem.run.heap_page import PageCounts

CERTS = ROOT / "memtest/certs/rsa-2048"
LIMIT_S = 20  # for each wait
STILL_S = 0.2  # at rest: nothing counted for as long
PORTS = ("http", "tls", "defaults")
USED = "used"  # an idle connection to the port `defaults` that has asked and was answered
CONFIG = """\
daemon off;
worker_processes 1;
worker_rlimit_nofile {descriptors};
pid {folder}/pid;
events {{ worker_connections {most}; }}
http {{
    access_log off;
    client_header_timeout 1h; # an idle connection has not asked yet
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{ listen 127.0.0.1:{http}; return 204; }}
    server {{
        listen 127.0.0.1:{tls} ssl;
        ssl_certificate {certs}/chain.pem;
        ssl_certificate_key {certs}/key.pem;
        ssl_protocols TLSv1.3;
        ssl_session_tickets off;
        ssl_session_cache off;
        return 204;
    }}
    server {{ # as nginx is by itself
        listen 127.0.0.1:{defaults} ssl;
        ssl_certificate {certs}/chain.pem;
        ssl_certificate_key {certs}/key.pem;
        ssl_protocols TLSv1.3;
        keepalive_timeout 1h;
        return 204;
    }}
}}
"""


class NginxFailed(Exception):
    """One sentence."""


@dataclass(frozen=True)
class WorkerMemory:
    """The worker at rest."""

    heap: PageCounts
    rss_anon_bytes: int


class Nginx:
    """Runs for as long as the `with` block: one master and one worker, in a folder of their own."""

    def __enter__(self) -> "Nginx":
        self.folder = tempfile.TemporaryDirectory(prefix="memtest-nginx-")
        self.ports = dict(zip(PORTS, free_ports(len(PORTS)), strict=True))
        config = Path(self.folder.name, "nginx.conf")
        config.write_text(
            CONFIG.format(folder=self.folder.name, certs=CERTS, most=MOST, descriptors=MOST + SPARE, **self.ports)
        )
        self.log = open(config.with_name("log"), "wb")
        before, command = heap_tree.list_pages(), [find_nginx(), "-c", config, "-p", self.folder.name, "-e", "stderr"]
        variables = os.environ | {"LD_PRELOAD": heap_process.preload_value()}
        self.master = subprocess.Popen(command, env=variables, stdout=self.log, stderr=self.log)
        self.tree = heap_tree.ProcessTree(self.master.pid, before)
        try:
            self.worker = self.wait_for_worker()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.master.terminate()  # the master ends its worker
        try:
            self.master.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            for pid in self.tree.current:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.master.wait()
        self.tree.poll()
        self.tree.remove_pages()
        self.log.close()
        self.folder.cleanup()

    def wait_for_worker(self) -> heap_tree.MeteredProgram:
        """The master's child that has a page, once it answers."""
        for _ in moments():
            if self.master.poll() is not None:
                said = Path(self.log.name).read_text(errors="replace").splitlines() or ["it said nothing"]
                raise NginxFailed(f"nginx ended with {self.master.returncode}: {said[0]}")
            self.tree.poll()
            children = [one for one in self.tree.current.values() if one.page.parent == self.master.pid]
            if children and not self.ports.keys() - {kind for kind in self.ports if self.answers(kind)}:
                return children[0]
        raise NginxFailed(f"nginx has no worker under the heap meter that answers after {LIMIT_S} s")

    def answers(self, kind: str) -> bool:
        with contextlib.suppress(OSError), self.connect(kind) as connection:
            connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
            return connection.recv(100).startswith(b"HTTP/1.1 204")
        return False

    def connect(self, kind: str) -> socket.socket:
        """An idle connection: of TLS the handshake is done; nothing is asked, or of USED no more."""
        port = self.ports["defaults" if kind == USED else kind]
        plain = socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S)
        if kind == "http":
            return plain
        connection = self.shake_hands(plain)
        if kind == USED:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            connection.recv(1000)
        return connection

    def shake_hands(self, plain: socket.socket) -> ssl.SSLSocket:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.load_verify_locations(CERTS / "root.pem")
        return context.wrap_socket(plain, server_hostname="localhost")

    def level(self) -> WorkerMemory:
        """Once the worker is at rest."""
        last, since = None, time.monotonic()
        for _ in moments():
            heap = self.worker.open.read().total
            if heap != last:
                last, since = heap, time.monotonic()
            elif time.monotonic() - since > STILL_S:
                return WorkerMemory(heap, rss_anon(self.worker.page.pid))
        raise NginxFailed(f"nginx's worker did not come to rest within {LIMIT_S} s")


def find_nginx() -> str:
    found = shutil.which("nginx", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin")
    if not found:
        raise NginxFailed("nginx is not installed: apt install nginx-light")
    return found


def nginx_version() -> str:
    said = subprocess.run([find_nginx(), "-V"], capture_output=True, text=True, check=False).stderr.splitlines()
    wanted = [line.removeprefix("nginx version: ") for line in said if "version:" in line or "OpenSSL" in line]
    return ", ".join(wanted)


def moments() -> Iterator[None]:
    """Until the time is up."""
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end:
        yield
        time.sleep(0.01)


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as kept:
        sockets = [kept.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def rss_anon(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon:"))


def allow_descriptors(wanted: int) -> None:
    """For our ends of the connections. Failed when the system's limit is lower."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < wanted:
        raise NginxFailed(f"{wanted:,} descriptors are needed and {hard:,} are the limit: raise it with ulimit -n")
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
