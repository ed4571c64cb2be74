"""The programs of tools/dev/check_census.py: servers as their packages have them, each with its configuration."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

import driver_warnings
from tlsmem.base.errors import UserError
from tlsmem.base.paths import ROOT
from tlsmem.config.definitions import stacks
from tlsmem.live.child import start_child
from tlsmem.live.network import Network
from tlsmem.live.packaged import read_servers
from tlsmem.live.servers import CERTS, HAPROXY_SERVER, NGINX_SERVER, SEARCHED, Ports, Setup
from tlsmem.monitor.process import preload_value
from tlsmem.monitor.tree import descendants

PEER = Path(__file__).with_name("census_peer.py")
SOURCE = Path(__file__).with_name("census_server.c")  # for builds of OpenSSL of the repository's own
OWN_BUILDS = ("openssl@3.5.7", "openssl@3.6.3", "openssl@4.0.3")
OWN = ROOT / "build/census"
SYSTEMS = "debian-*"  # directories in build/ with other systems
JEMALLOC_NAME = b"libjemalloc.so"
# In a mount namespace of its own the root $0 has what the server needs of this system, under the same names.
ENTER = """\
for one in /dev /proc /tmp "$1"; do mkdir -p "$0$one" && mount --rbind "$one" "$0$one" || exit 1; done
shift; exec chroot "$0" "$@"
"""
PORTS = Ports(8080, 8443)  # of a network of the check's own
MOST = 1000  # connections that each must be able to hold
NOTHING: Mapping[str, str] = {}
LIMIT_S = 20.0  # to start and to stop
CHAIN, KEY = CERTS / "chain.pem", CERTS / "key.pem"
# Unlike that of memtest/live_servers.toml it has a thread for each connection that sends nothing, and no plain port.
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
LIGHTTPD = """\
server.modules = ("mod_openssl")
server.document-root = "{folder}"
server.bind = "127.0.0.1"
server.port = {port}
server.max-fds = 2048
server.max-read-idle = 600
ssl.engine = "enable"
ssl.pemfile = "{chain}"
ssl.privkey = "{key}"
"""
STUNNEL = """\
foreground = yes
pid =
[tls]
accept = 127.0.0.1:{port}
connect = 127.0.0.1:{behind}
cert = {chain}
key = {key}
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
    hello of one connection to its end, so a peer that stops in it stops all. `configure_alone`: the same in one
    process, if it has several. `is_proxy`: it connects to a server behind it once a handshake is done. `gives_memory`:
    the library allocates by functions of the program. `stack`: the build of OpenSSL that it is linked to, of the
    repository's own. `root`: the directory with the system that it is of, where that is another."""

    title: str
    program: str
    package: str
    configure: Callable[[Path], list[str]]
    has_silent: bool = True
    waits_for_one: bool = False
    configure_alone: Callable[[Path], list[str]] | None = None
    is_proxy: bool = False
    gives_memory: bool = False
    stack: str = ""
    root: str = ""

    @property
    def advice(self) -> str:
        """How it can be had."""
        return f"tools/tls-memtest build {self.stack}" if self.stack else f"apt install {self.package}"

    @property
    def prefix(self) -> list[str]:
        """The words before its command."""
        return ["unshare", "--mount", "sh", "-c", ENTER, self.root, str(ROOT)] if self.root else []


def configure_nginx(folder: Path) -> list[str]:
    return NGINX_SERVER.configure(Setup(folder, PORTS, MOST, "TLSv1.3"))


def configure_nginx_alone(folder: Path) -> list[str]:
    return [*configure_nginx(folder), "-g", "master_process off;"]


def configure_haproxy(folder: Path) -> list[str]:
    return HAPROXY_SERVER.configure(Setup(folder, PORTS, MOST, "TLSv1.3"))


def configure_apache(folder: Path) -> list[str]:
    config = folder / "apache.conf"
    modules = "/usr/lib/apache2/modules"
    config.write_text(APACHE.format(folder=folder, modules=modules, port=PORTS.tls, chain=CHAIN, key=KEY))
    return ["-f", str(config), "-DFOREGROUND"]


def configure_apache_alone(folder: Path) -> list[str]:
    return ["-X", *configure_apache(folder)]


def configure_mosquitto(folder: Path) -> list[str]:
    return read_servers()["mosquitto"].configure(Setup(folder, PORTS, MOST, "TLSv1.3"))


def configure_lighttpd(folder: Path) -> list[str]:
    config = folder / "lighttpd.conf"
    config.write_text(LIGHTTPD.format(folder=folder, port=PORTS.tls, chain=CHAIN, key=KEY))
    return ["-D", "-f", str(config)]


def configure_stunnel(folder: Path) -> list[str]:
    config = folder / "stunnel.conf"
    config.write_text(STUNNEL.format(port=PORTS.tls, behind=PORTS.plain, chain=CHAIN, key=KEY))
    return [str(config)]


def configure_python(_: Path) -> list[str]:
    return ["-S", str(PEER), "serve", str(PORTS.tls), str(CHAIN), str(KEY)]


def configure_node(_: Path) -> list[str]:
    return ["-e", NODE, str(PORTS.tls), str(CHAIN), str(KEY)]


def configure_gnutls(_: Path) -> list[str]:
    words = ["--echo", "--port", str(PORTS.tls), "--x509certfile", str(CHAIN), "--x509keyfile", str(KEY)]
    return [*words, "--quiet"]


def configure_own(_: Path) -> list[str]:
    return [str(PORTS.tls), str(CHAIN), str(KEY)]


PYTHON = TlsServer("CPython, server", "/usr/bin/python3", "python3", configure_python)
SERVERS = (
    TlsServer("nginx", "nginx", "nginx-light", configure_nginx, False, configure_alone=configure_nginx_alone),
    TlsServer("HAProxy", "haproxy", "haproxy", configure_haproxy),
    TlsServer("Apache httpd, event", "apache2", "apache2", configure_apache, configure_alone=configure_apache_alone),
    TlsServer("mosquitto", "mosquitto", "mosquitto", configure_mosquitto),
    TlsServer("lighttpd", "lighttpd", "lighttpd lighttpd-mod-openssl", configure_lighttpd),
    TlsServer("stunnel", "stunnel4", "stunnel4", configure_stunnel, is_proxy=True, gives_memory=True),
    PYTHON,
    TlsServer("Node.js", "node", "nodejs", configure_node),
    TlsServer("gnutls-serv", "gnutls-serv", "gnutls-bin", configure_gnutls, waits_for_one=True),
    *(TlsServer("server of the check", str(OWN / one), "", configure_own, stack=one) for one in OWN_BUILDS),
)


def list_servers(root: Path | None) -> list[TlsServer]:
    """Return the servers of this system, and those of the system in a directory; without one, of all SYSTEMS."""
    found = list(SERVERS)
    for place in [root] if root else sorted((ROOT / "build").glob(SYSTEMS)):
        system = read_system(place)
        found += [one._replace(title=f"{one.title}, {system}", root=str(place)) for one in SERVERS if not one.stack]
    return found


def read_system(root: Path) -> str:
    """Return the name and version of the system in a directory: of one in development, the name of the version. Raises
    UserError where there is none."""
    try:
        lines = (root / "etc/os-release").read_text().splitlines()
    except OSError as error:
        raise UserError(f"--root {root}: no system ({error.strerror}); debootstrap makes one", 2) from None
    told = dict(line.split("=", 1) for line in lines if "=" in line)
    version = told.get("VERSION_ID") or told.get("VERSION_CODENAME", "")
    return f"{told['ID'].capitalize()} {version}".replace('"', "").strip()


class Running(NamedTuple):
    """A server that listens: its first process."""

    pid: int
    is_proxy: bool

    @property
    def pids(self) -> list[int]:
        return sorted({self.pid, *descendants(self.pid)})


def find_program(server: TlsServer) -> str | None:
    """Return the path of a server's program in its system."""
    if server.stack:
        return compile_server(server)
    searched = os.pathsep.join(f"{server.root}{folder}" for folder in SEARCHED.split(os.pathsep))
    program = f"{server.root}{server.program}" if os.path.isabs(server.program) else server.program
    found = shutil.which(program, path=searched)
    return found and found.removeprefix(server.root)


@cache
def compile_server(server: TlsServer) -> str | None:
    """Return the path of the check's own server, linked to a build of OpenSSL; None where that is not built."""
    stack = stacks()[server.stack]
    flags = driver_warnings.headers(server.stack, stack, ROOT)
    if flags is None:
        return None
    OWN.mkdir(parents=True, exist_ok=True)
    libraries = [str(ROOT / "build/stacks" / server.stack / name) for name in stack.libraries]
    words = ["gcc", "-O2", str(SOURCE), *flags, *libraries, *stack.link, "-o", server.program]
    made = subprocess.run(words, capture_output=True, text=True)
    if made.returncode:
        raise UserError(f"{SOURCE.name} does not compile for {server.stack}: {made.stderr.strip()}")
    return server.program


def has_jemalloc(server: TlsServer) -> bool:
    """Return whether the program is linked to jemalloc, so that the census refuses it."""
    program = find_program(server)
    return program is not None and JEMALLOC_NAME in Path(f"{server.root}{program}").read_bytes()


@contextmanager
def start(
    server: TlsServer, network: Network, variables: Mapping[str, str] = NOTHING, is_metered: bool = False
) -> Iterator[Running]:
    """Start a server with these variables in its own environment, not in those of the programs that lead to it. Raises
    UserError with its last words where it does not listen."""
    with tempfile.TemporaryDirectory(prefix="memtest-census-") as name, hold_behind(server, network):
        folder = Path(name)
        folder.chmod(0o755)  # a worker that gave its rights up reads its files
        metered = {"LD_PRELOAD": preload_value()} if is_metered else {}
        own = [f"{name}={value}" for name, value in variables.items()]
        words = [*network.prefix, *server.prefix, "env", *own, str(find_program(server)), *server.configure(folder)]
        with open(folder / "log", "wb") as log:
            process = start_child(
                words, signal.SIGTERM, env={**os.environ, **metered}, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        try:
            wait_until_it_listens(server, network, process, folder / "log")
            yield Running(process.pid, server.is_proxy)
        finally:
            stop(process)


@contextmanager
def hold_behind(server: TlsServer, network: Network) -> Iterator[None]:
    """Have a server behind a proxy that keeps its connections open."""
    if not server.is_proxy:
        yield
        return
    words = [*network.prefix, "/usr/bin/python3", "-S", str(PEER), "hold", str(PORTS.plain)]
    process = start_child(words, signal.SIGKILL)
    try:
        until = time.monotonic() + LIMIT_S
        while not network.listens(PORTS.plain):
            if time.monotonic() > until:
                raise UserError(f"the server behind {server.title} does not listen")
            time.sleep(0.05)
        yield
    finally:
        process.kill()
        process.wait()


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
    """The client of the check, in a process of its own in the same network, with these variables in its environment."""

    def __init__(self, network: Network, variables: Mapping[str, str] = NOTHING) -> None:
        own = ["env", *(f"{name}={value}" for name, value in variables.items())]
        words = [*network.prefix, *own, "/usr/bin/python3", "-S", str(PEER), "connect", str(PORTS.tls)]
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
