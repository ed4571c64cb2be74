"""What a killed command leaves behind is removed by the next one; what a living process has locked stays."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tlsmem.base.paths import ROOT
from tlsmem.monitor import program_list
from tlsmem.run.stale_files import make_locked, remove_stale

HOLDER = """
import sys, tempfile, time
from pathlib import Path
from tlsmem.run.stale_files import make_locked

path, lock = make_locked(lambda: Path(tempfile.mkdtemp(prefix="mine.", dir=sys.argv[1])))
(path / "file").touch()
print(path, flush=True)
time.sleep(60)
"""


def test_a_killed_commands_directory_is_removed_and_a_living_ones_stays(tmp_path):
    words = [sys.executable, "-c", HOLDER, tmp_path]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=ROOT / "tools") as holder:
        path = Path(holder.stdout.readline().strip())
        remove_stale(tmp_path, "mine.")
        assert (path / "file").exists()
        os.kill(holder.pid, signal.SIGKILL)
    (tmp_path / "yours.1").mkdir()
    remove_stale(tmp_path, "mine.")
    assert [one.name for one in tmp_path.iterdir()] == ["yours.1"]


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "mine.1").symlink_to(tmp_path / "kept")
    remove_stale(tmp_path, "mine.")
    assert (tmp_path / "kept").is_dir() and (tmp_path / "mine.1").is_symlink()


def test_what_is_removed_before_it_is_locked_is_made_again(tmp_path):
    paths = []

    def make() -> Path:
        paths.append(Path(tempfile.mkdtemp(dir=tmp_path)))
        if len(paths) == 1:
            paths[0].rmdir()
        return paths[-1]

    path, lock = make_locked(make)
    os.close(lock)
    assert len(paths) == 2 and path == paths[1] and path.is_dir()


@pytest.fixture
def pages(monkeypatch, tmp_path):
    monkeypatch.setattr(program_list.heap_page, "PAGES_FOLDER", tmp_path)
    return tmp_path


def test_a_new_list_of_programs_removes_one_that_nobody_has_locked(pages):
    (pages / f"{program_list.PREFIX}dead").touch()
    first = program_list.ProgramList()
    second = program_list.ProgramList()
    assert {one.path for one in (first, second)} == set(pages.iterdir())
    first.remove()
    second.remove()
    assert not list(pages.iterdir())
