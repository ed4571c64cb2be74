"""A campaign on a cluster of two workers: real schedulers, workers and harnesses, of which one worker is killed."""

import contextlib
import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.support.commands import command_line
from tlsmem.base import venv
from tlsmem.cli import cluster_connection
from tlsmem.monitor.tree import parent
from tlsmem.schema.records import record_cell_key


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
def scheduler(clone, tls: Path | None = None, started: list | None = None) -> Iterator[str]:
    """The address of a scheduler on a port that is free; its process goes into `started`."""
    port = free_port()
    address = f"{'tls' if tls else 'tcp'}://127.0.0.1:{port}"
    with run_in_background(words_of(clone, "scheduler", address, tls), clone.root) as process:
        until(lambda: is_open(port), "the scheduler")
        (started if started is not None else []).append(process)
        yield address


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def words_of(clone, command: str, address: str, tls: Path | None = None) -> list:
    return [*command_line(f"measure {command}", clone.root), address, *([f"--tls={tls}"] if tls else [])]


def is_open(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def worker(clone, address: str, tls: Path | None = None):
    return run_in_background(words_of(clone, "worker", address, tls), clone.root)


def count_workers(address: str, tls: Path | None = None) -> int:
    from distributed import Client

    security = cluster_connection.read_security(address, tls, "client")
    with Client(address, set_as_default=False, security=security) as client:
        return len(client.scheduler_info(n_workers=-1)["workers"])


def measuring_child(project, supervisor: int) -> int | None:
    """The worker below this supervisor that has a harness running."""
    parents = {parent(pid) for pid in project.processes()}
    return next((pid for pid in parents if parent(pid) == supervisor), None)


def sleeps(pid: int) -> bool:
    """Whether a process waits for time to go by."""
    return "nanosleep" in Path(f"/proc/{pid}/wchan").read_text()


def campaign(project, address: str, *words: str) -> list[str]:
    base = ("--suites=tls13-rsa-aes256", "--heap=0", "--n=20", "--out=out", f"--cluster={address}")
    return project.command(*base, *words)


def test_every_run_is_recorded_once_though_a_worker_is_killed_three_times(clone):
    (stack,) = clone.install("slow")
    with scheduler(clone) as address, worker(clone, address) as victim, worker(clone, address):
        until(lambda: count_workers(address) == 2, "two workers")
        words = campaign(clone, address, f"--stacks={stack}", "--repeats=12")
        asking = subprocess.Popen(words, cwd=clone.root, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(3):
            until(lambda: measuring_child(clone, victim.pid), "a run of the worker that is to die")
            child = measuring_child(clone, victim.pid)
            harnesses = {pid for pid in clone.processes() if parent(pid) == child}
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
    with scheduler(clone) as address, worker(clone, address) as victim:
        until(lambda: count_workers(address) == 1, "the worker")
        with run_in_background(campaign(clone, address, f"--stacks={stack}"), clone.root):
            until(lambda: measuring_child(clone, victim.pid), "a run")
            child = measuring_child(clone, victim.pid)
            harnesses = {pid for pid in clone.processes() if parent(pid) == child}
            until(
                lambda: all(map(sleeps, harnesses)), "it to hang"
            )  # sooner, it would end by itself: its pipes are gone
            os.kill(child, signal.SIGKILL)
            until(lambda: not harnesses & set(clone.processes()), "its harness to die with it")
    until(lambda: not clone.processes(), "the next worker's harness to die too")


def test_a_run_goes_to_no_worker_with_another_build(clone):
    """The second of two stacks is built anew after the worker has begun: the first is measured, the second is not."""
    same, other = clone.install("obey", "obey2")
    with scheduler(clone) as address, worker(clone, address):
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
    port = free_port()
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
    assert "no scheduler answers there: no reply within" in refused.stderr


def test_a_worker_without_a_scheduler_is_a_sentence(clone):
    clone.install("obey")
    port = free_port()
    words = [sys.executable, clone.root / "tools/tls-memtest", "measure", "worker", f"tcp://127.0.0.1:{port}"]
    refused = subprocess.run(words, cwd=clone.root, capture_output=True, text=True)
    assert refused.returncode == 1
    assert f"tcp://127.0.0.1:{port}: no scheduler answers there" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_cluster_without_workers_is_a_sentence(clone):
    (stack,) = clone.install("obey")
    with scheduler(clone) as address:
        refused = subprocess.run(
            campaign(clone, address, f"--stacks={stack}"), cwd=clone.root, capture_output=True, text=True
        )
    assert refused.returncode == 1
    assert "no workers; start one on each machine: tools/tls-memtest measure worker" in refused.stderr


def listening(process: subprocess.Popen) -> dict[int, str]:
    """The ports at which a process and all that it started listen, and the address of each."""
    whole = psutil.Process(process.pid)
    found = [one for each in (whole, *whole.children(recursive=True)) for one in each.net_connections(kind="inet")]
    return {one.laddr.port: one.laddr.ip for one in found if one.status == psutil.CONN_LISTEN}


def http_status(port: int, path: str) -> int:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def test_a_scheduler_and_a_worker_listen_where_the_other_is_and_serve_no_pages(clone):
    clone.install("obey")
    started = []
    with scheduler(clone, started=started) as address, worker(clone, address) as supervisor:
        until(lambda: count_workers(address) == 1, "the worker")
        ends = listening(started[0]), listening(supervisor)
        assert [len(end) for end in ends] == [2, 3]  # each an HTTP port; of the worker, its supervisor's too
        assert {ip for end in ends for ip in end.values()} == {"127.0.0.1"}
        pages = {
            "/health",
            "/metrics",
            "/status",
            "/info/main/workers.html",
            "/json/counts.json",
            "/statics/css/base.css",
        }
        answers = {}
        for end in ends:
            for port in end:
                with contextlib.suppress(OSError, http.client.HTTPException):  # Dask's own protocol
                    answers[port] = {http_status(port, page) for page in pages}
        assert list(answers.values()) == [{404}] * 2


def test_a_campaign_over_tls_is_recorded_and_no_other_certificate_gets_in(clone):
    (stack,) = clone.install("obey")
    tls, other = clone.root / "cluster.pem", clone.root / "other.pem"
    cluster_connection.make_certificate(other)
    with scheduler(clone, tls) as address, worker(clone, address, tls):
        assert tls.stat().st_mode & 0o777 == 0o600
        until(lambda: count_workers(address, tls) == 1, "the worker")
        refused = {
            way_in: subprocess.run(
                campaign(clone, address, f"--stacks={stack}", *words), cwd=clone.root, capture_output=True, text=True
            )
            for way_in, words in (("other", [f"--tls={other}"]), ("none", []))
        }
        plain = subprocess.run(
            campaign(clone, address.replace("tls:", "tcp:"), f"--stacks={stack}"),
            cwd=clone.root,
            capture_output=True,
            text=True,
        )
        intruder = subprocess.run(words_of(clone, "worker", address, other), capture_output=True, text=True)
        assert not [*clone.root.glob("out/*.jsonl")]
        done = subprocess.run(
            campaign(clone, address, f"--stacks={stack}", f"--tls={tls}"),
            cwd=clone.root,
            capture_output=True,
            text=True,
        )
    assert done.returncode == 0, done.stderr
    assert {run.status for run in clone.recorded()} == {"measured"}
    for one in (*refused.values(), plain, intruder):
        assert one.returncode == 1
        assert "Traceback" not in one.stderr
    assert "needs the cluster's certificate: give --tls FILE" in refused["none"].stderr
    for one in (refused["other"], plain, intruder):
        assert "no scheduler answers there" in one.stderr


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:99999", "tcp://127.0.0.1:0", f"tcp://{'a' * 64}.example:8786", "tcp://a..b:8786"]
)
def test_what_is_no_address_is_refused_before_anything_listens(clone, address):
    for command in ("scheduler", "worker"):
        refused = subprocess.run(words_of(clone, command, address), cwd=clone.root, capture_output=True, text=True)
        assert refused.returncode == 2
        assert "is not a scheduler address" in refused.stderr and "Traceback" not in refused.stderr


def test_no_certificate_is_made_for_an_address_without_tls(clone):
    words = words_of(clone, "scheduler", f"tcp://127.0.0.1:{free_port()}", clone.root / "cluster.pem")
    refused = subprocess.run(words, cwd=clone.root, capture_output=True, text=True, timeout=60)
    assert refused.returncode == 1 and "has no TLS; write tls://" in refused.stderr
    assert not (clone.root / "cluster.pem").exists()


def test_a_certificate_of_an_impossible_name_is_a_sentence(clone):
    words = words_of(clone, "scheduler", f"tls://127.0.0.1:{free_port()}", clone.root / ("a" * 300))
    refused = subprocess.run(words, cwd=clone.root, capture_output=True, text=True, timeout=60)
    assert refused.returncode == 1
    assert "File name too long" in refused.stderr and "Traceback" not in refused.stderr


@pytest.mark.parametrize(
    ("address", "mode", "content", "sentence"),
    [
        ("tcp://127.0.0.1:{port}", 0o600, None, "has no TLS; write tls://"),
        ("tls://127.0.0.1:{port}", 0o640, None, "other users may read this private key; `chmod 600"),
        ("tls://127.0.0.1:{port}", 0o600, "nothing\n", "not a private key with its certificate"),
        ("tcp://0.0.0.0:{port}", 0o600, "", "means every interface of this machine"),
        ("tcp://[::]:{port}", 0o600, "", "means every interface of this machine"),
        ("tcp://192.0.2.77:{port}", 0o600, "", "give an address of this machine"),
    ],
    ids=["file-without-tls", "readable-key", "no-key", "every-v4", "every-v6", "elsewhere"],
)
def test_a_scheduler_that_would_be_open_is_a_sentence(clone, address, mode, content, sentence):
    tls = clone.root / "cluster.pem"
    cluster_connection.make_certificate(tls)
    if content:
        tls.write_text(content)
    tls.chmod(mode)
    words = words_of(clone, "scheduler", address.format(port=free_port()), tls if content != "" else None)
    refused = subprocess.run(words, cwd=clone.root, capture_output=True, text=True, timeout=60)
    assert refused.returncode == 1
    assert sentence in refused.stderr
    assert "Traceback" not in refused.stderr
