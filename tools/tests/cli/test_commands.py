"""Every script answers as it stands, --help and wrong arguments without any package, and is listed."""

import json
import os
import re
import shutil
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


@pytest.fixture(scope="module")
def run_alone(tmp_path_factory):
    """Runs a script of a clone without .venv, by a Python that finds no package: run_alone(script, argument, ...)."""
    clone = tmp_path_factory.mktemp("clone")
    unwanted = shutil.ignore_patterns("tests", "browser-tests", "__pycache__", "node_modules")
    shutil.copytree(TOOLS, clone / "tools", ignore=unwanted)
    (clone / "memtest").mkdir()
    for file in (ROOT / "memtest").glob("*.toml"):
        shutil.copy(file, clone / "memtest")

    def by_python_alone(script, *arguments):
        command = [sys.executable, "-S", clone / "tools" / script, *arguments]
        return subprocess.run(command, cwd="/", capture_output=True, text=True)

    return by_python_alone


@pytest.mark.parametrize("script", SCRIPTS)
def test_help_needs_no_package(run_alone, script):
    done = run_alone(script, "--help")
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith(f"usage: {Path(script).name}")


@pytest.mark.parametrize("script", [script for script in SCRIPTS if "/" not in script])
def test_a_safe_path_of_pythons_hides_no_package(run_alone, script, monkeypatch):
    monkeypatch.setenv("PYTHONSAFEPATH", "1")
    assert run_alone(script, "--help").returncode == 0


@pytest.mark.parametrize("words", [[script] for script in SCRIPTS if "/" not in script] + [["plan.py", "fit"]])
def test_help_shows_examples(run_alone, words):
    heading, _, examples = run_alone(*words, "--help").stdout.partition("\nexample")
    assert f"tools/{words[0]} " in examples, heading


@pytest.mark.parametrize("script", SCRIPTS)
def test_an_option_that_is_not_there_is_refused_without_a_package(run_alone, script):
    done = run_alone(script, "--no-such-option")
    assert (done.returncode, done.stdout) == (2, "")
    *usage, sentence = done.stderr.splitlines()
    assert sentence.removeprefix("memtest: ").startswith(f"{Path(script).name}: error: ")
    assert "/" in script or (sentence.startswith("memtest: ") and not usage)


@pytest.mark.parametrize(
    ("script", "arguments", "said"),
    [
        ("build.py", ["nosuch@1"], "memtest/stacks.toml has no stack nosuch@1"),
        ("build.py", ["--campaign=mme"], "did you mean mem?"),
        ("compare.py", ["a", "b", "--by", "stakc", "x", "y"], "did you mean stack?"),
        ("compare_builds.py", ["--a=null@c"], "B= is missing"),
        ("compare_versions.py", ["--library=opnssl"], "did you mean openssl"),
        ("inspect_heaptrack.py", ["profile", "--flamegraph=x.png"], "a flamegraph file must end in .svg"),
        ("kernel_bytes.py", ["--pairs=0"], "argument --pairs: 0 is no whole number from 1 to 100000"),
        ("list_stacks.py", ["--stacks=opnssl@3.5.5"], "did you mean openssl@3.5.5"),
        ("measure.py", ["mem", "--suites=nosuch"], "no suite nosuch"),
        ("plan.py", ["memory", "--connections=0"], "at least 1"),
        ("profile_heap.py", ["--tool=nosuch"], "TOOL=nosuch must be"),
        ("tabulate.py", ["data", "--table=nosuch"], "argument --table: nosuch must be settings, "),
    ],
)
def test_a_wrong_argument_is_told_without_a_package(run_alone, script, arguments, said):
    done = run_alone(script, *arguments)
    assert (done.returncode, done.stdout) == (2, "") and said in done.stderr and "Traceback" not in done.stderr


def test_the_readme_lists_the_scripts():
    listed = re.findall(r"^\| `([\w/]+\.py)` \|", (TOOLS / "README.md").read_text(), re.MULTILINE)
    assert sorted(listed) == SCRIPTS


def test_the_schema_is_printed_from_outside_the_environment(run):
    assert json.loads(run("records.py", "--schema").stdout)["title"] == "Record"


@pytest.mark.parametrize("flags", [["--n=7"], ["--repeats=0"], ["--stacks=nosuch"], ["--suites=nosuch"]])
def test_the_bench_checks_its_flags_first(run, flags):
    done = run("dev/bench_meter.py", *flags)
    assert done.returncode == 2 and done.stderr.startswith("memtest: ") and done.stderr.count("\n") == 1
