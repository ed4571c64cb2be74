"""The host's setting of huge pages is put back, however the runner ends; on a file that stands for the kernel's."""

import asyncio
import fcntl
import os
import signal
import subprocess
import sys
import time
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from tlsmem.base.errors import UserError
from tlsmem.config.run import SYSTEM, Run
from tlsmem.run import huge_pages
from tlsmem.run.cpu_slots import run_to_completion
from tlsmem.run.runner import Runner
from tlsmem.run.validate import Outcome
from tlsmem.schema import append_records

HOLDER = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from tlsmem.run import huge_pages
async def hold():
    async with huge_pages.enable_always(Path(sys.argv[1])):
        print("set", flush=True)
        await asyncio.sleep(3600)
asyncio.run(hold())
"""

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="not root")


@pytest.fixture
def setting(tmp_path: Path) -> Path:
    file = tmp_path / "enabled"
    file.write_text("always [madvise] never\n")
    return file


async def during(setting: Path, act=lambda: None) -> str:
    """The setting in the middle of `always`, when `act` is done."""
    async with huge_pages.enable_always(setting):
        act()
        return setting.read_text()


def keeper() -> int:
    return int(Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()[-1])


def kill_keeper() -> None:
    os.kill(keeper(), signal.SIGKILL)


def test_always_while_it_lasts(setting):
    assert asyncio.run(during(setting)) == "always"
    assert setting.read_text().strip() == "madvise"


def test_an_error_puts_it_back_too(setting):
    with pytest.raises(ZeroDivisionError):
        asyncio.run(during(setting, lambda: 1 // 0))
    assert setting.read_text().strip() == "madvise"


def test_without_its_keeper_the_runner_puts_it_back(setting):
    assert asyncio.run(during(setting, kill_keeper)) == "always"
    assert setting.read_text().strip() == "madvise"


def test_what_cannot_be_put_back_is_told_with_the_command(setting, monkeypatch):
    def hinder() -> None:
        kill_keeper()
        setting.unlink()
        setting.mkdir()  # which not even root writes to

    with pytest.raises(huge_pages.NotRestored, match=rf"put them back: echo madvise > {setting}$"):
        asyncio.run(during(setting, hinder))


def test_a_host_that_is_left_changed_is_exit_1_with_the_command(monkeypatch):
    @asynccontextmanager
    async def stuck():
        yield
        raise huge_pages.NotRestored("put them back: echo madvise > enabled")

    async def nothing(*_) -> Outcome:
        return Outcome("measured", None, [], "", 0)

    made = []
    runner = Runner(SimpleNamespace(record=lambda *_: "a record"), None)
    monkeypatch.setattr(huge_pages, "enable_always", stuck)
    monkeypatch.setattr(append_records, "append", lambda _, record: made.append(record))
    monkeypatch.setattr(runner, "run", nothing)
    monkeypatch.setattr(runner, "look_again", nothing)
    run = Run("null@c", "none", SYSTEM, "all", 20, "rss", 1, env="deployed-thp")
    with pytest.raises(UserError, match=r"^put them back: echo madvise > enabled$"):
        run_to_completion(runner.record_all([run], [0], Path("out")), "stopped")
    assert made == ["a record"]


def test_two_runners_take_turns(setting, capsys):
    """The second finds the host's own setting, not the first one's."""
    seen = []

    async def runner() -> None:
        async with huge_pages.enable_always(setting):
            seen.append(setting.read_text())
            await asyncio.sleep(0.5)
        seen.append(setting.read_text().strip())

    async def both() -> None:
        await asyncio.gather(runner(), runner())

    asyncio.run(both())
    assert seen == ["always", "madvise", "always", "madvise"]
    assert capsys.readouterr().err.count("waits for another runner") == 1


def test_runs_with_the_hosts_setting_wait_for_it(setting):
    async def untouched() -> str:
        async with (
            huge_pages.hold_unchanged(setting),
            huge_pages.hold_unchanged(setting),
        ):  # which do not exclude each other
            return setting.read_text().strip()

    async def both() -> list[str]:
        async with huge_pages.enable_always(setting):
            waiting = asyncio.create_task(untouched())
            await asyncio.sleep(0.3)
            assert not waiting.done()
        return await waiting

    assert asyncio.run(both()) == "madvise"


@pytest.mark.thorough
def test_the_keeper_of_a_killed_runner_holds_the_lock(setting):
    """Until it has put the old setting back; here it cannot, since it stands still."""
    command = [sys.executable, "-c", HOLDER, str(setting), str(Path(huge_pages.__file__).parents[2])]
    runner = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert runner.stdout.readline() == b"set\n"
    (kept,) = map(int, Path(f"/proc/{runner.pid}/task/{runner.pid}/children").read_text().split())
    os.kill(kept, signal.SIGSTOP)
    runner.kill()
    runner.wait()
    with setting.open() as file:
        with pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        os.kill(kept, signal.SIGCONT)
        fcntl.flock(file, fcntl.LOCK_SH)
    assert setting.read_text().strip() == "madvise"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_runner_that_is_killed_leaves_the_old_setting(setting, number):
    """Also when all that it has started gets the signal, as from a service manager, but for the one none is deaf to."""
    command = [sys.executable, "-c", HOLDER, str(setting), str(Path(huge_pages.__file__).parents[2])]
    runner = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert runner.stdout.readline() == b"set\n" and setting.read_text() == "always"
    for child in Path(f"/proc/{runner.pid}/task/{runner.pid}/children").read_text().split():
        os.kill(int(child), signal.SIGTERM if number == signal.SIGKILL else number)
    runner.send_signal(number)
    runner.wait(timeout=60)
    for _ in range(300):  # the keeper is a process of its own
        if setting.read_text().strip() == "madvise":
            break
        time.sleep(0.1)
    assert setting.read_text().strip() == "madvise"


def test_a_kernel_without_them_is_told_and_left_alone(tmp_path):
    none = tmp_path / "enabled"
    assert huge_pages.unavailable_reason(none) == "this kernel has no transparent huge pages"
    with pytest.raises(FileNotFoundError):
        asyncio.run(during(none))
    assert not none.exists()


def test_who_is_not_root_is_told(setting, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert huge_pages.unavailable_reason(setting) == "only root can set transparent huge pages to always"


def test_looking_whether_it_can_be_set_changes_nothing(setting):
    assert huge_pages.unavailable_reason(setting) is None
    assert setting.read_text() == "always [madvise] never\n"
