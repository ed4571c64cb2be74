"""The programs of tools/dev/check_census.py: servers as their packages have them, each with its configuration."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from tlsmem.base.errors import UserError
from tlsmem.live.child import start_child
from tlsmem.live.network import Network
from tlsmem.live.servers import CERTS, HAPROXY_SERVER, NGINX_SERVER, SEARCHED, Ports, Setup
from tlsmem.monitor.process import preload_value
from tlsmem.monitor.tree import descendants

PEER = Path(__file__).with_name("census_peer.py")
PORTS = Ports(8080, 8443)  # of a network of the check's own
MOST = 1000  # connections that each must be able to hold
LIMIT_S = 20.0  # to start and to stop
CHAIN, KEY = CERTS / "chain.pem", CERTS / "key.pem"
APACHE = """\
ServerRoot {folder}
ServerName localhost
PidFile {folder}/pid
ErrorLog {folder}/error
DefaultRuntimeDir {folder}
LoadModule mpm_event_module {modules}/mod_mpm_event.so
LoadModule ssl_module {modules}/mod_ssl.so
User www-data
Group www-data
ServerLimit 1
StartServers 1
ThreadLimit 450
ThreadsPerChild 450
MaxRequestWorkers 450
Timeout 600
AcceptFilter https none
AcceptFilter http none
Listen 127.0.0.1:{port} https
DocumentRoot {folder}
SSLEngine on
SSLCertificateFile {chain}
SSLCertificateKeyFile {key}
"""
MOSQUITTO = """\
user root
persistence false
allow_anonymous true
log_type error
listener {port} 127.0.0.1
certfile {chain}
keyfile {key}
"""
NODE = """\
const [port, chain, key] = process.argv.slice(1), fs = require('fs');
const options = {cert: fs.readFileSync(chain), key: fs.readFileSync(key), handshakeTimeout: 600000};
const ignore = () => {};
require('tls').createServer(options, one => { one.on('error', ignore); one.resume(); })
  .on('tlsClientError', ignore).listen(+port, '127.0.0.1');
"""


class TlsServer(NamedTuple):
    """`configure` writes its files into a folder, and returns the arguments that start it in the foreground.

    `has_silent`: it makes a session when a peer connects, not when the first byte arrives. `waits_for_one`: it reads a
    hello of one connection to its end, so a peer that stops in it stops all."""

    title: str
    program: str
    package: str
    configure: Callable[[Path], list[str]]
    has_silent: bool = True
    waits_for_one: bool = False


def configure_nginx(folder: Path) -> list[str]:
    return NGINX_SERVER.configure(Setup(folder, PORTS, MOST, "TLSv1.3"))


def configure_haproxy(folder: Path) -> list[str]:
    return HAPROXY_SERVER.configure(Setup(folder, PORTS, MOST, "TLSv1.3"))


def configure_apache(folder: Path) -> list[str]:
    config = folder / "apache.conf"
    modules = "/usr/lib/apache2/modules"
    config.write_text(APACHE.format(folder=folder, modules=modules, port=PORTS.tls, chain=CHAIN, key=KEY))
    return ["-f", str(config), "-DFOREGROUND"]


def configure_mosquitto(folder: Path) -> list[str]:
    config = folder / "mosquitto.conf"
    config.write_text(MOSQUITTO.format(port=PORTS.tls, chain=CHAIN, key=KEY))
    return ["-c", str(config)]


def configure_python(_: Path) -> list[str]:
    return ["-S", str(PEER), "serve", str(PORTS.tls), str(CHAIN), str(KEY)]


def configure_node(_: Path) -> list[str]:
    return ["-e", NODE, str(PORTS.tls), str(CHAIN), str(KEY)]


def configure_gnutls(_: Path) -> list[str]:
    words = ["--echo", "--port", str(PORTS.tls), "--x509certfile", str(CHAIN), "--x509keyfile", str(KEY)]
    return [*words, "--quiet"]


PYTHON = TlsServer("CPython, server", "/usr/bin/python3", "python3", configure_python)
SERVERS = (
    TlsServer("nginx", "nginx", "nginx-light", configure_nginx, has_silent=False),
    TlsServer("HAProxy", "haproxy", "haproxy", configure_haproxy),
    TlsServer("Apache httpd, event", "apache2", "apache2", configure_apache),
    TlsServer("mosquitto", "mosquitto", "mosquitto", configure_mosquitto),
    PYTHON,
    TlsServer("Node.js", "node", "nodejs", configure_node),
    TlsServer("gnutls-serv", "gnutls-serv", "gnutls-bin", configure_gnutls, waits_for_one=True),
)


class Running(NamedTuple):
    """A server that listens: its first process."""

    pid: int

    @property
    def pids(self) -> list[int]:
        return sorted({self.pid, *descendants(self.pid)})


def find_program(server: TlsServer) -> str | None:
    return shutil.which(server.program, path=SEARCHED)


@contextmanager
def start(server: TlsServer, network: Network, preload: str = "", is_metered: bool = False) -> Iterator[Running]:
    """Start a server; `preload` is a library that is loaded before all others. Raises UserError with its last words
    where it does not listen."""
    with tempfile.TemporaryDirectory(prefix="memtest-census-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # a worker that gave its rights up reads its files
        variables = dict(os.environ)
        if is_metered or preload:
            variables["LD_PRELOAD"] = preload_value() if is_metered else preload
        words = [*network.prefix, str(find_program(server)), *server.configure(folder)]
        with open(folder / "log", "wb") as log:
            process = start_child(
                words, signal.SIGTERM, env=variables, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        try:
            wait_until_it_listens(server, network, process, folder / "log")
            yield Running(process.pid)
        finally:
            stop(process)


def wait_until_it_listens(server: TlsServer, network: Network, process: "subprocess.Popen[str]", log: Path) -> None:
    until = time.monotonic() + LIMIT_S
    while not network.listens(PORTS.tls):
        if process.poll() is not None or time.monotonic() > until:
            said = [line for line in log.read_text(errors="replace").splitlines() if line.strip()] or ["nothing"]
            raise UserError(f"{server.title} does not listen; it said: {said[-1]}")
        time.sleep(0.05)


def stop(process: "subprocess.Popen[str]") -> None:
    """End a process, and those below it."""
    pids = descendants(process.pid)
    process.terminate()
    try:
        process.wait(LIMIT_S)
    except subprocess.TimeoutExpired:
        for pid in {process.pid, *pids}:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait()


class Client:
    """The client of the check, in a process of its own in the same network."""

    def __init__(self, network: Network) -> None:
        words = [*network.prefix, "/usr/bin/python3", "-S", str(PEER), "connect", str(PORTS.tls)]
        self.process = start_child(words, signal.SIGKILL, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                pipe.close()

    def ask(self, verb: str, count: int) -> None:
        """Raises UserError where it has ended."""
        assert self.process.stdin and self.process.stdout
        print(verb, count, file=self.process.stdin, flush=True)
        if not self.process.stdout.readline():
            raise UserError(f"the client has ended at `{verb} {count}`")
