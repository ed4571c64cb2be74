"""Transfers that memory does not hold are refused before any run."""

import subprocess

import pytest

from tlsmem.base.errors import UserError
from tlsmem.config import definitions
from tlsmem.run import preflight

MIB = 2**20


def asked(campaign: str, **changes):
    return definitions.campaigns()[campaign].model_copy(update=changes)


@pytest.mark.parametrize(
    ("sizes", "threads", "need_mib"),
    [([1], [1], 0.2625), ([16, 64 * MIB], [1, 2], 537.6), ([100 * MIB], [1], 420)],
)
def test_the_largest_size_counts_four_times_in_each_thread(monkeypatch, sizes, threads, need_mib):
    transfers = asked("throughput", sizes=sizes, threads=threads)
    monkeypatch.setattr(preflight, "available_bytes", lambda: need_mib * MIB + 1)
    preflight.check_memory(transfers)
    monkeypatch.setattr(preflight, "available_bytes", lambda: need_mib * MIB - 1)
    with pytest.raises(UserError, match=f"need {need_mib:,.0f} MiB, .*smaller SIZES or fewer THREADS fit$"):
        preflight.check_memory(transfers)


def test_handshakes_need_none(monkeypatch):
    monkeypatch.setattr(preflight, "available_bytes", lambda: 0)
    preflight.check_memory(asked("handshake", threads=[256]))


@pytest.mark.thorough
def test_a_campaign_that_does_not_fit_is_not_begun(project):
    words = ["--out=out", "--sizes=16 1073741824", "--threads=256"]
    command = project.command(f"--stacks={project.install('obey')[0]}", *words, campaign="throughput")
    done = subprocess.run(command, cwd=project.root, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "of 256 threads, need 1,101,005 MiB" in done.stderr
    assert not (project.root / "out").exists()
