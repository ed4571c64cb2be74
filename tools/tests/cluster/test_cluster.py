"""A campaign on a cluster of two workers: real schedulers, workers and harnesses, of which one worker is killed."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tlsmem.base import venv
from tlsmem.run import heap_tree
from tlsmem.schema.records import record_cell_key

DASK = Path(sys.prefix) / "bin/dask"


def until(condition, what):
    """Waits; the limit is only there so that a fault ends the test."""
    for _ in range(1200):
        if condition():
            return
        time.sleep(0.05)
    pytest.fail(f"waited in vain for {what}")


@pytest.fixture
def clone(project):
    """A project with the packages of a cluster."""
    (project.root / venv.CLUSTER).symlink_to(sys.prefix)
    return project


@contextlib.contextmanager
def run_in_background(words: list, folder: Path) -> Iterator[subprocess.Popen]:
    """A process, which is gone afterwards with all that it started."""
    with (folder / f"log-{time.monotonic_ns()}").open("w") as log:
        process = subprocess.Popen(words, cwd=folder, stdout=log, stderr=log, start_new_session=True)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextlib.contextmanager
def scheduler(folder: Path) -> Iterator[str]:
    """The address of a scheduler on a port that is free."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = [DASK, "scheduler", "--host=127.0.0.1", f"--port={port}", "--no-dashboard"]
    with run_in_background(words, folder):
        until(lambda: is_open(port), "the scheduler")
        yield f"tcp://127.0.0.1:{port}"


def is_open(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def worker(project, address: str):
    return run_in_background([sys.executable, project.root / "tools/worker.py", address], project.root)


def count_workers(address: str) -> int:
    from distributed import Client

    with Client(address, set_as_default=False) as client:
        return len(client.scheduler_info(n_workers=-1)["workers"])


def measuring_child(project, supervisor: int) -> int | None:
    """The worker below this supervisor that has a harness running."""
    parents = {heap_tree.parent(pid) for pid in project.processes()}
    return next((pid for pid in parents if heap_tree.parent(pid) == supervisor), None)


def sleeps(pid: int) -> bool:
    """Whether a process waits for time to go by."""
    return "nanosleep" in Path(f"/proc/{pid}/wchan").read_text()


def campaign(project, address: str, *words: str) -> list[str]:
    base = ("--suites=tls13-rsa-aes256", "--heap=0", "--n=20", "--out=out", f"--cluster={address}")
    return project.command(*base, *words)


def test_every_run_is_recorded_once_though_a_worker_is_killed_three_times(clone):
    (stack,) = clone.install("slow")
    with scheduler(clone.root) as address, worker(clone, address) as victim, worker(clone, address):
        until(lambda: count_workers(address) == 2, "two workers")
        words = campaign(clone, address, f"--stacks={stack}", "--repeats=12")
        asking = subprocess.Popen(words, cwd=clone.root, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(3):
            until(lambda: measuring_child(clone, victim.pid), "a run of the worker that is to die")
            child = measuring_child(clone, victim.pid)
            harnesses = {pid for pid in clone.processes() if heap_tree.parent(pid) == child}
            os.kill(child, signal.SIGKILL)
            until(lambda gone=harnesses: not gone & set(clone.processes()), "its harness to die with it")
        out, err = asking.communicate(timeout=120)
        assert asking.returncode == 0, out + err
    runs = clone.recorded()
    assert [run.status for run in runs] == ["measured"] * 36
    assert len({record_cell_key(run) for run in runs}) == 36
    assert clone.processes() == []


def test_a_harness_dies_with_its_worker(clone):
    """One that hangs: it would be there still."""
    (stack,) = clone.install("hang")
    with scheduler(clone.root) as address, worker(clone, address) as victim:
        until(lambda: count_workers(address) == 1, "the worker")
        with run_in_background(campaign(clone, address, f"--stacks={stack}"), clone.root):
            until(lambda: measuring_child(clone, victim.pid), "a run")
            child = measuring_child(clone, victim.pid)
            harnesses = {pid for pid in clone.processes() if heap_tree.parent(pid) == child}
            until(
                lambda: all(map(sleeps, harnesses)), "it to hang"
            )  # sooner, it would end by itself: its pipes are gone
            os.kill(child, signal.SIGKILL)
            until(lambda: not harnesses & set(clone.processes()), "its harness to die with it")
    until(lambda: not clone.processes(), "the next worker's harness to die too")


def test_a_run_goes_to_no_worker_with_another_build(clone):
    """The second of two stacks is built anew after the worker has begun: the first is measured, the second is not."""
    same, other = clone.install("obey", "obey2")
    with scheduler(clone.root) as address, worker(clone, address):
        until(lambda: count_workers(address) == 1, "the worker")
        clone.add(other, clone.pretender() + b"# built anew\n")
        definitions = clone.root / "memtest/stacks.toml"
        definitions.write_text(definitions.read_text().rpartition(f'["{other}"]')[0])  # which add wrote once more
        refused = subprocess.run(
            campaign(clone, address, f"--stacks={same} {other}"), cwd=clone.root, capture_output=True, text=True
        )
        done = subprocess.run(
            campaign(clone, address, f"--stacks={same}"), cwd=clone.root, capture_output=True, text=True
        )
    assert refused.returncode == 1
    assert re.search(r"gets no run of obey2@1: its build is [0-9a-f]{12}, not [0-9a-f]{12}\n", refused.stderr)
    assert "no worker has this clone's build of obey2@1" in refused.stderr
    assert done.returncode == 0, done.stderr
    assert {run.stack for run in clone.recorded()} == {same}


def test_a_scheduler_that_does_not_answer_is_a_sentence(clone):
    (stack,) = clone.install("obey")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = campaign(clone, f"tcp://127.0.0.1:{port}", f"--stacks={stack}")
    refused = subprocess.run(words, cwd=clone.root, capture_output=True, text=True)
    assert refused.returncode == 1
    assert f"--cluster tcp://127.0.0.1:{port}: no scheduler answers there" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_what_listens_and_says_nothing_is_no_scheduler(clone):
    """Without a limit of its own the command waits for ever."""
    (stack,) = clone.install("obey")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        words = campaign(clone, f"tcp://127.0.0.1:{silent.getsockname()[1]}", f"--stacks={stack}")
        refused = subprocess.run(words, cwd=clone.root, capture_output=True, text=True, timeout=60)
    assert refused.returncode == 1
    assert "no scheduler answers there: it said nothing" in refused.stderr


def test_a_worker_without_a_scheduler_is_a_sentence(clone):
    clone.install("obey")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = [sys.executable, clone.root / "tools/worker.py", f"tcp://127.0.0.1:{port}"]
    refused = subprocess.run(words, cwd=clone.root, capture_output=True, text=True)
    assert refused.returncode == 1
    assert f"tcp://127.0.0.1:{port}: no scheduler answers there" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_cluster_without_workers_is_a_sentence(clone):
    (stack,) = clone.install("obey")
    with scheduler(clone.root) as address:
        refused = subprocess.run(
            campaign(clone, address, f"--stacks={stack}"), cwd=clone.root, capture_output=True, text=True
        )
    assert refused.returncode == 1
    assert "no workers; start one on each machine: tools/worker.py" in refused.stderr
