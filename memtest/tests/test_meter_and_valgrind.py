"""The heap meter against valgrind's own count, in the same run: live bytes and blocks of each process at its exit.

valgrind sees what the meter asks the C library for: each block with the meter's header, 16 bytes more."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEAP_RUN = ROOT / "tools/tls-memtest", "heap", "run"
SOURCES = ROOT / "memtest/tests"
HEADER = 16
VALGRIND = [
    "valgrind",
    "--soname-synonyms=somalloc=nouserintercepts",  # so that the program's malloc stays the meter's
    "--undef-value-errors=no",
    "--leak-check=no",
    "--run-libc-freeres=no",
    "--run-cxx-freeres=no",
    "--trace-children=yes",
]
PYTHON = "import os, ssl; kept = [ssl.create_default_context() for _ in range(3)]; os.fork() and os.wait(); os._exit(0)"
NODE = "const { createSecureContext } = require('tls'); createSecureContext({}); process.reallyExit(0)"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("valgrind"), reason="needs valgrind: apt install valgrind"),
]


def counted_by_both(folder, *command):
    """Live bytes and blocks of each process at its end, by process id: by the meter, and by valgrind."""
    report = folder / "report"
    words = [*VALGRIND, f"--log-file={folder}/%p", *command]
    variables = os.environ | {"PYTHONMALLOC": "malloc"}
    subprocess.run(
        [*HEAP_RUN, "--once", "--json", "--out", report, "--", *words], env=variables, timeout=300, check=False
    )
    programs = [json.loads(line) for line in report.read_text().splitlines()[:-1]]
    by_meter, by_valgrind = {}, {}
    for one in programs:
        if one["state"] == "ended":
            by_meter[one["pid"]] = one["live_bytes"], one["live_blocks"]
            said = re.search(
                r"in use at exit: ([\d,]+) bytes in ([\d,]+) blocks", (folder / str(one["pid"])).read_text()
            )
            size, blocks = (int(number.replace(",", "")) for number in said.groups())
            by_valgrind[one["pid"]] = size - HEADER * blocks, blocks
    return by_meter, by_valgrind


@pytest.mark.parametrize("way", ["fork-keep", "fork-free", "fork-enlarge", "fork-grandchild", "exec-twice", "title"])
def test_processes_that_fork_and_exec(tmp_path, way):
    program = tmp_path / "processes"
    subprocess.run(["gcc", "-std=gnu11", "-O1", "-fno-builtin", SOURCES / "processes.c", "-o", program], check=True)
    by_meter, by_valgrind = counted_by_both(tmp_path, program, way)
    assert by_meter == by_valgrind
    assert len(by_meter) == {"fork-keep": 4, "fork-grandchild": 3, "exec-twice": 1}.get(way, 2)


def test_cpython(tmp_path):
    by_meter, by_valgrind = counted_by_both(tmp_path, sys.executable, "-c", PYTHON)
    assert by_meter == by_valgrind
    assert len(by_meter) == 2 and min(by_meter.values()) > (1_000_000, 10_000)


@pytest.mark.skipif(not shutil.which("node"), reason="needs node")
def test_node(tmp_path):
    """Without its compiler, which valgrind is slow with."""
    by_meter, by_valgrind = counted_by_both(tmp_path, "node", "--jitless", "-e", NODE)
    assert by_meter == by_valgrind
    assert len(by_meter) == 1 and min(by_meter.values()) > (1_000_000, 10_000)
