"""Of a process that is swapped out all is counted; that its pages are read in is said."""

import ctypes
import os
import subprocess
import time
from pathlib import Path

import pytest

from tests.census.conftest import Holder
from tlsmem.census.census import take_census
from tlsmem.census.target import read_target

PROCESS_MADVISE, MADV_PAGEOUT = 440, 21
SWAP_BYTES = 64 << 20


class Vector(ctypes.Structure):
    _fields_ = (("start", ctypes.c_void_p), ("bytes", ctypes.c_size_t))


def page_out(pid):
    """Swap out what is private of a process."""
    process = os.pidfd_open(pid)
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        place, rights = line.split()[:2]
        start, end = (int(address, 16) for address in place.split("-"))
        if rights == "rw-p":
            vector = Vector(start, end - start)
            ctypes.CDLL(None).syscall(
                PROCESS_MADVISE, process, ctypes.byref(vector), ctypes.c_size_t(1), MADV_PAGEOUT, 0
            )
    os.close(process)


@pytest.fixture
def swap(tmp_path):
    """A file to swap to."""
    file = tmp_path / "swap"
    file.touch(0o600)
    with open(file, "r+b") as opened:
        os.posix_fallocate(opened.fileno(), 0, SWAP_BYTES)
    subprocess.run(["/sbin/mkswap", file], check=True, capture_output=True)
    if subprocess.run(["/sbin/swapon", file], capture_output=True).returncode:
        pytest.skip("no swap here")
    yield
    subprocess.run(["/sbin/swapoff", file], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes swap")
def test_what_is_swapped_out_is_counted_and_that_it_is_read_in_is_said(swap, holder_program, certificate):
    holder = Holder([holder_program, *certificate, "200", "20", "20"])
    steps = [holder.read(), holder.step(), holder.step(), holder.step()]
    (before,), _ = take_census([holder.pid])
    until = time.monotonic() + 10
    while (swapped := read_target(holder.pid).count_swapped()) < 1 << 20 and time.monotonic() < until:
        page_out(holder.pid)
        time.sleep(0.1)
    (after,), remarks = take_census([holder.pid])
    holder.close()
    assert steps[-1]["step"] == "established"
    if swapped < 1 << 20:
        pytest.skip("the kernel did not swap out")
    assert before.sessions == after.sessions == 240
    groups = [
        {(one.role, one.state): (one.count, one.bytes) for one in look.libraries[0].groups} for look in (before, after)
    ]
    assert groups[0] == groups[1]
    (remark,) = remarks
    assert "MiB of its memory were swapped out; reading made them resident again" in remark
