"""The endpoint of tls-memtest heap for Prometheus, and what it serves of a metered program: figures of the meter and of
/proc."""

import re
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import AF_INET, AF_INET6
from typing import Any
from urllib.parse import urlsplit

from tlsmem.base.errors import UserError
from tlsmem.monitor.growth import live_by_role
from tlsmem.monitor.rss_parts import RssParts, read_rss
from tlsmem.monitor.tree import ENDED, RUNNING, MeteredProgram, sum_live

PATH = "/metrics"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
TIMEOUT_S = 5  # for a client to send its request
LOOPBACK = {"localhost", "127.0.0.1", "::1"}
METRICS = {  # name: what it is; a name that ends in _total is a counter
    "tls_heap_live_bytes": "Bytes that the process requested from the allocator and has not freed",
    "tls_heap_live_blocks": "Blocks that the process requested from the allocator and has not freed",
    "tls_heap_inherited_bytes": "Bytes that the process inherited at its fork and has not freed",
    "tls_heap_all_live_bytes": "Live bytes of all programs together; what was inherited counts once",
    "tls_heap_growth_bytes": "Live bytes, without contexts, above those at the reading with the fewest connections",
    "tls_heap_growth_connections": "Connections above the fewest that were seen",
    "tls_heap_peak_bytes": "Most live bytes at once since the program began, or since its phase did",
    "tls_heap_allocated_bytes_total": "Bytes requested since the program began",
    "tls_heap_allocated_blocks_total": "Blocks requested since the program began",
    "tls_heap_rss_anon_bytes": "Resident anonymous memory",
    "tls_heap_rss_part_bytes": "Resident anonymous memory by what it is; the parts add up to tls_heap_rss_anon_bytes",
    "tls_heap_absent_bytes": "Live bytes that are not resident: never written, or swapped out",
    "tls_heap_mapped_bytes": "Private anonymous memory that the program took from the OS past malloc, and may use",
    "tls_heap_connections": "Established TCP connections of this local port",
    "tls_heap_processes": "Processes of a program that run under the meter",
    "tls_heap_ended_total": "Processes of a program that have ended",
}
Sample = tuple[dict[str, str], float]  # labels, value


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


def render_metrics(programs: list[MeteredProgram], connections: dict[int, int], growth: tuple[int, int] | None) -> str:
    """Return all metrics of the running programs, the number of connections by port, and the bytes and connections of
    `ConnectionGrowth.above`."""
    running = [program for program in programs if program.state == RUNNING]
    samples: dict[str, list[Sample]] = {name: [] for name in METRICS}
    for one in live_by_role(running):
        samples["tls_heap_live_bytes"].append((labels(one.program) | {"role": one.role}, one.bytes))
        samples["tls_heap_live_blocks"].append((labels(one.program) | {"role": one.role}, one.blocks))
    if running:
        samples["tls_heap_all_live_bytes"].append(({}, sum_live(running).bytes))
    if growth:
        samples["tls_heap_growth_bytes"].append(({}, growth[0]))
        samples["tls_heap_growth_connections"].append(({}, max(growth[1], 0)))
    for program in running:
        total = program.page.total
        samples["tls_heap_inherited_bytes"].append((labels(program), program.page.inherited_live[0]))
        samples["tls_heap_mapped_bytes"].append((labels(program), program.page.mapped.private))
        samples["tls_heap_peak_bytes"].append((labels(program), total.peak_bytes))
        samples["tls_heap_allocated_bytes_total"].append((labels(program), total.cumulative_bytes))
        samples["tls_heap_allocated_blocks_total"].append((labels(program), total.cumulative_blocks))
    readings = read_rss(program.page.pid for program in running)
    for program in running:
        if isinstance(rss := readings.get(program.page.pid), RssParts):
            add_rss(samples, labels(program), rss)
    samples["tls_heap_connections"] = [({"port": str(port)}, count) for port, count in connections.items()]
    titles = dict.fromkeys(program.page.program for program in programs)
    for name, state in (("tls_heap_processes", RUNNING), ("tls_heap_ended_total", ENDED)):
        processes = Counter(program.page.program for program in programs if program.state == state)
        samples[name] = [({"program": title}, processes[title]) for title in titles]
    return "".join(render_metric(name, METRICS[name], values) for name, values in samples.items() if values)


def add_rss(samples: dict[str, list[Sample]], named: dict[str, str], rss: RssParts) -> None:
    """Add what a program has resident; a part that is not known has no sample."""
    samples["tls_heap_rss_anon_bytes"].append((named, rss.anon_bytes))
    for part, size in rss.parts.items():
        if size is not None:
            samples["tls_heap_rss_part_bytes"].append((named | {"part": part}, size))
    if rss.absent_bytes is not None:
        samples["tls_heap_absent_bytes"].append((named, rss.absent_bytes))


def labels(program: MeteredProgram) -> dict[str, str]:
    """Return what tells programs apart."""
    return {"program": program.page.program, "pid": str(program.page.pid)}


def render_metric(name: str, what: str, samples: Iterable[Sample]) -> str:
    """Return one metric in the text format 0.0.4 of Prometheus; a name that ends in _total is a counter."""
    kind = "counter" if name.endswith("_total") else "gauge"
    lines = [f"# HELP {name} {what}", f"# TYPE {name} {kind}"]
    for named, value in samples:
        inner = ",".join(f'{key}="{escape(text)}"' for key, text in named.items())
        lines.append(f"{name}{{{inner}}} {value}" if named else f"{name} {value}")
    return "\n".join(lines) + "\n"


def escape(text: str) -> str:
    """Return a label's value as the format writes it."""
    return re.sub(r'([\\"])', r"\\\1", text).replace("\n", r"\n")
