"""Tests in forks of the process that has collected them: each is run once and reported, also if a worker dies."""

import os
import re
import subprocess
import sys

import pytest

from tlsmem.base.paths import ROOT

CONFTEST = """
from tests.support import forked_workers

def pytest_configure(config):
    config.pluginmanager.register(forked_workers.ForkedWorkers(2))
"""
SHARED = """
import os, time
from pathlib import Path
import pytest

@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    yield (made := tmp_path_factory.mktemp("shared"))
    (made.parents[1] / f"left-{os.getpid()}").touch()
"""
PASSING = f"""{SHARED}
def test_a_module_has_its_directory_once(folder):
    (folder / "first").touch()

def test_it_is_there_for_the_next(folder, tmp_path):
    assert (folder / "first").exists()
    assert tmp_path.parent == folder.parent

def test_the_other_file_runs_meanwhile(folder):
    here, other = sorted(("one", "two"), key=lambda name: name not in __name__)
    (folder.parents[1] / here).touch()
    for _ in range(600):
        if (folder.parents[1] / other).exists():
            break
        time.sleep(0.1)
    else:
        raise AssertionError("alone")

@pytest.mark.skip
def test_left_out(): pass
"""
FAILING = """
import os, signal

def test_fails():
    print("what it wrote")
    assert os.getpid() == 0

def test_passes(): pass

def test_dies():
    os.kill(os.getpid(), signal.SIGKILL)

def test_comes_after(): pass
"""


def run(folder, *words: str, **files: str) -> subprocess.CompletedProcess[str]:
    for name, text in ({"conftest": CONFTEST} | files).items():
        (folder / f"{name}.py").write_text(text)
    environment = os.environ | {"PYTHONPATH": str(ROOT / "tools"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--basetemp={folder}/base", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)


def test_files_run_side_by_side_and_each_sets_up_its_fixtures_once(tmp_path):
    done = run(tmp_path, test_one=PASSING, test_two=PASSING)
    assert re.search(r"\b6 passed, 2 skipped", done.stdout), done.stdout
    assert done.returncode == 0
    assert done.stdout.count("[100%]") == 1
    assert len(list((tmp_path / "base").glob("left-*"))) == 2, "fixtures are torn down in each worker"


def test_what_fails_is_shown_and_a_worker_that_dies_fails_its_test(tmp_path):
    done = run(tmp_path, test_bad=FAILING, test_good="def test_passes(): pass")
    assert re.search(r"\b2 failed, 2 passed", done.stdout), done.stdout
    assert done.returncode == 1
    assert "what it wrote" in done.stdout
    assert "the worker process died, with exit status -9; the rest of this file is not tested" in done.stdout


def test_after_as_many_failures_as_may_be_nothing_more_is_started(tmp_path):
    many = {f"test_{number}": "def test_fails(): assert 0\ndef test_passes(): pass" for number in range(40)}
    done = run(tmp_path, "-x", **many)
    assert re.search("stopping after [12] failures", done.stdout), done.stdout
    assert int(re.search(r"(\d+) failed", done.stdout)[1]) <= 4, "a worker may have begun its second file"
    assert "passed" not in done.stdout


@pytest.mark.parametrize("words", [["--co"], ["-k", "nothing"]])
def test_without_tests_to_run_none_is_forked(tmp_path, words):
    done = run(tmp_path, *words, test_one="def test_passes(): pass")
    assert done.returncode in (0, 5)
    assert "Error" not in done.stdout + done.stderr
