"""The endpoint of `heap run` for Prometheus, its dashboard, and the view of growth: of a program that is at rest."""

import contextlib
import json
import re
import socket
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

from tests.support import commands
from tlsmem.base.paths import ROOT
from tlsmem.monitor.endpoint import METRICS, escape
from tlsmem.monitor.growth import count_connections
from tlsmem.monitor.rss_parts import read_rss
from tlsmem.monitor.watch import render_table
from tlsmem.run import heap_page
from tlsmem.tables.table import Heading, Table, integer_cell

HEAP_RUN, HEAP_ATTACH = commands.command_line("heap run"), commands.command_line("heap attach")
# Five connections to a port of its own, then a MiB for each byte that it reads, and 64 KiB that it frees at once.
PROGRAM = """
import ctypes, os, socket, sys
malloc, free = ctypes.CDLL(None).malloc, ctypes.CDLL(None).free
malloc.restype, free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
server = socket.create_server(("127.0.0.1", 0))
port = server.getsockname()[1]
ends = [(socket.create_connection(("127.0.0.1", port)), server.accept()) for _ in range(5)]
os.write(1, b"%d %d\\n" % (os.getpid(), port))
while os.read(0, 1):
    malloc(1 << 20)
    free(malloc(1 << 16))
    os.write(1, b"done\\n")
"""
SAMPLE = re.compile(r"(\w+)(?:\{(.*)\})? (-?\d+)")
# 10 MiB before there are connections, which a worker inherits; then for each byte read a connection, and 100,000 bytes.
SERVER = """
import ctypes, os, socket
malloc = ctypes.CDLL(None).malloc
malloc.restype = ctypes.c_void_p
for _ in range(100):
    malloc((10 << 20) // 100)
server = socket.create_server(("127.0.0.1", 0))
port = server.getsockname()[1]
wait, stay = os.pipe()
if not os.fork():
    os.close(stay)
    os.read(wait, 1)
    os._exit(0)
for one in (socket.create_connection(("127.0.0.1", port)), server.accept()[0]):  # what Python loads for the first
    one.close()
ends = []
os.write(1, b"%d %d\\n" % (os.getpid(), port))
while os.read(0, 1):
    ends.append((socket.create_connection(("127.0.0.1", port)), server.accept()))
    malloc(100_000)
    os.write(1, b"done\\n")
"""


@contextlib.contextmanager
def metered(*words, folder, program=PROGRAM):
    """`heap run` with the program, its process id and port, and what it says."""
    said = folder / "said"
    with said.open("w") as file:
        words = [*HEAP_RUN, *words, "--", sys.executable, "-S", "-c", program]
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=file, bufsize=0)
    try:
        pid, port = map(int, process.stdout.readline().split())
        yield process, pid, port, said
    finally:
        process.stdin.close()
        process.wait()


def wait_for(pattern, file):
    """What it says, once it does; the limit is only there so that a fault ends the test."""
    for _ in range(600):
        if found := re.search(pattern, file.read_text()):
            return found
        time.sleep(0.1)
    pytest.fail(f"waited in vain for {pattern}: {file.read_text()}")


def samples(text):
    """Values by name and labels."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    found = [SAMPLE.fullmatch(line) for line in lines]
    return {(one[1], one[2] or ""): int(one[3]) for one in found}


def expected_samples(pid):
    """What the meter's page of a program at rest says and what it has resident, and no connection to port 1."""
    rss = read_rss([pid])[pid]
    page = heap_page.OpenPage(pid).read()
    program, total = f'program="{page.program}",pid="{pid}"', page.total
    return {
        ("tls_heap_live_bytes", f'{program},role="untagged"'): total.live_bytes,
        ("tls_heap_live_blocks", f'{program},role="untagged"'): total.live_blocks,
        ("tls_heap_peak_bytes", program): total.peak_bytes,
        ("tls_heap_allocated_bytes_total", program): total.cumulative_bytes,
        ("tls_heap_allocated_blocks_total", program): total.cumulative_blocks,
        ("tls_heap_rss_anon_bytes", program): rss.anon_bytes,
        **{
            ("tls_heap_rss_part_bytes", f'{program},part="{part}"'): size
            for part, size in rss.parts.items()
            if size is not None
        },
        ("tls_heap_absent_bytes", program): rss.absent_bytes,
        ("tls_heap_connections", 'port="1"'): 0,
        ("tls_heap_inherited_bytes", program): 0,
        ("tls_heap_all_live_bytes", ""): total.live_bytes,
        ("tls_heap_growth_bytes", ""): 0,
        ("tls_heap_growth_connections", ""): 0,
        ("tls_heap_mapped_bytes", program): page.mapped.private,
        ("tls_heap_processes", f'program="{page.program}"'): 1,
        ("tls_heap_ended_total", f'program="{page.program}"'): 0,
    }


@pytest.mark.thorough
def test_the_endpoint_serves_what_the_page_of_the_meter_has(tmp_path):
    """As tls-memtest heap last read it, a moment ago. Connections: of the port that is asked for, and of no other."""
    with metered("--listen=127.0.0.1:0", "--connections=port:1", folder=tmp_path) as (_, pid, port, said):
        url = wait_for(r"http://127.0.0.1:\d+/metrics", said)[0]
        expected = expected_samples(pid)
        for _ in range(600):
            text = urllib.request.urlopen(url).read().decode()
            if samples(text) == expected:
                break
            time.sleep(0.1)
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(url.removesuffix("metrics"))
        for _ in range(600):  # a connection of another program may have the port for a moment
            if count_connections(pid, port) == 5:
                break
            time.sleep(0.1)
        assert count_connections(pid, port) == 5
    assert samples(text) == expected
    assert "# TYPE tls_heap_live_bytes gauge\n" in text
    assert "# TYPE tls_heap_allocated_bytes_total counter\n" in text


def scrape_until(url, connections):
    """The samples, once there are so many connections more, and all programs hold what each of them requested, and the
    little that the first one has freed since its fork: the worker keeps it."""
    for _ in range(600):
        found = samples(urllib.request.urlopen(url).read().decode())
        live = sum(value for (name, _), value in found.items() if name == "tls_heap_live_bytes")
        grown = found.get(("tls_heap_growth_connections", ""))
        if grown == connections and live <= found["tls_heap_all_live_bytes", ""] < live + 10_000:
            return found
        time.sleep(0.05)
    pytest.fail(f"never {connections} connections, or another sum than {live}: {found}")


@pytest.mark.thorough
def test_a_connection_costs_what_is_live_above_the_fewest_connections(tmp_path):
    """As the page has it. Not the 10 MiB from before, which two processes have and all together have once."""
    with metered(folder=tmp_path, program=SERVER) as (process, pid, port, _):
        words = [*HEAP_ATTACH, "--listen=127.0.0.1:0", "--interval=0.05", f"--connections=port:{port}", str(pid)]
        answers = tmp_path / "answers"
        with answers.open("w") as file:
            watching = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=file)
        try:
            url = wait_for(r"http://127.0.0.1:\d+/metrics", answers)[0]
            scrape_until(url, connections=0)
            for _ in range(20):
                process.stdin.write(b"x")
                assert process.stdout.readline() == b"done\n"
            time.sleep(0.2)
            found = scrape_until(url, connections=20)
        finally:
            watching.terminate()
            watching.wait()
    assert 100_000 <= found["tls_heap_growth_bytes", ""] / 20 < 101_000
    inherited = [value for (name, _), value in found.items() if name == "tls_heap_inherited_bytes"]
    assert sorted(value > 10 << 20 for value in inherited) == [False, True]
    assert found["tls_heap_all_live_bytes", ""] < 14 << 20


@pytest.mark.thorough
def test_one_report_has_the_connections_too(tmp_path):
    with metered(folder=tmp_path) as (_, pid, port, _):
        words = ["--once", f"--connections=port:{port}"]
        table, objects = (
            subprocess.run([*HEAP_ATTACH, *words, *more, str(pid)], capture_output=True, text=True, check=False).stdout
            for more in ([], ["--json"])
        )
    assert f"Port {port}: 5 connections." in " ".join(table.split())
    assert json.loads(objects.splitlines()[-1])["connections"] == {str(port): 5}


WORKERS = """
import os, time
for _ in range(3):
    os.fork() or os._exit(0)
    os.wait()
os.write(1, b"%d 0\\n" % os.getpid())
os.read(0, 1)
"""


@pytest.mark.thorough
def test_lines_have_the_connections(tmp_path):
    with metered("--interval=0.05", "--connections=port:1", folder=tmp_path) as (_, _, _, said):
        wait_for(r"heap: [\d.]+ s  Port 1: 0 connections\.\n", said)


@pytest.mark.thorough
def test_a_worker_that_ends_is_a_line_and_leaves_no_page(tmp_path):
    """Once, whatever was said of it before."""
    with metered("--interval=0.05", folder=tmp_path, program=WORKERS) as (_, pid, _, said):
        for _ in range(3):
            wait_for(rf"(?s)(\[{pid}\]: live.*?){{3}}", said)
        lines = said.read_text().splitlines()
        pages = {path.name for path in heap_page.PAGES_FOLDER.glob("heapmeter.*")}
    ended = [re.search(r"\[(\d+)\] ended: live ", line) for line in lines]
    workers = [found[1] for found in ended if found]
    assert len(workers) == len(set(workers)) == 3
    assert f"heapmeter.{pid}" in pages and not {f"heapmeter.{worker}" for worker in workers} & pages


@pytest.mark.thorough
def test_growth_stands_below_the_table_at_the_end(tmp_path):
    """Of a process that runs on: tls-memtest heap is told to end."""
    with metered(folder=tmp_path) as (_, pid, port, _):
        words = [*HEAP_ATTACH, "--growth", "--interval=0.1", f"--connections=port:{port}", str(pid)]
        file = tmp_path / "growth"
        with file.open("w") as lines:
            watching = subprocess.Popen(words, stdout=lines, stderr=subprocess.DEVNULL)
        wait_for(r"grew \+0 B", file)
        watching.terminate()
        watching.wait()
    last = " ".join(file.read_text().partition("Heap of process")[2].split())
    assert f"Growth of the heap of process {pid} after" in last
    assert f"Port {port}: 5 connections. For each connection: what grew since there were 5, the fewest" in last


def last_growth(said):
    """What the second record from now says: the first may be of a moment before."""
    before = said.read_text().count("growth_bytes")
    wait_for(rf"(?s)(growth_bytes.*?){{{before + 2}}}\n", said)
    return int(re.findall(r'"growth_bytes": (-?\d+),.*\n', said.read_text())[-1])


@pytest.mark.thorough
def test_growth_is_ndjson_too(tmp_path):
    """A MiB for each line after the first, which brings the program to rest."""
    with metered("--growth", "--json", "--interval=0.1", folder=tmp_path) as (process, pid, _, said):
        grown = []
        for _ in range(2):
            process.stdin.write(b"x")
            assert process.stdout.readline() == b"done\n"
            grown.append(last_growth(said))
    records = [json.loads(line) for line in said.read_text().splitlines() if line.startswith("{")]
    roles = {(one["pid"], one["role"], one["connection_bytes"]) for one in records if one["record"] == "growth"}
    assert grown[1] - grown[0] == 1 << 20
    assert roles == {(pid, "untagged", None)}
    assert {one["record"] for one in records} == {"program", "growth", "all"}


@pytest.mark.thorough
def test_a_file_that_is_there_is_not_overwritten(tmp_path):
    report, ran = tmp_path / "report", tmp_path / "ran"
    report.write_text("mine")
    words = [*HEAP_RUN, "--out", str(report), "--", "touch", str(ran)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, report.read_text(), ran.exists()) == (1, "mine", False)
    assert done.stderr == f"memtest: --out {report}: it is there already; give another name, or remove it\n"
    assert subprocess.run([*HEAP_RUN, "--out", "/dev/null", "--", "true"], check=False).returncode == 0


def status_for(url: str, host: str) -> int:
    try:
        return urllib.request.urlopen(urllib.request.Request(url, headers={"Host": host})).status
    except urllib.error.HTTPError as error:
        return error.code


@pytest.mark.thorough
def test_a_request_for_another_host_gets_no_metrics(tmp_path):
    """A page in a browser that has its own name lead to loopback says that name."""
    with metered("--listen=127.0.0.1:0", "--host=Metrics.example", folder=tmp_path) as (_, _, _, said):
        url, port = wait_for(r"http://127.0.0.1:(\d+)/metrics", said).group(0, 1)
        known = ("127.0.0.1", f"127.0.0.1:{port}", "localhost:1", "LOCALHOST", "[::1]:9464", "metrics.example:80")
        others = ("attacker.example", f"attacker.example:{port}", "127.0.0.1.attacker.example", "192.0.2.1", "[::1", "")
        assert {host: status_for(url, host) for host in known} == dict.fromkeys(known, 200)
        assert {host: status_for(url, host) for host in others} == dict.fromkeys(others, 421)


@pytest.mark.thorough
def test_a_client_that_breaks_off_leaves_no_traceback(tmp_path):
    """By a reset in the middle of its request. The next one is answered."""
    with metered("--listen=127.0.0.1:0", folder=tmp_path) as (_, _, _, said):
        url, port = wait_for(r"http://127.0.0.1:(\d+)/metrics", said).group(0, 1)
        with socket.create_connection(("127.0.0.1", int(port))) as broken:
            broken.sendall(b"GET /metr")
            broken.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        assert (
            urllib.request.urlopen(url).status == 200
        )  # without samples while tls-memtest heap has not read the page yet
    assert "Traceback" not in said.read_text()


def test_the_dashboard_shows_every_metric_and_no_other():
    panels = json.loads((ROOT / "tools/dashboards/heap.json").read_text())["panels"]
    shown = {name for panel in panels for one in panel["targets"] for name in re.findall(r"tls_heap_\w+", one["expr"])}
    assert shown == set(METRICS)


def next_growth(said):
    """What the second report from now says: the first may be of a moment before."""
    before = said.read_text().count("grew")
    wait_for(rf"(?s)(grew.*?){{{before + 2}}}\n", said)
    return int(re.findall(r"grew ([+-][\d,]+) B\n", said.read_text())[-1].replace(",", ""))


@pytest.mark.thorough
def test_growth_is_told_to_the_byte(tmp_path):
    """A MiB for each of two lines that the program reads, after one that brings it to rest."""
    with metered("--growth", "--interval=0.1", folder=tmp_path) as (process, _, _, said):
        grown = []
        for lines in (1, 2):
            for _ in range(lines):
                process.stdin.write(b"x")
                assert process.stdout.readline() == b"done\n"
            grown.append(next_growth(said))
    assert grown[1] - grown[0] == 2 << 20


def test_a_narrow_terminal_is_told_an_option_of_the_command():
    columns = [Heading(f"c{number}", f"a column {number}") for number in range(20)]
    table = Table("heap", "Heap", "", columns, [[integer_cell(10**9)] * 20 for _ in range(9)])
    shown = " ".join(render_table(table, 60).plain.split())
    assert "A wider terminal or --json shows all." in shown


def test_a_label_is_written_as_the_format_has_it():
    assert escape('a"b\\c\nd') == 'a\\"b\\\\c\\nd'


def test_a_port_that_is_taken_is_a_sentence_and_the_command_is_not_run(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        words = [*HEAP_RUN, f"--listen={address}", "--", "touch", str(tmp_path / "ran")]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert (
        done.stderr
        == f"memtest: --listen {address}: Address already in use; give another port, or 0 for one that is free\n"
    )
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--listen=0.0.0.0:9464"], "no port of this machine's own: write 127.0.0.1:PORT or [::1]:PORT"),
        (["--listen=127.0.0.1:99999"], "no port of this machine's own"),
        (["--connections=8443"], "write port:NUMBER, such as port:8443"),
        (["--host=metrics.example"], "--host also needs --listen"),
        (["--once", "--growth"], "--once gives one report: without --listen, --growth and --interval"),
        (["--once", "--interval=5"], "--once gives one report: without --listen, --growth and --interval"),
        (["--once", "--connections=port:1"], "--once reports when it has ended: then there are no --connections"),
    ],
)
def test_what_cannot_be_is_refused(words, sentence):
    done = subprocess.run([*HEAP_RUN, *words, "--", "true"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert sentence in done.stderr
