"""Settings of a server's configuration that cost memory: how many certificates, backends, entries of a cache it has.

Each is written into the configuration that live runs use (`tlsmem.live.servers`), once more for each of `size`."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tlsmem.base.paths import ROOT
from tlsmem.live.servers import Server, ServerError, Setup
from tlsmem.run.certificates import provide_names

KINDS = ("rsa-2048", "ecdsa-p256")  # of keys, by directory of memtest/certs
MOST_CERTIFICATES = 9_999  # names that memtest/certs/make_many.py makes
NOWHERE = 9  # a port where nobody listens: backends are not connected to


class Setting(NamedTuple):
    """`write(text, setup, size, kind)` returns a configuration with so many; `unit` is one of them, in words."""

    name: str
    unit: str
    sizes: tuple[int, ...]
    write: Callable[[str, Setup, int, str | None], str]
    kinds: tuple[str | None, ...] = (None,)
    most: int = 10**7


class Varied(NamedTuple):
    """A server whose configuration has `size` of a setting; of certificates with keys of a kind."""

    server: Server
    setting: Setting
    size: int
    kind: str | None = None

    def configure(self, setup: Setup) -> list[str]:
        """Write the configuration and return the arguments that start the server with a master process."""
        words = self.server.configure(setup)
        file = setup.folder / FILES[self.server.name]
        file.write_text(self.setting.write(file.read_text(), setup, self.size, self.kind))
        return [MASTER.get(word, word) for word in words]

    def configure_alone(self, setup: Setup) -> list[str]:
        """The same in one process, which heaptrack sees all of."""
        words = self.configure(setup)
        file = setup.folder / FILES[self.server.name]
        if self.server.name == "nginx":
            file.write_text(f"master_process off;\n{file.read_text()}")
        return [ALONE.get(word, word) for word in words]


FILES = {"nginx": "nginx.conf", "haproxy": "haproxy.cfg"}
MASTER, ALONE = {"-db": "-W"}, {"-W": "-db"}  # of HAProxy: as a service runs it, and in one process
NGINX_NAME = """\
    server {{
        listen 127.0.0.1:{port} ssl;
        server_name {name};
        ssl_certificate {file};
        ssl_certificate_key {file};
        ssl_protocols {protocol};
    }}
"""


def list_names(size: int) -> list[str]:
    """Return the names that the certificates are for."""
    return [f"name-{number:05d}.example" for number in range(1, size + 1)]


def read_certificate(name: str, kind: str | None) -> str:
    """Return the chain of a name and its key, as PEM: of ECDSA the same certificate for each."""
    if kind == KINDS[0]:
        folder = provide_names() / name.removeprefix("name-").removesuffix(".example")
    else:
        folder = ROOT / "memtest/certs" / str(kind)
    return (folder / "chain.pem").read_text() + (folder / "key.pem").read_text()


def write_certificates(setup: Setup, size: int, kind: str | None) -> list[tuple[str, Path]]:
    """Write a file with chain and key for each name; return both."""
    found = [(name, setup.folder / f"{name}.pem") for name in list_names(size)]
    for name, file in found:
        file.write_text(read_certificate(name, kind))
    return found


def into_http(text: str, more: str) -> str:
    """Return nginx's configuration with more at the end of its block http."""
    return text.removesuffix("}\n") + more + "}\n"


def into_server(text: str, more: str) -> str:
    """Return nginx's configuration with more in its server."""
    return text.replace("        location = /small", f"{more}        location = /small", 1)


def nginx_certificates(text: str, setup: Setup, size: int, kind: str | None) -> str:
    """A server block for each name, with a certificate of its own."""
    blocks = (
        NGINX_NAME.format(port=setup.ports.tls, name=name, file=file, protocol=setup.protocol)
        for name, file in write_certificates(setup, size, kind)
    )
    return into_http(text, "".join(blocks))


def haproxy_certificates(text: str, setup: Setup, size: int, kind: str | None) -> str:
    """A list of certificates, each for its name."""
    lines = (f"{file} {name}\n" for name, file in write_certificates(setup, size, kind))
    listed = setup.folder / "certificates"
    listed.write_text("".join(lines))
    return text.replace("/both.pem", f"/both.pem crt-list {listed}", 1)


def nginx_backends(text: str, setup: Setup, size: int, kind: str | None) -> str:
    """A location for each, which passes requests on over TLS."""
    lines = (
        f"        location /{number} {{ proxy_pass https://127.0.0.1:{NOWHERE}; }}\n" for number in range(1, size + 1)
    )
    return into_server(text, "".join(lines))


def haproxy_backends(text: str, setup: Setup, size: int, kind: str | None) -> str:
    """A `server` line for each, over TLS, in one backend."""
    lines = (f"    server s{number} 127.0.0.1:{NOWHERE} ssl verify none\n" for number in range(1, size + 1))
    return f"{text}backend all\n{''.join(lines)}"


def nginx_cache(text: str, setup: Setup, size: int, kind: str | None) -> str:
    return into_http(text, f"    ssl_session_cache shared:sessions:{size}m;\n")


def nginx_ticket_keys(text: str, setup: Setup, size: int, kind: str | None) -> str:
    """A file of 80 bytes for each key."""
    lines = []
    for number in range(size):
        file = setup.folder / f"ticket-{number:05d}.key"
        file.write_bytes(bytes([number % 256]) * 80)
        lines.append(f"        ssl_session_ticket_key {file};\n")
    return into_server(text, "".join(lines))


def in_global(option: str, text: str, setup: Setup, size: int, kind: str | None) -> str:
    """HAProxy's configuration with an option of its section global."""
    return text.replace("global\n", f"global\n    {option} {size}\n", 1)


def write_roots(setup: Setup, size: int) -> Path:
    """Write so many roots into a file, which a store of clients' issuers is made of."""
    found = re.findall(
        r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----\n",
        (ROOT / "memtest/certs/rsa-2048-many/other-roots.pem").read_text(),
        re.DOTALL,
    )
    file = setup.folder / "roots"
    file.write_text("".join(found[:size]))
    return file


def nginx_roots(text: str, setup: Setup, size: int, kind: str | None) -> str:
    file = write_roots(setup, size)
    return into_server(text, f"        ssl_client_certificate {file};\n        ssl_verify_client optional;\n")


def haproxy_roots(text: str, setup: Setup, size: int, kind: str | None) -> str:
    file = write_roots(setup, size)
    return text.replace("/both.pem", f"/both.pem ca-file {file} verify optional", 1)


def nginx_connections(text: str, setup: Setup, size: int, kind: str | None) -> str:
    return re.sub(r"worker_connections \d+;", f"worker_connections {size};", text)


MANY = (20, 100, 200)
ROOTS = (1, 75, 149)
CONNECTIONS = (1_000, 10_000, 100_000)
SETTINGS: dict[str, dict[str, Setting]] = {
    "nginx": {
        one.name: one
        for one in (
            Setting("certificates", "certificate", MANY, nginx_certificates, KINDS, MOST_CERTIFICATES),
            Setting("session-cache", "MiB of ssl_session_cache", (1, 10, 50), nginx_cache),
            Setting("worker-connections", "worker_connections", CONNECTIONS, nginx_connections),
            Setting("backends", "location that passes on to https", MANY, nginx_backends),
            Setting("client-roots", "root of ssl_client_certificate", ROOTS, nginx_roots, most=ROOTS[-1]),
            Setting("ticket-keys", "ssl_session_ticket_key", (1, 10, 100), nginx_ticket_keys),
        )
    },
    "haproxy": {
        one.name: one
        for one in (
            Setting("certificates", "certificate", MANY, haproxy_certificates, KINDS, MOST_CERTIFICATES),
            Setting(
                "session-cache",
                "block of tune.ssl.cachesize",
                (20_000, 100_000, 200_000),
                partial(in_global, "tune.ssl.cachesize"),
            ),
            # It needs two descriptors for each.
            Setting("worker-connections", "maxconn", (1_000, 4_000, 9_000), partial(in_global, "maxconn")),
            Setting("backends", "server line with ssl", MANY, haproxy_backends),
            Setting("client-roots", "root of ca-file", ROOTS, haproxy_roots, most=ROOTS[-1]),
        )
    },
}
NAMES = tuple(dict.fromkeys(name for settings in SETTINGS.values() for name in settings))


def vary(server: Server, names: Sequence[str], sizes: Sequence[int] | None) -> list[Varied]:
    """Return a server's configurations: of each setting that it has, each kind and size. Raises ServerError with a
    sentence where it has none of them, or a size is too large."""
    known = SETTINGS[server.name]
    settings = [known[name] for name in names if name in known]
    if not settings:
        raise ServerError(f"{server.name} has no {', '.join(names)}; it has: {', '.join(known)}", status=2)
    found = [Varied(server, one, size, kind) for one in settings for kind in one.kinds for size in sizes or one.sizes]
    for one in found:
        if one.size > one.setting.most:
            raise ServerError(
                f"{one.size:,} {one.setting.name}: there are {one.setting.most:,} at most to configure", status=2
            )
    return found
