"""The server of a live run by its name; SERVER=path:FILE is an operator's own configuration of nginx or HAProxy.

It runs as it is, in the foreground, in the network of the run, with an empty /run, so that it meets no server of the
host and leaves no pid file. Its logs go where it says."""

import re
import subprocess
from pathlib import Path

from tlsmem.live.packaged import read_servers
from tlsmem.live.runtimes import read_runtimes
from tlsmem.live.servers import HAPROXY_SERVER, NGINX_SERVER, SEARCHED, SERVERS, Ports, Server, ServerError, Setup

PREFIX = "path:"
OWN_RUN = 'mount -t tmpfs tmpfs /run && mkdir /run/nginx /run/haproxy && exec "$@"'
MOUNTED = ("unshare", "--mount", "--", "sh", "-c", OWN_RUN, "sh")  # before a command: with a /run of its own
NGINX_LISTEN = re.compile(r"(?:^|[{;])\s*listen\s+(?:\S*:)?(\d+)\b([^;]*);", re.MULTILINE)
HAPROXY_BIND = re.compile(r"^\s*bind\s+\S*:(\d+)\b(.*)$", re.MULTILINE)
KINDS = {  # what stands in a configuration of the server alone
    "nginx": re.compile(r"^\s*events\s*\{", re.MULTILINE),
    "haproxy": re.compile(r"^(frontend|listen)\s+\S+", re.MULTILINE),
}


def find_server(name: str) -> Server:
    """Return the server of this name, or of path:FILE. Raises ServerError with a sentence."""
    if name.startswith(PREFIX):
        return read_configuration(name)
    if name in SERVERS:
        return SERVERS[name]
    packaged = read_servers()
    return packaged[name] if name in packaged else read_runtimes()[name]


def read_configuration(name: str) -> Server:
    """Return what SERVER=path:FILE names. Raises ServerError with a sentence."""
    file = Path(name.removeprefix(PREFIX)).resolve()
    try:
        text = file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise ServerError(f"{name}: cannot read the configuration: {getattr(error, 'strerror', error)}") from None
    kind = next((kind for kind, sign in KINDS.items() if sign.search(text)), None)
    if kind is None:
        raise ServerError(f"{name}: neither nginx's (no `events {{`) nor HAProxy's (no frontend)")
    listens = NGINX_LISTEN if kind == "nginx" else HAPROXY_BIND
    expanded = (expand(file) if kind == "nginx" else "") or text
    found = [(int(port), "ssl" in rest.split()) for port, rest in listens.findall(expanded)]
    secure = [port for port, is_tls in found if is_tls]
    plain = [port for port, is_tls in found if not is_tls]
    if not secure or not plain:
        lacks = "over TLS" if plain else "in plain HTTP"
        raise ServerError(f"{name}: nothing in it listens {lacks}; a run needs a port of each, to compare them")
    base = NGINX_SERVER if kind == "nginx" else HAPROXY_SERVER

    def configure(setup: Setup) -> list[str]:
        (setup.folder / "configuration").write_text(expanded)  # by which the run is told from others
        return arguments(kind, file, text)

    return base._replace(
        name=f"{kind}-{re.sub(r'[^A-Za-z0-9_.-]', '-', file.stem)}",
        configure=configure,
        ports=Ports(plain[0], secure[0]),
        full_bytes=None,
        has_own_certificate=True,
        prefix=MOUNTED,
        has_ktls=False,
    )


def expand(file: Path) -> str:
    """Return an nginx configuration with the files that it includes; empty where nginx does not take it."""
    words = [*MOUNTED, "nginx", "-T", "-q", "-c", str(file)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, env={"PATH": SEARCHED})
    except OSError:
        return ""
    return done.stdout if done.returncode == 0 else ""


def arguments(kind: str, file: Path, text: str) -> list[str]:
    """Return what starts the server in the foreground."""
    if kind == "haproxy":
        return ["-db", "-f", str(file)]
    foreground = [] if re.search(r"^\s*daemon\s", text, re.MULTILINE) else ["-g", "daemon off;"]
    return ["-c", str(file), "-e", "stderr", *foreground]
