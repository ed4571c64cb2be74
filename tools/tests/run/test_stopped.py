"""A campaign that is stopped half-way, by a signal, a kill or a full disk: no finished run is lost."""

import os
import signal
import subprocess
import time
from functools import partial

import pytest

from tests.support import forked_command
from tlsmem.store import read_runs


def until(condition, what: str) -> None:
    """Waits; the limit is only there so that a fault ends the test."""
    for _ in range(600):
        if condition():
            return
        time.sleep(0.1)
    pytest.fail(f"waited in vain for {what}")


@pytest.mark.thorough
def test_a_runner_killed_half_way_loses_no_finished_run_and_goes_on(project):
    stacks = project.install("slow")
    words = [f"--stacks={stacks[0]}", "--suites=tls13-rsa-aes256", "--heap=0", "--repeats=3", "--n=20", "--out=out"]
    file = project.root / "out/slow@1.jsonl"
    runner = subprocess.Popen(project.command(*words), cwd=project.root, stderr=subprocess.PIPE, text=True)
    until(lambda: file.exists() and file.read_bytes().count(b"\n") >= 3, "three runs")
    runner.kill()
    runner.communicate()
    until(lambda: not project.processes(), "the harnesses to die with their runner")
    before = file.read_bytes()
    kept = project.recorded()
    again = forked_command.run(project.command(*words), cwd=project.root, drawn=False)
    assert again.returncode == 0, again.stderr
    assert f"9 runs, {len(kept)} already recorded in out, {9 - len(kept)} to go" in again.stderr
    assert file.read_bytes().startswith(before)
    assert len({run.key for run in project.recorded()}) == len(project.recorded()) == 9


@pytest.mark.thorough
def test_harnesses_die_with_a_runner_that_is_killed(project):
    stacks = project.install("hang")
    words = [f"--stacks={stacks[0]}", "--suites=tls13-rsa-aes256", "--n=20", "--out=out"]
    runner = subprocess.Popen(project.command(*words), cwd=project.root, stderr=subprocess.DEVNULL)
    until(lambda: len(project.processes()) == 2, "two harnesses in flight")
    left = project.processes()
    runner.kill()
    runner.wait()
    try:
        until(lambda: not project.processes(), "the harnesses to die with their runner")
    finally:
        for process in set(left) & set(project.processes()):
            os.kill(process, signal.SIGKILL)


@pytest.mark.thorough
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_stops_the_harnesses_and_says_how_to_go_on(project, number, status, snapshot):
    stacks = project.install("hang")
    words = [f"--stacks={stacks[0]}", "--suites=tls13-rsa-aes256", "--n=20", "--out=out"]
    default = partial(signal.signal, number, signal.SIG_DFL)  # under nohup these tests inherit it ignored
    runner = subprocess.Popen(
        project.command(*words), cwd=project.root, stderr=subprocess.PIPE, text=True, preexec_fn=default
    )
    until(lambda: len(project.processes()) == 2, "two harnesses in flight")
    runner.send_signal(number)
    _, stderr = runner.communicate()
    assert runner.returncode == status
    assert stderr.splitlines()[-1] == snapshot
    assert "Traceback" not in stderr
    assert project.processes() == []


@pytest.mark.thorough
def test_a_full_disk_stops_the_campaign_with_a_sentence(project, small_disk):
    stacks = project.install("obey")
    done = project.measure("--heap=0", "--repeats=20", f"--out={small_disk}", stacks=stacks, n=2)
    kept = read_runs.load(small_disk)
    assert 0 < len(kept) < 20
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith("No space left on device; what was recorded before is unchanged")
    assert "Traceback" not in done.stderr
    assert project.processes() == []
