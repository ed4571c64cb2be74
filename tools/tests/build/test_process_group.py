"""A command's process group: its exit, its output, and that nothing of it outlives whoever started it."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import check_kills
from tlsmem.base.paths import ROOT
from tlsmem.build import commands
from tlsmem.build.commands import BuildFailed
from tlsmem.build.process_group import ProcessGroup

KILLS = 8
# A build as make and ninja do it: a program that starts others, some in the background, some in groups of their own.
PROGRAM = f"""
import signal
import sys
sys.path[:0] = [{str(ROOT / "tools")!r}]
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests may have been started by nohup
from pathlib import Path
from tlsmem.base import termination
from tlsmem.build import commands
from tlsmem.cli.main import run
termination.end_on_signals()
print("begun", flush=True)
script = "(sleep 3601 & sleep 3601) & setsid sh -c 'sleep 3601 & sleep 3601' & sh -c 'sleep 3601 & sleep 3601'; echo"
run(lambda: commands.run(["sh", "-c", script], Path(sys.argv[1]), "sleeper", Path("/")))
"""


def run(tmp_path: Path, *command: str) -> str:
    commands.run(command, tmp_path / "log", "title", tmp_path)
    return (tmp_path / "log").read_text()


def test_output_goes_to_the_log(tmp_path):
    assert "said\nagain\n" in run(tmp_path, "sh", "-c", "echo said; echo again >&2")


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exit 3", "(exit 3)"),
        ("exit 127", "(exit 127)"),
        ("kill -SEGV $$", "(SIGSEGV)"),
        ("kill -KILL $$", "(SIGKILL)"),
    ],
    ids=["status", "status-of-a-missing-program", "signal", "kill"],
)
def test_a_failure_says_how_it_ended(tmp_path, script, said):
    with pytest.raises(BuildFailed) as error:
        run(tmp_path, "sh", "-c", script)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("program", "why"), [("no-such-program", "No such file"), ("/etc/passwd", "Permission denied")]
)
def test_a_program_that_cannot_be_run_is_said_to_be_so(tmp_path, program, why):
    with pytest.raises(BuildFailed) as error:
        run(tmp_path, program)
    assert "cannot be run" in str(error.value) and why in str(error.value)


def test_what_leads_a_session_of_its_own_and_has_lost_its_parent_ends_too(tmp_path):
    script = "(setsid sh -c 'sleep 3601 & echo ready > ready; wait' &); wait; sleep 3601"
    with open(tmp_path / "log", "wb") as log:
        group = ProcessGroup(["sh", "-c", script], tmp_path, os.environ | {"TMPDIR": str(tmp_path)}, log)
    while not (tmp_path / "ready").exists():
        time.sleep(0.01)
    assert len(check_kills.processes(str(tmp_path))) >= 4  # the leader, its shell, the other shell and its sleep
    group.kill()
    assert check_kills.processes(str(tmp_path)) == []


def test_a_descriptor_that_is_passed_reaches_the_command(tmp_path):
    there = "test -e /dev/fd/${MAKEFLAGS##*=*,} && echo tokens"
    assert "tokens\n" in run(tmp_path, "sh", "-c", there)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGHUP], ids=lambda one: one.name)
def test_nothing_outlives_a_build_that_is_killed_at_a_random_moment(tmp_path, number):
    """As `timeout` does it: SIGTERM twice, a moment apart."""
    chance = random.Random(7)
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    for at in range(KILLS):
        started = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, tmp_path / f"log{at}"], env=environment, stdout=subprocess.PIPE
        )
        assert started.stdout.readline() == b"begun\n"
        time.sleep(chance.random() / 4)
        for _ in range(2):
            started.send_signal(number)
            time.sleep(0.002)
        assert started.wait(60) in (-number, 128 + number)
        assert check_kills.survivors(str(tmp_path), 10) == []
