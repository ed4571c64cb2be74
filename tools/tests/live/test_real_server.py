"""A real nginx, as the package has it: exact live heap, nothing left of it, and nothing left running. As root."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tlsmem.base.paths import ROOT
from tlsmem.live.cgroup import FIRST, MemoryGroup
from tlsmem.live.child import start_child
from tlsmem.live.servers import SEARCHED
from tlsmem.schema.live_records import load_live
from tlsmem.stats import live_costs

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces and memory cgroups need root"),
    pytest.mark.skipif(not shutil.which("nginx", path=SEARCHED), reason="nginx is not installed"),
]


def live(recording: Path, *options: str) -> subprocess.CompletedProcess[str]:
    words = [
        sys.executable,
        ROOT / "tools/tls-memtest",
        "measure",
        "live",
        "--server=nginx",
        "--n=30,60",
        "--idle=0s",
        "--settle=0s",
    ]
    return subprocess.run([*words, f"--out={recording}", *options], capture_output=True, text=True, check=False)


def find_left_groups() -> list[Path]:
    """Groups whose command has ended; those of commands that run beside this test are not counted."""
    return [group for group in FIRST.glob("memtest-*") if not Path("/proc", group.name.split("-")[1]).exists()]


def test_connections_cost_the_same_whole_number_and_leave_nothing(tmp_path):
    before = find_left_groups()
    done = live(tmp_path, "--window=all", "--waves=1")
    assert done.returncode == 0, done.stderr
    runs = load_live(tmp_path)
    (series,) = (one for one in live_costs.group_live(runs) if one.transport == "tls")
    (each,) = series.increments("established", live_costs.live_bytes).values()
    assert each.denominator == 1 and each > 10_000
    heap = series.measured("heap")
    assert [live_costs.added(run, "wave 1 closed", live_costs.live_bytes) for run in heap] == [0, 0]
    assert all(run.negotiated and run.negotiated["protocol"] == "TLSv1.3" for run in heap)
    assert set(find_left_groups()) <= set(before)
    again = live(tmp_path, "--window=all", "--waves=1")
    assert "8 runs, 8 already recorded" in again.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_too(tmp_path, number):
    """Ctrl-C reaches all processes of a terminal."""
    words = [
        sys.executable,
        ROOT / "tools/tls-memtest",
        "measure",
        "live",
        "--server=nginx",
        "--n=60",
        "--window=1",
        "--idle=60s",
    ]
    with subprocess.Popen(
        [*words, f"--out={tmp_path}"], stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stderr and "to go" in process.stderr.readline()
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        while len(pids := children.read_text().split()) < 3:  # the network, the server, the clients
            assert process.poll() is None
        os.killpg(process.pid, number)
        _, messages = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert re.fullmatch(r"memtest: stopped; finished runs are kept in .*\n", messages)
    assert not any(Path("/proc", pid).exists() for pid in pids)


def test_what_outlives_a_killed_server_is_killed_with_its_group():
    with MemoryGroup("test") as group:
        orphan = start_child(["sleep", "600"], signal.SIGTERM, join=group.add)
    assert orphan.wait(10) == -signal.SIGKILL
    assert not list(FIRST.glob(f"memtest-{os.getpid()}-test"))
