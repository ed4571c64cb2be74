"""The endpoint of tls-memtest heap for Prometheus: one page of text, on this machine alone."""

import sys
import threading
from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import AF_INET, AF_INET6
from typing import Any
from urllib.parse import urlsplit

from tlsmem.base.errors import UserError

PATH = "/metrics"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
TIMEOUT_S = 5  # for a client to send its request
LOOPBACK = {"localhost", "127.0.0.1", "::1"}


def host_name(header: str) -> str | None:
    """Return the host that a request names, in lower case and without its port; None if it names none."""
    try:
        return urlsplit(f"//{header}").hostname
    except ValueError:
        return None


class Endpoint:
    """Answers GET /metrics, from its start until this process ends.

    A request gets metrics only if its Host header names loopback, the address or one of `names`. Otherwise a page in a
    browser on this machine could read them by DNS rebinding."""

    def __init__(self, address: str, names: Iterable[str] = ()) -> None:
        """Take the address, `HOST:PORT`; raises UserError where it cannot be had."""
        host, _, port = address.rpartition(":")
        host = host.strip("[]")
        known = LOOPBACK | {host} | {name.lower() for name in names}
        self.render: Callable[[], str] = str
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            timeout = TIMEOUT_S

            def do_GET(self) -> None:
                asked = self.headers.get("Host")
                if asked is not None and host_name(asked) not in known:
                    status, body = 421, "the host name in the Host header is not allowed; see --host\n"
                elif self.path != PATH:
                    status, body = 404, f"see {PATH}\n"
                else:
                    status, body = 200, endpoint.render()
                self.answer(status, body.encode())

            def answer(self, status: int, body: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Type", CONTENT_TYPE)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Not a line for each scrape."""

        class Server(ThreadingHTTPServer):
            address_family = AF_INET6 if ":" in host else AF_INET
            daemon_threads = True

            def handle_error(self, request: Any, client_address: Any) -> None:
                """Drop a connection that its client has broken off, without the traceback that other errors print."""
                if not isinstance(sys.exception(), ConnectionError):
                    super().handle_error(request, client_address)

        try:
            self.server = Server((host, int(port)), Handler)
        except OSError as error:
            raise UserError(
                f"--listen {address}: {error.strerror}; give another port, or 0 for one that is free"
            ) from None
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{self.server.server_address[1]}{PATH}"

    def start(self, render: Callable[[], str]) -> None:
        """Begin to answer with what `render` returns. Signals that are blocked by now stay with the caller's thread."""
        self.render = render
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
