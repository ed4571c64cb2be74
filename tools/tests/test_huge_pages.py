"""The host's setting of huge pages is put back, however the runner ends; on a file that stands for the kernel's."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import huge_pages

HOLDER = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[2])
import huge_pages
with huge_pages.always(Path(sys.argv[1])):
    print("set", flush=True)
    time.sleep(3600)
"""

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="not root")


@pytest.fixture
def setting(tmp_path: Path) -> Path:
    file = tmp_path / "enabled"
    file.write_text("always [madvise] never\n")
    return file


def test_always_while_it_lasts(setting):
    with huge_pages.always(setting):
        assert setting.read_text() == "always"
    assert setting.read_text().strip() == "madvise"


def test_an_error_puts_it_back_too(setting):
    with pytest.raises(RuntimeError), huge_pages.always(setting):
        raise RuntimeError
    assert setting.read_text().strip() == "madvise"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_runner_that_is_killed_leaves_the_old_setting(setting, number):
    """Also when all that it has started gets the signal, as from a service manager, but for the one none is deaf to."""
    command = [sys.executable, "-c", HOLDER, str(setting), str(Path(huge_pages.__file__).parent)]
    runner = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert runner.stdout.readline() == b"set\n" and setting.read_text() == "always"
    for child in Path(f"/proc/{runner.pid}/task/{runner.pid}/children").read_text().split():
        os.kill(int(child), signal.SIGTERM if number == signal.SIGKILL else number)
    runner.send_signal(number)
    runner.wait()
    for _ in range(300):  # the keeper is a process of its own
        if setting.read_text().strip() == "madvise":
            break
        time.sleep(0.1)
    assert setting.read_text().strip() == "madvise"


def test_a_kernel_without_them_is_told_and_left_alone(tmp_path):
    none = tmp_path / "enabled"
    assert huge_pages.unavailable(none) == "this kernel has no transparent huge pages"
    with huge_pages.always(none):
        assert not none.exists()


def test_who_is_not_root_is_told(setting, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert huge_pages.unavailable(setting) == "only root can set transparent huge pages to always"


def test_looking_whether_it_can_be_set_changes_nothing(setting):
    assert huge_pages.unavailable(setting) is None
    assert setting.read_text().strip() == "madvise"
