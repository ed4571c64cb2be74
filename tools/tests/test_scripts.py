"""Every script answers as it stands, by the system's Python too, and is listed."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parent.parent
SCRIPTS = sorted(file.name for file in TOOLS.glob("*.py") if os.access(file, os.X_OK))
OUTSIDE = Path(sys.base_prefix) / "bin/python3"


def run(script, *arguments):
    return subprocess.run([OUTSIDE, TOOLS / script, *arguments], cwd="/", capture_output=True, text=True)


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_says_what_it_is_for(script):
    done = run(script, "--help")
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith(f"usage: {script}")


@pytest.mark.parametrize("script", SCRIPTS)
def test_an_option_that_is_not_there_is_refused(script):
    done = run(script, "--no-such-option")
    assert done.returncode == 2 and "Traceback" not in done.stderr


def test_the_readme_lists_the_scripts():
    listed = re.findall(r"^\| `(\w+\.py)` \|", (TOOLS / "README.md").read_text(), re.MULTILINE)
    assert sorted(listed) == SCRIPTS


def test_the_schema_is_printed_from_outside_the_environment():
    assert json.loads(run("records.py", "--schema").stdout)["title"] == "Record"


@pytest.mark.parametrize("flags", [["--n=7"], ["--repeats=0"], ["--stacks=nosuch"], ["--suites=nosuch"]])
def test_the_bench_checks_its_flags_first(flags):
    done = run("bench_meter.py", *flags)
    assert done.returncode == 2 and done.stderr.startswith("memtest: ") and done.stderr.count("\n") == 1
