"""docs/how-to/grows.md: its commands run, and each verdict holds, with fewer connections and certificates."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from tlsmem.monitor.report import PARTS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/how-to/grows.md").read_text()
PROGRAMS = ("/usr/sbin/mosquitto", "/usr/sbin/nginx", "/usr/bin/python3", "gdb", "pgrep")
CONNECTIONS, CERTIFICATES, CONTEXTS = 300, 50, 12
SMALLER = {
    "hold 8883 500": f"hold 8883 {CONNECTIONS}",
    "seq -f %05g 200": f"seq -f %05g {CERTIFICATES}",
    "contexts.py $1 50": f"contexts.py $1 {CONTEXTS}",
}
LIMIT_S = 150


def is_taken(port):
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, PROGRAMS)) or not Path("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2").exists(),
    reason="needs mosquitto, nginx-light, python3, gdb, libjemalloc2 and procps",
)


def commands(section):
    """The commands of a section, whose readings are JSON."""
    text = re.search(rf"^## {section}.*?(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)[0]
    script = "".join(re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    for long, short in SMALLER.items():
        assert long in PAGE
        script = script.replace(long, short)
    script, readings = re.subn(r"(heap attach) (--once .*\$PID)", r"\1 --json \2", script)
    assert readings or section == "Prepare"
    return script


def run(section):
    """What tls-memtest heap says at each reading: the program that was started, and all."""
    if is_taken(8883) or is_taken(8443):
        pytest.skip("port 8883 or 8443 is taken")
    script = ["bash", "-uc", commands("Prepare") + commands(section)]
    with subprocess.Popen(script, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True) as shell:
        try:
            said, _ = shell.communicate(timeout=LIMIT_S)
        finally:
            if shell.returncode != 0:  # what it has started and not ended
                os.killpg(shell.pid, signal.SIGKILL)
    assert shell.returncode == 0
    records = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    ends = [number for number, record in enumerate(records) if record["record"] == "all"]
    return [(records[begin + 1], records[end]) for begin, end in zip([-1, *ends], ends, strict=False)]


def figures(readings):
    """Live heap, RssAnon, and what malloc keeps, of the programs that were started."""
    live, rss = ([one[key] for one, _ in readings] for key in ("live_bytes", "rss"))
    anon = [parts["anon_bytes"] for parts in rss]
    return live, anon, [(parts["cached_bytes"] or 0) + (parts["free_bytes"] or 0) for parts in rss]


def test_the_page_names_parts_as_the_report_does():
    named = set(PARTS.values())
    assert {"free, but kept", "cached by malloc", "other mappings"} <= named
    for name in ("free, but kept", "cached by malloc", "other mappings"):
        assert f"`{name}`" in PAGE


@pytest.mark.slow
def test_mosquitto_after_a_burst():
    readings = run("Case 1")
    live, anon, kept = figures(readings)
    idle, held, closed, again, trimmed, threshold, jemalloc = range(7)
    assert [everything["connections"]["8883"] for _, everything in readings[:4]] == [0, CONNECTIONS, 0, 0]
    grown, room = live[held] - live[idle], anon[held] - anon[idle]
    assert 5_000 < grown / CONNECTIONS < 80_000, "TLS sessions"
    assert live[closed] - live[idle] < 0.1 * grown and abs(live[again] - live[closed]) < 1_000, "no leak"
    assert anon[closed] > 0.95 * anon[held] and kept[closed] > 0.8 * room, "malloc keeps it"
    assert anon[again] < 1.1 * anon[closed], "the second burst uses it"
    assert anon[trimmed] - anon[idle] < 0.4 * room < anon[threshold] - anon[idle]
    assert anon[jemalloc] - anon[idle] < 0.5 * room


@pytest.mark.slow
def test_nginx_is_reloaded():
    readings = run("Case 2")
    live, anon, kept = figures(readings)
    started, reloaded, again, old, ended, fewer = range(6)
    room = anon[reloaded] - anon[started]
    assert live[reloaded] == live[again], "no leak"
    assert readings[again][0]["peak_bytes"] > 2 * live[again], "two configurations were live"
    assert room > 0.8 * live[started] and kept[again] > 0.8 * room and anon[again] < anon[reloaded] + 0.2 * room
    assert [everything["running"] for _, everything in readings] == [2, 2, 2, 3, 2, 2]
    assert readings[old][1]["live_bytes"] > 1.7 * readings[ended][1]["live_bytes"], "an old configuration is live"
    assert (live[again] - live[fewer]) / CERTIFICATES > 20_000


@pytest.mark.slow
def test_contexts_of_cpython():
    live, anon, kept = figures(run("Case 3"))
    each, each_closed, shared, shared_closed, trimmed, leak = range(6)
    contexts, room = live[each] - live[shared], anon[each] - anon[shared]
    assert contexts / CONTEXTS > 400_000, "contexts"
    assert abs(live[each_closed] - live[shared_closed]) < 0.05 * contexts, "no leak"
    assert anon[each_closed] > 0.95 * anon[each] and kept[each_closed] > 0.8 * room, "malloc keeps it"
    assert anon[trimmed] - anon[shared] < 0.3 * room
    assert live[leak] - live[each_closed] > 0.9 * contexts and kept[leak] < 0.3 * room, "a leak"
    assert anon[leak] == pytest.approx(anon[each_closed], rel=0.02), "RSS alone does not tell"
