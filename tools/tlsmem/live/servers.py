"""The servers of a live run: their programs, their configuration, and how each is started.

A server answers GET /small with one byte, and GET /full, which comes with a body of `full_bytes`, with as many; on one
port in plain HTTP, on another over TLS. It runs as its package has it, but for limits on connections and times of
idleness, which are raised so that idle connections stay."""

import hashlib
import os
import platform
import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Mapping
from glob import glob
from pathlib import Path
from typing import NamedTuple

from tlsmem.base.errors import UserError
from tlsmem.base.paths import ROOT
from tlsmem.build import commands, go_stack, server_program, sources
from tlsmem.build.commands import BuildFailed
from tlsmem.config import servers as definitions
from tlsmem.config.definitions import Source, stacks
from tlsmem.config.live_servers import StaticLibrary
from tlsmem.schema.live_records import LiveMeter, Role

CERTS = ROOT / "memtest/certs/rsa-2048"
OWN = ROOT / "build/servers"  # the programs of servers whose source is here
RUSTLS_MANIFEST = ROOT / "harness-rust/server/Cargo.toml"
FULL_BYTES = 16384  # of a body each way
HAPROXY_FULL_BYTES = 12288  # its buffers have 16 KiB with the head
WORKER_CONNECTIONS = 15_000  # of a worker of nginx, on average
SPREAD = 3_000  # that the kernel may give one worker more than another
MANY = 10_000_000  # connections: no limit of descriptors
SPARE = 200  # descriptors of a server beside those of connections
LIBRARY_VERSION = re.compile(rb"OpenSSL \d+\.\d+\.\d+\w* +\d+ \w+ \d{4}")
PINNED_FOR = "x86_64"
PINNED_WAY_OUT = "another version is pinned by its SHA-256 in memtest/live_servers.toml"
SEARCHED = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"


class ServerError(UserError):
    """One sentence: why a server cannot be started."""


class Ports(NamedTuple):
    """Of a server on 127.0.0.1."""

    plain: int
    tls: int


BACKEND_PORT = 8081  # where a proxy finds the server behind it
PORTS = Ports(8080, 8443)  # of a network of the run's own, where nothing else listens


class Setup(NamedTuple):
    """What a configuration is made of. `most`: how many connections the server must be able to hold."""

    folder: Path
    ports: Ports
    most: int
    protocol: str
    ktls: bool = False
    mutual: bool = False  # it asks each client for a certificate, and takes none without


class Server(NamedTuple):
    """A server by its name. `configure` writes its files into the folder and returns the arguments that start it in the
    foreground; `version` are those that print its version; `largest` says how many connections it can hold with so many
    descriptors."""

    name: str
    program: str
    package: str  # that brings it; empty: its source is here, and `build` makes the program
    version: str
    full_bytes: int | None  # None: it is asked for no body: it has a configuration of its own, or speaks no HTTP
    largest: Callable[[int], int]
    configure: Callable[[Setup], list[str]]
    build: Callable[[], None] | None = None
    meters: tuple[LiveMeter, ...] = ("rss", "heap")
    has_ktls: bool = False  # it can ask OpenSSL for kernel TLS
    has_mutual: bool = False  # its configuration here can ask clients for certificates
    collects: bool = False  # garbage, when it gets SIGUSR1, or is asked
    role: Role = "server"  # a client connects to the Go server, and listens nowhere
    answers: bool = False  # commands on stdin, as RunningServer.ask sends them
    starts_collected: bool = False  # its garbage is collected before the first phase is read
    ports: Ports = PORTS
    prefix: tuple[str, ...] = ()  # words before its command
    table_entries: Callable[[int], int] | None = (
        None  # of the connection table that it allocates for so many connections
    )
    client: Mapping[str, str | bool] | None = None  # of memtest/live_servers.toml; None: HTTP
    has_own_certificate: bool = False  # its configuration says which
    says: str | None = None  # a regular expression whose group is its version; None: the first line that it prints
    linked: str | None = None  # the file that loads libcrypto, where that is not the program
    prepare: Callable[[Setup], None] | None = None  # before it is started
    configured: int | None = None  # connections that its configuration allows, where that is fixed
    at_once: int | None = None  # connections that it can open at a time, where that is limited
    still_s: float = 0.3  # at rest: no figure has changed for so long
    has_backend: bool = False  # it is a proxy, and a server of ours stands behind it
    source: Source | None = None  # that brings the program, pinned; None: its package is installed
    link_to: str | None = None  # the file beside it in the source, of which the program is another name
    library: StaticLibrary | None = None  # how it says what library it has inside; None: it loads libcrypto
    no_sites: str | None = None  # why massif names no call sites of it; None: it does, where the heap meter sees it
    no_plain: str | None = None  # why it takes no plain connections; None: it does
    stack: str | None = None  # built from source on the library of this stack; None: as it is packaged, or in `build`
    find: "Callable[[], Program] | None" = None  # the program, where that is not as `find_program` does it


NGINX = """\
daemon off;
worker_processes {workers};
worker_rlimit_nofile {descriptors};
pid {folder}/pid;
error_log stderr;
events {{ worker_connections {connections}; }}
http {{
    access_log off;
    client_header_timeout 1h;
    keepalive_timeout 1h;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{plain} backlog=4096{shared};
        listen 127.0.0.1:{tls} ssl backlog=4096{shared};
        ssl_certificate {certs}/chain.pem;
        ssl_certificate_key {certs}/key.pem;
        ssl_protocols {protocol};{ktls}{mutual}
        location = /small {{ {small} }}
        location = /full {{ root {folder}; }}
    }}
}}
"""

CLIENT_ROOT = CERTS / "client-root.pem"
NGINX_MUTUAL = f" ssl_client_certificate {CLIENT_ROOT}; ssl_verify_client on; ssl_verify_depth 2;"
HAPROXY_MUTUAL = f" ca-file {CLIENT_ROOT} verify required"
HAPROXY = """\
global
    nbthread 1
defaults
    mode http
    timeout client 1h
    timeout http-request 1h
    timeout http-keep-alive 1h
    timeout connect 5s
    timeout server 1h
frontend both
    bind 127.0.0.1:{plain} backlog 4096
    bind 127.0.0.1:{tls} backlog 4096 ssl crt {folder}/both.pem{mutual} ssl-min-ver {protocol} ssl-max-ver {protocol}
    http-request return status 200 content-type text/plain file {folder}/small if {{ path /small }}
    http-request return status 200 content-type text/plain file {folder}/full if {{ path /full }}
"""


def configure_nginx(setup: Setup, small: str = 'return 200 "x";') -> list[str]:
    """A worker, or several where one has too few descriptors, each with a queue of its own; and whatever nginx does by
    itself: tickets, released buffers. `small`: how it answers with one byte."""
    workers = -(-setup.most // WORKER_CONNECTIONS)
    most = setup.most if workers == 1 else WORKER_CONNECTIONS + SPREAD
    (setup.folder / "full").write_text("x" * FULL_BYTES)
    config = setup.folder / "nginx.conf"
    config.write_text(
        NGINX.format(
            folder=setup.folder,
            certs=CERTS,
            protocol=setup.protocol,
            workers=workers,
            shared=" reuseport" if workers > 1 else "",
            connections=worker_connections(most),
            descriptors=most + SPARE,
            ktls=" ssl_conf_command Options KTLS;" if setup.ktls else "",
            mutual=NGINX_MUTUAL if setup.mutual else "",
            small=small,
            **setup.ports._asdict(),
        )
    )
    return ["-c", str(config), "-p", str(setup.folder), "-e", "stderr"]


def configure_built_nginx(setup: Setup) -> list[str]:
    """The same for nginx as servers.toml builds it: `return` needs a module that needs PCRE, so the byte is a file."""
    (setup.folder / "small").write_text("x")
    return configure_nginx(setup, f"root {setup.folder};")


def worker_connections(most: int) -> int:
    """Return the worker_connections for so many: with fewer than a sixteenth of them left, nginx closes idle ones."""
    return 2 * most + 100


def nginx_connections(descriptors: int) -> int:
    """Return how many connections nginx can hold: in one worker what its descriptors allow, or any in many workers."""
    return descriptors - SPARE if descriptors < WORKER_CONNECTIONS + SPREAD + SPARE else MANY


def configure_haproxy(setup: Setup) -> list[str]:
    """One thread, and whatever HAProxy does by itself; it answers from its configuration, without a server behind."""
    folder = setup.folder
    (folder / "both.pem").write_text((CERTS / "chain.pem").read_text() + (CERTS / "key.pem").read_text())
    (folder / "small").write_text("x")
    (folder / "full").write_text("x" * HAPROXY_FULL_BYTES)
    config = folder / "haproxy.cfg"
    config.write_text(
        HAPROXY.format(
            folder=folder,
            protocol=setup.protocol,
            mutual=HAPROXY_MUTUAL if setup.mutual else "",
            **setup.ports._asdict(),
        )
    )
    return ["-db", "-f", str(config)]


def configure_own(setup: Setup) -> list[str]:
    """Whatever net/http, or tokio and hyper, do by themselves: the servers of this repository take the same options."""
    ports = setup.ports
    words = ["-plain", f"127.0.0.1:{ports.plain}", "-tls", f"127.0.0.1:{ports.tls}", "-protocol", setup.protocol]
    return [*words, "-certs", str(CERTS), "-full", str(FULL_BYTES)]


def build_go() -> None:
    """Compile harness-go/server by the pinned Go. Raises ServerError with the compiler's last words."""
    OWN.mkdir(parents=True, exist_ok=True)
    variables = go_stack.go_variables(ROOT)
    try:
        commands.run(
            ["go", "build", "-o", str(OWN / "go"), "./server"],
            OWN / "go.log",
            "go server: go build",
            ROOT / go_stack.MODULE,
            None,
            variables,
        )
    except BuildFailed as error:
        raise ServerError(str(error)) from None


def build_rustls() -> None:
    """Compile harness-rust/server with the crates of its lock file. Raises ServerError with cargo's last words."""
    if not shutil.which("cargo"):
        raise ServerError("the rustls server is built by cargo, which is not installed; see https://rustup.rs")
    OWN.mkdir(parents=True, exist_ok=True)
    target = OWN / "cargo"
    words = ["cargo", "build", "--release", "--locked", "--manifest-path", str(RUSTLS_MANIFEST)]
    try:
        commands.run(
            [*words, "--target-dir", str(target)], OWN / "rustls.log", "rustls server: cargo build", ROOT, None
        )
    except BuildFailed as error:
        raise ServerError(str(error)) from None
    shutil.copy2(target / "release/server", OWN / "rustls")


NGINX_SERVER = Server(
    "nginx",
    "nginx",
    "nginx-light",
    "-v",
    FULL_BYTES,
    nginx_connections,
    configure_nginx,
    has_ktls=True,
    has_mutual=True,
    table_entries=worker_connections,
)
HAPROXY_SERVER = Server(  # it reserves two descriptors for each connection
    "haproxy",
    "haproxy",
    "haproxy",
    "-v",
    HAPROXY_FULL_BYTES,
    lambda descriptors: (descriptors - 17) // 2,
    configure_haproxy,
    has_mutual=True,
)
GO_SERVER = Server(  # a runtime of its own, whose allocations the heap meter does not see
    "go",
    "go",
    "",
    "",
    FULL_BYTES,
    lambda descriptors: descriptors - SPARE,
    configure_own,
    build_go,
    ("rss",),
    collects=True,
    answers=True,
)
RUSTLS_SERVER = Server(
    "rustls", "rustls", "", "", FULL_BYTES, lambda descriptors: descriptors - SPARE, configure_own, build_rustls
)
SERVERS = {one.name: one for one in (NGINX_SERVER, HAPROXY_SERVER, GO_SERVER, RUSTLS_SERVER)}


def choose_stack(server: Server, stack: str) -> Server:
    """Return the server as it is built on a stack's library. Raises ServerError with a sentence where it cannot be."""
    known = definitions.servers().get(server.name)
    if not known or not known.build:
        own = "the library that its package links" if server.client else "a library of its own"
        own = "its own configuration" if server.has_own_certificate else own
        names = ", ".join(name for name, one in definitions.servers().items() if one.build)
        raise ServerError(f"{server.name} has {own}, and is not built on {stack}; servers that are: {names}", status=2)
    try:
        known.build.options(stack, stacks()[stack])
    except ValueError as error:
        raise ServerError(f"{known.what} {error}", status=2) from None
    return server._replace(stack=stack, configure=configure_built_nginx if server.name == "nginx" else server.configure)


class Program(NamedTuple):
    """A server as it is installed or built here. `tls_library` is the version of the libcrypto that it loads, or of the
    library that it was built on, in the words of either; None without."""

    path: str
    reported: str
    sha256: str
    tls_library: str | None


def find_program(server: Server) -> Program:
    """Return the server, which is built where it has a stack or its source here. Raises ServerError where it cannot be
    had, or does not tell its version."""
    if server.stack:
        return build_on_stack(server, server.stack)
    if server.find:
        return server.find()
    if server.build:
        server.build()
        own = OWN / server.program
        return Program(str(own), describe_own(server), digest(own), None)
    path = unpack_pinned(server) if server.source else locate(server.program)
    if not path:
        raise ServerError(f"{server.name} is not installed: apt install {server.package}")
    reported = ask_version(server, path)
    if server.library:
        return Program(path, reported, digest(Path(path)), ask(path, server.library.asked, server.library.says))
    linked = subprocess.run(["ldd", server.linked or path], capture_output=True, text=True, check=False).stdout
    files = re.findall(r"libcrypto\.so\S* => (\S+)", linked)
    library = library_version(Path(files[0])) if files else None
    return Program(path, reported, digest(Path(path)), library)


def locate(program: str) -> str | None:
    """Return the path of a command, or of the last file that a path with * matches; None where there is none."""
    found = sorted(glob(program)) if "*" in program else [program]
    return shutil.which(found[-1], path=SEARCHED) if found else None


def ask_version(server: Server, path: str) -> str:
    """Return what a program says of its version: the first line, or what `says` finds. Raises ServerError where it says
    nothing of it."""
    return ask(path, server.version, server.says)


def ask(path: str, option: str, says: str | None) -> str:
    """Return the first line that a program prints for an option, or what `says` finds. Raises ServerError where it says
    nothing of it, or cannot be run."""
    try:
        said = subprocess.run([path, option], capture_output=True, text=True, check=False)
    except OSError as error:  # such as a program for another processor
        raise ServerError(f"{path} cannot be run: {error.strerror}") from None
    answer = (said.stdout + said.stderr).strip()
    lines = re.findall(says, answer, re.MULTILINE) if says else answer.splitlines()
    if not lines:
        raise ServerError(f"{path} {option} says nothing of its version")
    return str(lines[0])


def unpack_pinned(server: Server) -> str:
    """Return the program of a server whose package is pinned, fetched and unpacked where it is not there. Raises
    ServerError, and BuildFailed with the log's last lines."""
    assert server.source
    if (processor := platform.machine()) != PINNED_FOR:
        raise ServerError(f"{server.name} is pinned as a program for {PINNED_FOR}, and this machine is {processor}")
    log, place = ROOT / f"build/logs/{server.name}.log", f"memtest/live_servers.toml, [{server.name}]"
    log.parent.mkdir(parents=True, exist_ok=True)
    tree = sources.provide_tree(server.name, server.source, ROOT / "build/sources", log, place, PINNED_WAY_OUT)
    program = tree / server.program
    if server.link_to and not program.exists():
        program.symlink_to(server.link_to)
    return str(program)


def build_on_stack(server: Server, stack: str) -> Program:
    """Return the server built from its source on the stack's library, which it is asked for. Raises BuildFailed with
    the log's last lines, and ServerError."""
    known = definitions.servers()[server.name]
    try:
        program = server_program.provide_server(server.name, known, stack, ROOT)
        library = server_program.ask_library(known, stack, program)
    except ValueError as error:
        raise ServerError(str(error)) from None
    return Program(str(program), ask_version(server, str(program)), digest(program), library)


def describe_own(server: Server) -> str:
    """Return what a server of this repository runs on: its language's version, or those of its crates."""
    if server.build is build_go:
        return f"net/http of Go {go_stack.pinned_version()}"
    crates = tomllib.loads(RUSTLS_MANIFEST.with_name("Cargo.lock").read_text())["package"]
    versions = {one["name"]: one["version"] for one in crates}
    return ", ".join(f"{name} {versions[name]}" for name in ("rustls", "tokio-rustls", "hyper", "tokio", "aws-lc-rs"))


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def library_version(libcrypto: Path) -> str:
    """Return what the library says of itself. Raises ServerError where it does not."""
    found = LIBRARY_VERSION.search(libcrypto.read_bytes())
    if not found:
        raise ServerError(f"{libcrypto}: has no version of OpenSSL in it")
    return " ".join(found[0].decode().split())


def configuration_sha256(folder: Path, arguments: list[str]) -> str:
    """Return the SHA-256 of a configuration's files and arguments, whatever the folder and the clone are called."""
    files = [path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()]
    content = b"\0".join([*files, *(word.encode() for word in arguments)])
    content = content.replace(str(folder).encode(), b"FOLDER").replace(str(ROOT).encode(), b"ROOT")
    return hashlib.sha256(content).hexdigest()
