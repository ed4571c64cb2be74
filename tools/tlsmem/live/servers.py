"""The servers of a live run: their programs, their configuration, and how each is started.

A server answers GET /small with one byte and GET /full, which comes with a body of `full_bytes`, with as many; on one port in plain
HTTP, on another over TLS. It runs as its package has it, but for limits on connections and times of idleness, which are
raised so that idle connections stay."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tlsmem.base.paths import ROOT

CERTS = ROOT / "memtest/certs/rsa-2048"
SEARCHED = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"


class ServerError(Exception):
    """One sentence: why a server cannot be started."""


class Ports(NamedTuple):
    """Of a server on 127.0.0.1."""

    plain: int
    tls: int


class Setup(NamedTuple):
    """What a configuration is made of. `most`: how many connections the server must be able to hold."""

    folder: Path
    ports: Ports
    most: int
    protocol: str


class Server(NamedTuple):
    """A server by its name. `configure` writes its files into the folder and returns the command that starts it in the
    foreground; `own_user`: it starts as root and gives its rights up."""

    name: str
    program: str
    package: str
    full_bytes: int
    configure: Callable[[Setup], list[str]]


NGINX = """\
daemon off;
worker_processes 1;
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
        listen 127.0.0.1:{plain} backlog=4096;
        listen 127.0.0.1:{tls} ssl backlog=4096;
        ssl_certificate {certs}/chain.pem;
        ssl_certificate_key {certs}/key.pem;
        ssl_protocols {protocol};
        location = /small {{ return 200 "x"; }}
        location = /full {{ root {folder}; }}
    }}
}}
"""

HAPROXY = """\
global
    maxconn {connections}
    ulimit-n {descriptors}
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
    bind 127.0.0.1:{tls} backlog 4096 ssl crt {folder}/both.pem ssl-min-ver {protocol} ssl-max-ver {protocol}
    http-request return status 200 content-type text/plain file {folder}/small if {{ path /small }}
    http-request return status 200 content-type text/plain file {folder}/full if {{ path /full }}
"""


def configure_nginx(setup: Setup) -> list[str]:
    """One worker, and whatever nginx does by itself: tickets, released buffers."""
    (setup.folder / "full").write_text("x" * NGINX_SERVER.full_bytes)
    config = setup.folder / "nginx.conf"
    config.write_text(
        NGINX.format(
            folder=setup.folder,
            certs=CERTS,
            protocol=setup.protocol,
            connections=setup.most + 100,
            descriptors=setup.most + 200,
            **setup.ports._asdict(),
        )
    )
    return ["-c", str(config), "-p", str(setup.folder), "-e", "stderr"]


def configure_haproxy(setup: Setup) -> list[str]:
    """One thread, and whatever HAProxy does by itself; it answers from its configuration, without a server behind."""
    folder = setup.folder
    (folder / "both.pem").write_text((CERTS / "chain.pem").read_text() + (CERTS / "key.pem").read_text())
    (folder / "small").write_text("x")
    (folder / "full").write_text("x" * HAPROXY_SERVER.full_bytes)
    config = folder / "haproxy.cfg"
    config.write_text(
        HAPROXY.format(
            folder=folder,
            protocol=setup.protocol,
            connections=setup.most + 100,
            descriptors=2 * (setup.most + 100) + 200,
            **setup.ports._asdict(),
        )
    )
    return ["-db", "-f", str(config)]


NGINX_SERVER = Server("nginx", "nginx", "nginx-light", 16384, configure_nginx)
HAPROXY_SERVER = Server("haproxy", "haproxy", "haproxy", 12288, configure_haproxy)  # its buffers have 16 KiB with heads
SERVERS = {one.name: one for one in (NGINX_SERVER, HAPROXY_SERVER)}


def find_program(server: Server) -> str:
    """Return the path of the server's program. Raises ServerError where it is not installed."""
    found = shutil.which(server.program, path=SEARCHED)
    if not found:
        raise ServerError(f"{server.name} is not installed: apt install {server.package}")
    return found
