#!/usr/bin/env python3
"""Does a real Prometheus understand what `heap run` serves, and does each panel of the dashboard show something?

nginx runs under `heap run --listen` while TLS connections to it grow by one a second. promtool must have nothing to say
about the metrics. A Prometheus scrapes them for a minute. Then the command asks its API for each expression of
tools/dashboards/heap.json, as Grafana would: each must give finite numbers, and the connections must be as many as are
open. All of it listens on loopback and ends with this command.

Exit status 77: prometheus, promtool or nginx is not installed."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import argparse
import contextlib
import json
import math
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from typing import Any

from tlsmem.base import venv
from tlsmem.base.paths import ROOT
from tlsmem.cli.main import run

SCRAPE_S = 1
LIMIT_S = 20.0  # for a program to start
DASHBOARD = ROOT / "tools/dashboards/heap.json"
CONFIG = """\
global: {{ scrape_interval: {scrape}s }}
scrape_configs:
  - job_name: tls-heap
    static_configs: [ {{ targets: ["{target}"] }} ]
"""
WAY_OUT = "apt install prometheus nginx-light, or unpack the package (dpkg -x) and give --programs DIRECTORY/usr/bin"
EXAMPLES = """examples:
  tools/dev/check_prometheus.py
  tools/dev/check_prometheus.py --programs /tmp/prometheus/usr/bin --seconds 120"""


def parser() -> argparse.ArgumentParser:
    kept = argparse.RawDescriptionHelpFormatter
    made = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES, formatter_class=kept)
    made.add_argument("--programs", metavar="DIRECTORY", help="where prometheus and promtool are, if not on PATH")
    made.add_argument("--seconds", type=int, default=60, choices=range(10, 3601), metavar="N", help="default: 60")
    return made


def main() -> None:
    given = parser().parse_args()
    venv.activate()
    path = os.pathsep.join([*([given.programs] if given.programs else []), os.environ["PATH"], "/usr/sbin"])
    programs = {name: shutil.which(name, path=path) for name in ("prometheus", "promtool", "nginx")}
    if missing := [name for name, found in programs.items() if not found]:
        print(f"check-prometheus: {', '.join(missing)}: not installed; {WAY_OUT}", file=sys.stderr)
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="memtest-prometheus-") as name:
        failures = check(Path(name), {key: str(found) for key, found in programs.items()}, given.seconds)
    if failures:
        sys.exit(f"check-prometheus: failed: {'; '.join(failures)}")
    print("check-prometheus: passed")


def check(folder: Path, programs: dict[str, str], seconds: int) -> list[str]:
    """Return what is wrong, a sentence each."""
    folder.chmod(0o755)
    with metered_nginx(folder, programs["nginx"]) as (url, port):
        failures = check_format(programs["promtool"], url)
        with prometheus(folder, programs["prometheus"], url) as api, contextlib.ExitStack() as connections:
            for _ in range(seconds):
                connections.enter_context(connect(port))
                time.sleep(1)
            time.sleep(2 * SCRAPE_S)
            failures += check_dashboard(api)
            (held,) = finite_values(api, "sum(tls_heap_connections)") or (0.0,)
            if held != seconds:
                failures.append(f"tls_heap_connections is {held:,.0f}, and {seconds} connections are open")
    return failures


def check_format(promtool: str, url: str) -> list[str]:
    """Return what promtool says of the metrics."""
    text = urllib.request.urlopen(url).read()
    done = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, check=False)
    said = (done.stdout + done.stderr).decode().strip()
    print(f"promtool check metrics: exit {done.returncode}, {said or 'silent'}", flush=True)
    return [f"promtool: {said}"] if said or done.returncode else []


def check_dashboard(api: str) -> list[str]:
    """Return the panels without data; print a value of each of the others."""
    dashboard = json.loads(DASHBOARD.read_text())
    failures = []
    for variable in dashboard["templating"]["list"]:
        if found := re.fullmatch(r"label_values\((.*), *(\w+)\)", str(variable["query"])):
            values = ask(f"{api}/label/{found[2]}/values?{urllib.parse.urlencode({'match[]': found[1]})}")
            print(f"${variable['name']}: {', '.join(values)}", flush=True)
            failures += [] if values else [f"${variable['name']}: no value"]
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            values = finite_values(api, target["expr"].replace("$job", ".*"))
            print(f"{panel['title']}: {', '.join(f'{one:,.1f}' for one in values) or 'no data'}", flush=True)
            failures += [] if values else [f"panel {panel['title']}: {target['expr']} gives no data"]
    return failures


def finite_values(api: str, expression: str) -> list[float]:
    """Return what an expression is now, of each series; empty where one of them is no number."""
    found = ask(f"{api}/query?{urllib.parse.urlencode({'query': expression})}")["result"]
    values = [float(one["value"][1]) for one in found]
    return values if all(map(math.isfinite, values)) else []


def ask(url: str) -> Any:
    """Return the data of an answer. Exits with the server's sentence where it refuses."""
    try:
        return json.loads(urllib.request.urlopen(url).read())["data"]
    except urllib.error.HTTPError as error:
        sys.exit(f"check-prometheus: {url}: {json.loads(error.read())['error']}")


@contextlib.contextmanager
def metered_nginx(folder: Path, nginx: str) -> Iterator[tuple[str, int]]:
    """Yield the address of the metrics and the port of TLS."""
    from tlsmem.live.servers import Ports, Setup, configure_nginx

    ports = Ports(free_port(), free_port())
    words = configure_nginx(Setup(folder, ports, 10_000, "TLSv1.3"))
    options = ["--listen=127.0.0.1:0", f"--connections=port:{ports.tls}", "--interval=1"]
    command = [sys.executable, str(ROOT / "tools/tls-memtest"), "heap", "run", *options, "--", nginx, *words]
    log = folder / "heap.log"
    with running(command, log, signal.SIGTERM):
        url = wait_for(lambda: re.search(r"http://127\.0\.0\.1:\d+/metrics", log.read_text()), log)[0]
        wait_for(lambda: answers(ports.tls), log)
        yield url, ports.tls


@contextlib.contextmanager
def prometheus(folder: Path, program: str, url: str) -> Iterator[str]:
    """Yield the address of its API."""
    config, log, port = folder / "prometheus.yml", folder / "prometheus.log", free_port()
    config.write_text(CONFIG.format(scrape=SCRAPE_S, target=urllib.parse.urlsplit(url).netloc))
    where = [f"--web.listen-address=127.0.0.1:{port}", f"--storage.tsdb.path={folder / 'data'}"]
    with running([program, f"--config.file={config}", *where], log, signal.SIGTERM):
        wait_for(lambda: answers(port), log)
        yield f"http://127.0.0.1:{port}/api/v1"


@contextlib.contextmanager
def running(command: list[str], log: Path, number: signal.Signals) -> Iterator[None]:
    """A process of our own, ended by the signal."""
    with log.open("w") as file:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
    try:
        yield
    finally:
        process.send_signal(number)
        try:
            process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def connect(port: int) -> ssl.SSLSocket:
    """Open a TLS connection whose certificate is verified, and ask once."""
    from tlsmem.live.servers import CERTS

    context = ssl.create_default_context(cafile=CERTS / "root.pem")
    connection = context.wrap_socket(socket.create_connection(("127.0.0.1", port)), server_hostname="localhost")
    connection.sendall(b"GET /small HTTP/1.1\r\nHost: localhost\r\n\r\n")
    if not connection.recv(4096).startswith(b"HTTP/1.1 200"):
        sys.exit("check-prometheus: nginx does not answer")
    return connection


def free_port() -> int:
    """Return a port of loopback that nobody has now."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


def wait_for(look: Any, log: Path) -> Any:
    """Return what `look` finds once it does. Exits with the last words of the log where it does not."""
    until = time.monotonic() + LIMIT_S
    while time.monotonic() < until:
        if found := look():
            return found
        time.sleep(0.1)
    last = (log.read_text().strip().splitlines() or ["it said nothing"])[-1]
    sys.exit(f"check-prometheus: {log.stem} does not answer after {LIMIT_S:.0f} s: {last}")


if __name__ == "__main__":
    run(main)
