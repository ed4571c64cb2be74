"""A stdout that whoever started a script has closed: one sentence of every script that would print."""

import os
import shlex
import subprocess

import pytest

from tests.support.commands import command_line
from tlsmem.base.paths import ROOT

RECORDING = ROOT / "data/2026-11-21-amd-epyc-2"
MASSIF = """desc: (none)
cmd: ./prog --serve
time_unit: B
#-----------
snapshot=1
#-----------
time=3000
mem_heap_B=3000
mem_heap_extra_B=8
mem_stacks_B=0
heap_tree=peak
n1: 3000 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.
 n2: 3000 0x1001: table_new (table.c:10)
  n0: 2000 0x1002: main (main.c:1)
  n0: 1000 0x1004: grow (table.c:30)
"""


def closed(words: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    words = shlex.join([*command_line(words), *map(str, arguments)])
    return subprocess.run(["sh", "-c", f"exec {words} >&-"], stderr=subprocess.PIPE, text=True, check=False)


@pytest.mark.thorough
@pytest.mark.parametrize("options", [[], ["--callers"], ["--folded"], ["--callers", "--json"]])
def test_a_profile(tmp_path, options):
    (tmp_path / "massif.out.1").write_text(MASSIF)
    done = closed("heap read", tmp_path / "massif.out.1", *options)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr == "memtest: stdout: it is closed; redirect it to a file, or to /dev/null\n"


@pytest.mark.thorough
def test_a_file_needs_no_stdout(tmp_path):
    (tmp_path / "massif.out.1").write_text(MASSIF)
    done = closed("heap read", tmp_path / "massif.out.1", "--folded", tmp_path / "f")
    assert (done.returncode, done.stderr) == (0, "") and (tmp_path / "f").read_text().count("\n") == 2


@pytest.mark.thorough
def test_a_recording_and_a_report():
    for command, words in {"show tables": [RECORDING, "--table", "peaks"], "heap attach": ["--once", "1"]}.items():
        done = closed(command, *words)
        assert done.returncode and "Traceback" not in done.stderr, done.stderr
        assert command != "show tables" or "it is closed" in done.stderr


@pytest.mark.thorough
@pytest.mark.parametrize("words", ["cost gnutls", "plan memory --connections 100", "stacks --help"])
def test_an_encoding_without_our_signs_gets_plain_ones(words):
    done = subprocess.run(
        command_line(words), env=os.environ | {"PYTHONIOENCODING": "ascii"}, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"") and done.stdout.isascii() and b"?" not in done.stdout
