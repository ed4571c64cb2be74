"""One program, and what five tools say that it holds at its end: one number, to the byte."""

import json
import subprocess
import sys

import pytest

from tests.support import allocating_programs as programs
from tlsmem.base.paths import ROOT
from tlsmem.profile.heap_profile import DUMP, END, PEAK, LiveHeap, sum_live
from tlsmem.profile.open_profile import open_profile


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    return programs.compile_program(tmp_path_factory.mktemp("live"), programs.LIVE)


def heap_meter(program):
    command = [sys.executable, ROOT / "tools/tls-memtest", "heap", "run", "--once", "--json", "--", program]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    reports = [json.loads(line) for line in told.splitlines()]
    (found,) = (one for one in reports if one["record"] == "program" and one["state"] == "ended")
    return LiveHeap(found["live_bytes"], found["live_blocks"])


def gperftools(program):
    return live_at(programs.take_gperftools(program), DUMP)


def heaptrack(program):
    return live_at(programs.take_heaptrack(program), END)


def massif(program):
    """At its peak, which massif records when the program frees the block that it asks for at its end."""
    found = open_profile(programs.take_valgrind(program, "massif", "--peak-inaccuracy=0", "--threshold=0")[0])
    sites = {site.callers[0].function: LiveHeap(site.bytes, site.blocks) for site in found.call_sites(PEAK)}
    assert sites.pop("last").bytes == 1
    return sum_live(sites)


def dhat(program):
    return live_at(programs.take_valgrind(program, "dhat", "--run-libc-freeres=no")[0], END)


def live_at(file, moment: str) -> LiveHeap:
    found = open_profile(file)
    assert found.unit == "requested" and found.sampled_every_bytes is None
    return sum_live(found.live(moment))


@pytest.mark.parametrize("take", [heap_meter, gperftools, heaptrack, massif, dhat])
def test_each_tool_tells_the_same_bytes(live, take):
    found = take(live)
    assert found.bytes == programs.LIVE_BYTES
    assert found.blocks == (None if take is massif else sum(blocks for _, blocks in programs.SITES.values()))
