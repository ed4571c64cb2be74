"""One harness process: its environment, its end, and what is left of it."""

import asyncio
import os
import signal
import stat
import struct
import subprocess
import time
from pathlib import Path

import pytest

from tlsmem.base.errors import UserError
from tlsmem.base.paths import ROOT
from tlsmem.config.definitions import Allocator
from tlsmem.run import harness, heap_page
from tlsmem.run.preload import allocator_record, find_library, run_variables

NULL = "build/harness/null@c"
NONE = ["protocol=none", "cipher=none", "group=none", "certs=none", "auth=none"]


def run(*argv: str, limit_s: float = 60, **environment: str) -> harness.Outcome:
    return asyncio.run(harness.run(list(argv), environment, limit_s))


def script(folder: Path, text: str) -> str:
    file = folder / "script"
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return str(file)


def gone(pid: int) -> bool:
    """Waits a little: a signal sent is not yet a process ended."""
    for _ in range(100):
        if not heap_page.is_alive(pid):
            return True
        time.sleep(0.1)
    return False


def test_a_harness_has_no_environment_but_what_it_is_given(tmp_path, monkeypatch):
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.arena_max=1")
    outcome = run(script(tmp_path, "env | sort | tr '\\n' ' ' >&2; exit 1"), MALLOC_CONF="decay:0")
    assert "GLIBC_TUNABLES" not in outcome.reason
    assert "MALLOC_CONF=decay:0" in outcome.reason


def test_the_page_of_the_heap_meter_is_removed(tmp_path):
    run(script(tmp_path, f"echo $$ > {tmp_path}/pid; touch /dev/shm/heapmeter.$$"))
    page = Path("/dev/shm", f"heapmeter.{(tmp_path / 'pid').read_text().strip()}")
    assert not page.exists()


def test_children_of_a_script_that_hangs_are_killed_too(tmp_path):
    outcome = run(script(tmp_path, f"sleep 3600 & echo $! > {tmp_path}/pid; wait"), limit_s=1)
    assert outcome.reason == "killed at the time limit of 1 s"
    assert gone(int((tmp_path / "pid").read_text()))


def page(pid: int, magic: int = heap_page.PAGE_MAGIC) -> bytes:
    return struct.pack("=QI", magic, pid).ljust(heap_page.PAGE_BYTES, b"\0")


def test_pages_of_the_dead_are_swept_and_nothing_else(tmp_path):
    dead = subprocess.Popen(["true"])  # a zombie until it is waited for
    os.waitid(os.P_PID, dead.pid, os.WEXITED | os.WNOWAIT)
    kept = {f"heapmeter.{os.getpid()}": page(os.getpid()), "heapmeter.1234567": page(1234566)}
    kept |= {"heapmeter.99999999": page(99999999, magic=1), "heapmeter.99999998": page(99999998) + b"more"}
    kept |= {"heapmeter.1234567.1": page(1234566), f"heapmeter.{os.getpid()}.1": page(os.getpid())}
    swept = {f"heapmeter.{dead.pid}": page(dead.pid), "heapmeter.99999997": page(99999997)}
    swept |= {"heapmeter.99999997.5000000000": page(99999997)}  # set aside at an exec
    for name, content in (kept | swept).items():
        (tmp_path / name).write_bytes(content)
    heap_page.remove_stale_pages(tmp_path)
    dead.wait()
    assert {file.name for file in tmp_path.iterdir()} == set(kept)


def test_pages_of_a_harness_s_children_are_removed(tmp_path):
    made = tmp_path / "page"
    made.write_bytes(page(99999996))
    run(script(tmp_path, f"cp {made} /dev/shm/heapmeter.99999996"))
    assert not Path("/dev/shm/heapmeter.99999996").exists()


@pytest.mark.thorough
def test_a_flood_ends_at_once(tmp_path):
    outcome = run(script(tmp_path, "cat /dev/zero"))
    assert outcome.reason == "killed: it printed more than 16 MiB"
    assert run(script(tmp_path, "cat /dev/zero >&2")).reason == outcome.reason


def test_an_orphan_that_holds_the_pipe_is_not_waited_for(tmp_path):
    outcome = run(script(tmp_path, f"setsid sh -c 'echo $$ > {tmp_path}/pid; exec sleep 3600' & sleep 0.5; exit 1"))
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    assert outcome.reason == "exit 1: no word on stderr"


def test_children_that_outlive_a_script_are_killed(tmp_path):
    run(script(tmp_path, f"sleep 3600 & echo $! > {tmp_path}/pid"))
    assert gone(int((tmp_path / "pid").read_text()))


@pytest.mark.parametrize(("text", "reason"), [(None, "No such file"), ("", "Permission denied")])
def test_what_cannot_be_started_is_a_reason(tmp_path, text, reason):
    if text is not None:
        (tmp_path / "harness").write_text(text)
    outcome = run(str(tmp_path / "harness"))
    assert outcome.status == "failed"
    assert outcome.reason.startswith(f"cannot be started: {reason}")


@pytest.mark.skipif(not Path(ROOT, NULL).exists(), reason="null@c is not built")
@pytest.mark.parametrize("meter", ["rss", "heap"])
def test_the_null_stack_is_measured(meter):
    system = Allocator()
    environment = run_variables(meter, allocator_record("system", system), system)
    outcome = run(NULL, "memory", "sessions=20", *NONE, **environment)
    assert (outcome.status, outcome.reason, outcome.run.meter) == ("measured", None, meter)
    if meter == "heap":
        sessions = next(phase for phase in outcome.phases if phase.phase == "sessions")
        assert (sessions.heap.client.live_bytes, sessions.heap.client.live_blocks) == (10 * 4072, 10 * 3)


def test_an_allocator_is_found_with_version_and_settings(monkeypatch):
    libc = Allocator(library="libc.so.6", package="libc6", settings="MALLOC_ARENA_MAX")
    monkeypatch.setenv("MALLOC_ARENA_MAX", "1")
    record = allocator_record("libc", libc)
    assert Path(record.library).name == "libc.so.6"
    assert record.settings == "1"
    assert run_variables("rss", record, libc) == {"LD_PRELOAD": record.library, "MALLOC_ARENA_MAX": "1"}
    assert (record.version is None) == (not os.path.exists("/var/lib/dpkg"))


def test_an_allocator_that_is_not_there_names_its_package():
    assert find_library("libnowhere.so.9") is None
    with pytest.raises(UserError, match=r"allocator nowhere: no libnowhere\.so\.9 .*: apt install libnowhere9"):
        allocator_record("nowhere", Allocator(library="libnowhere.so.9", package="libnowhere9"))
