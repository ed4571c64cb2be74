"""A script that is run as it stands finds the project's environment, or says how to make one."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tlsmem.base import venv
from tlsmem.base.paths import ROOT

SCRIPT = """#!/usr/bin/env python3
import os, sys
from tlsmem.base import venv
from tlsmem.cli.main import run

def main():
    venv.activate()
    print(sys.prefix, os.getcwd(), sys.argv[1:], sep="|")

run(main)
"""


@pytest.fixture
def clone(tmp_path):
    """A repository with one tool and no environment; its name holds a space."""
    tools = tmp_path / "a clone" / "tools"
    tools.mkdir(parents=True)
    shutil.copytree(ROOT / "tools/tlsmem/base", tools / "tlsmem/base")
    (tools / "tlsmem/cli").mkdir()
    for name in ("__init__.py", "main.py"):
        shutil.copy(ROOT / "tools/tlsmem/cli" / name, tools / "tlsmem/cli")
    (tools / "tool.py").write_text(SCRIPT)
    return tools.parent


def run(clone, *arguments, where="/"):
    outside = Path(sys.base_prefix) / "bin/python3"
    return subprocess.run([outside, clone / "tools/tool.py", *arguments], cwd=where, capture_output=True, text=True)


def install(clone):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", clone / ".venv"], check=True)


def test_without_an_environment_one_sentence_says_what_to_do(clone):
    done = run(clone)
    assert done.returncode == 2 and "make setup" in done.stderr and done.stderr.count("\n") == 1


OTHER = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


@pytest.mark.skipif(os.getuid() != 0 or not shutil.which("setpriv"), reason="only root can become another user")
def test_a_python_out_of_reach_is_not_told_as_packages_that_are_not_installed(clone, tmp_path):
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    (private / "python").symlink_to(sys.executable)
    (clone / ".venv/bin").mkdir(parents=True)
    (clone / ".venv/ready").touch()
    (clone / ".venv/bin/python").symlink_to(private / "python")
    for place in (clone, *clone.parents[: len(clone.parents) - 2]):
        place.chmod(0o755)
    done = subprocess.run(
        [*OTHER, "/usr/bin/python3", clone / "tools/tool.py"], cwd="/", capture_output=True, text=True
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1) and "you may not" in done.stderr


def test_a_python_that_is_gone_is_named_with_the_way_to_a_new_environment(clone):
    (clone / ".venv/bin").mkdir(parents=True)
    (clone / ".venv/ready").touch()
    (clone / ".venv/bin/python").symlink_to("/no/such/python")
    done = run(clone)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert f"rm -r '{clone}/.venv'; make setup" in done.stderr


@pytest.mark.skipif(os.getuid() != 0 or not shutil.which("setpriv"), reason="only root can become another user")
def test_an_environment_that_the_user_may_not_read_is_no_missing_one(clone, tmp_path):
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    (clone / ".venv").symlink_to(private / "venv")
    for place in (clone, *clone.parents[: len(clone.parents) - 2]):
        place.chmod(0o755)
    command = [*OTHER, Path(sys.base_prefix) / "bin/python3", clone / "tools/tool.py"]
    done = subprocess.run(command, cwd="/", capture_output=True, text=True)
    assert done.returncode == 2 and "Traceback" not in done.stderr and done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"memtest: {clone / '.venv'}: you may not read the Python packages there")


@pytest.mark.parametrize(("columns", "left"), [("0", None), ("00", None), ("", None), ("80", "80"), ("08", "08")])
def test_a_width_of_nothing_is_unset_since_tables_would_be_empty(monkeypatch, columns, left):
    monkeypatch.setenv("COLUMNS", columns)
    venv.activate()
    assert os.environ.get("COLUMNS") == left


def test_an_environment_that_is_half_made_is_none(clone):
    install(clone)
    assert run(clone).returncode == 2


@pytest.mark.parametrize("kind, said", [("KeyboardInterrupt", ""), ("ValueError", "ValueError: why")])
def test_an_interrupt_at_whatever_moment_is_no_traceback_and_ends_by_its_signal(kind, said):
    script = f"from tlsmem.base import venv; venv.activate(); raise {kind}('why')"
    done = subprocess.run([sys.executable, "-c", script], cwd=venv.ROOT / "tools", capture_output=True, text=True)
    assert done.returncode == (-signal.SIGINT if kind == "KeyboardInterrupt" else 1)
    assert (done.stderr == "") == (not said) and said in done.stderr


def test_with_one_the_script_runs_in_it_with_its_arguments_and_directory(clone, tmp_path):
    install(clone)
    (clone / ".venv/ready").touch()
    prefix, where, arguments = run(clone, "a b", "--c", where=tmp_path).stdout.strip().split("|")
    assert prefix == str(clone / ".venv") and where == os.path.realpath(tmp_path) and arguments == "['a b', '--c']"


def test_a_python_without_site_does_not_start_again_forever(tmp_path):
    (tmp_path / ".venv/bin").mkdir(parents=True)
    (tmp_path / ".venv/ready").touch()
    (tmp_path / ".venv/bin/python").symlink_to(sys.executable)
    words = f"import pathlib; from tlsmem.base import venv; venv.activate(pathlib.Path({str(tmp_path)!r}))"
    command = [sys.executable, "-S", "-c", words]
    done = subprocess.run(command, cwd=ROOT / "tools", capture_output=True, text=True, check=False, timeout=20)
    assert done.returncode == 1 and "python -S finds no package; leave -S out" in done.stderr
