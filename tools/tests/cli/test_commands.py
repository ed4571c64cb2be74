"""Every script answers as it stands, by a Python without packages too, and is listed."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tlsmem.base.paths import ROOT

TOOLS = ROOT / "tools"
FILES = [*TOOLS.glob("*.py"), *TOOLS.glob("dev/*.py")]
SCRIPTS = sorted(str(file.relative_to(TOOLS)) for file in FILES if os.access(file, os.X_OK))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Runs a script by a Python that has no packages: run(script, argument, ...)."""
    bare = tmp_path_factory.mktemp("bare")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", bare], check=True)

    def by_bare_python(script, *arguments):
        command = [bare / "bin/python", TOOLS / script, *arguments]
        return subprocess.run(command, cwd="/", capture_output=True, text=True)

    return by_bare_python


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_says_what_it_is_for(run, script):
    done = run(script, "--help")
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith(f"usage: {Path(script).name}")


@pytest.mark.parametrize("script", SCRIPTS)
def test_an_option_that_is_not_there_is_refused(run, script):
    done = run(script, "--no-such-option")
    assert done.returncode == 2 and "Traceback" not in done.stderr


def test_the_readme_lists_the_scripts():
    listed = re.findall(r"^\| `([\w/]+\.py)` \|", (TOOLS / "README.md").read_text(), re.MULTILINE)
    assert sorted(listed) == SCRIPTS


def test_the_schema_is_printed_from_outside_the_environment(run):
    assert json.loads(run("records.py", "--schema").stdout)["title"] == "Record"


@pytest.mark.parametrize("flags", [["--n=7"], ["--repeats=0"], ["--stacks=nosuch"], ["--suites=nosuch"]])
def test_the_bench_checks_its_flags_first(run, flags):
    done = run("dev/bench_meter.py", *flags)
    assert done.returncode == 2 and done.stderr.startswith("memtest: ") and done.stderr.count("\n") == 1
