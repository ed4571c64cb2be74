"""A stdout that whoever started a script has closed: one sentence of every script that would print."""

import os
import shlex
import subprocess
import sys

import pytest

from tests.cli.test_inspect_heaptrack import MASSIF
from tlsmem.base.paths import ROOT

RECORDING = ROOT / "data/2026-11-21-amd-epyc-2"


def closed(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    words = shlex.join([sys.executable, str(ROOT / f"tools/{script}.py"), *map(str, arguments)])
    return subprocess.run(["sh", "-c", f"exec {words} >&-"], stderr=subprocess.PIPE, text=True, check=False)


@pytest.mark.parametrize("options", [[], ["--callers"], ["--folded"], ["--callers", "--json"]])
def test_a_profile(tmp_path, options):
    (tmp_path / "massif.out.1").write_text(MASSIF)
    done = closed("inspect_heaptrack", tmp_path / "massif.out.1", *options)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr == "memtest: stdout: it is closed; redirect it to a file, or to /dev/null\n"


def test_a_file_needs_no_stdout(tmp_path):
    (tmp_path / "massif.out.1").write_text(MASSIF)
    done = closed("inspect_heaptrack", tmp_path / "massif.out.1", "--folded", tmp_path / "f")
    assert (done.returncode, done.stderr) == (0, "") and (tmp_path / "f").read_text().count("\n") == 2


def test_a_recording_and_a_report():
    for script, words in {"tabulate": [RECORDING, "--table", "peaks"], "heap": ["--once", "1"]}.items():
        done = closed(script, *words)
        assert done.returncode and "Traceback" not in done.stderr, done.stderr
        assert script != "tabulate" or "it is closed" in done.stderr


@pytest.mark.parametrize("words", ["cost.py gnutls", "plan.py memory --connections 100", "list_stacks.py --help"])
def test_an_encoding_without_our_signs_gets_plain_ones(words):
    script, *arguments = words.split()
    command = [sys.executable, ROOT / "tools" / script, *arguments]
    done = subprocess.run(command, env=os.environ | {"PYTHONIOENCODING": "ascii"}, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"") and done.stdout.isascii() and b"?" not in done.stdout
