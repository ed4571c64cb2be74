"""heapwalk on a program that holds known blocks: bytes by arithmetic, and as malloc counts them itself."""

import json
import subprocess
from pathlib import Path

import pytest

from tlsmem.run import heap_process, heap_tree
from tlsmem.run.rss_parts import parse, read_rss

ROOT = Path(__file__).resolve().parents[2]
WALK = ROOT / "build/core/heapwalk"
STEPS = ("start", "blocks", "cached", "fast", "free", "mmapped", "unwritten", "thread", "zeros", "fork")
PAGE = 4096


def chunk(size):
    """Bytes of the chunk in which glibc puts a block of this size."""
    return max(32, (size + 8 + 15) & ~15)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("holding") / "holding"
    source = ROOT / "memtest/tests/holding.c"
    command = ["gcc", "-std=gnu11", "-O1", "-fno-builtin", source, "-o", path, "-lpthread"]
    subprocess.run(command, check=True)
    return path


def walk(pid):
    return json.loads(subprocess.run([WALK, str(pid)], capture_output=True, check=True).stdout)


class Holding:
    """The program: what heapwalk says of it after each step, and what malloc says."""

    def __init__(self, program, **how):
        self.walks, self.counts, self.rss = {}, {}, {}
        with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **how) as process:
            for step in STEPS:
                process.stdin.write(f"{step}\n")
                process.stdin.flush()
                self.counts[step] = json.loads(process.stdout.readline())
                self.walks[step] = walk(process.pid)
                self.rss[step] = read_rss([process.pid])[process.pid]
            (self.child,) = heap_tree.descendants(process.pid)
            self.child_walk = walk(self.child)
            process.terminate()
            subprocess.run(["kill", str(self.child)], check=True)

    def grown(self, step, part, unit="bytes"):
        """What a step added to a part."""
        before = self.walks[STEPS[STEPS.index(step) - 1]]
        return self.walks[step][part][unit] - before[part][unit]


@pytest.fixture(scope="module")
def holding(program):
    return Holding(program)


@pytest.fixture(scope="module")
def metered(program):
    return Holding(program, env={"LD_PRELOAD": heap_process.preload_value()})


def total(line):
    """The parts of a process without the meter, added up."""
    chunks = sum(line[part]["resident_bytes"] for part in ("used", "cached", "free", "mmapped"))
    return chunks + sum(line[f"{part}_bytes"] for part in ("own", "stack", "file", "other"))


@pytest.mark.parametrize("step", STEPS)
def test_parts_add_up_to_what_is_resident(holding, metered, step):
    assert total(holding.walks[step]) == holding.walks[step]["rss_anon_bytes"]
    assert metered.rss[step].unexplained_bytes == 0


@pytest.mark.parametrize("step", STEPS)
def test_malloc_counts_the_same(holding, step):
    """Its count of what is in use has what threads' caches hold, and its own structures."""
    line, counts = holding.walks[step], holding.counts[step]
    fast = counts["fast"]
    arenas = (line["arenas"] - 1) * (2200 + 48 + 8)  # struct malloc_state and heap_info
    assert line["free"]["bytes"] == counts["free"] - fast
    assert line["used"]["bytes"] + line["cached"]["bytes"] - fast + arenas == counts["in_use"]
    assert (line["mmapped"]["bytes"], line["mmapped"]["chunks"]) == (counts["mmapped"], counts["mmapped_chunks"])


def test_each_step_is_where_it_belongs(holding):
    grown = holding.grown
    assert (grown("blocks", "used"), grown("blocks", "used", "resident_bytes")) == (1000 * chunk(1000),) * 2
    assert (grown("cached", "cached"), grown("cached", "used")) == (5 * chunk(1000), -5 * chunk(1000))
    assert grown("fast", "cached") == 20 * chunk(50)
    assert holding.counts["fast"]["fast"] == 13 * chunk(50)  # the others are in the thread's cache
    cached = 2 * chunk(1000)  # a bin of the cache holds 7, and has 5
    assert grown("free", "cached") == cached
    assert grown("free", "free") == 450 * chunk(1000) - cached and grown("free", "used") == -450 * chunk(1000)
    assert grown("mmapped", "mmapped", "chunks") == 2
    assert grown("mmapped", "mmapped", "resident_bytes") == (1 << 20) + PAGE + PAGE  # of the second only its header
    assert grown("unwritten", "used") == 10 * chunk(100000)
    assert grown("unwritten", "used", "resident_bytes") <= 11 * 2 * PAGE
    assert grown("thread", "cached") == 3 * chunk(300)
    assert 500 * chunk(3000) <= grown("thread", "used") < 500 * chunk(3000) + 2 * PAGE
    assert holding.walks["thread"]["arenas"] == 2 and holding.walks["thread"]["own_bytes"] == 2200 + 48 + 8


def test_a_page_that_was_only_read_is_not_resident(holding):
    assert holding.grown("zeros", "mmapped") == 101 * PAGE
    assert holding.grown("zeros", "mmapped", "resident_bytes") == PAGE


def test_reading_changes_nothing(holding):
    """heapwalk reads twice after each step: what it read first did not make pages resident, or present."""
    for step in STEPS:
        assert holding.rss[step] == parse(holding.walks[step])


def test_a_forked_child_has_what_its_parent_had(holding):
    parent, child = holding.walks["fork"], holding.child_walk
    for part in ("used", "cached", "free", "mmapped"):
        assert child[part] == parent[part]
    assert total(child) == child["rss_anon_bytes"]


def test_under_the_meter_live_is_what_was_requested(metered):
    bytes_of = {step: line["requested"]["bytes"] for step, line in metered.walks.items()}
    mapped = {step: line["mmapped_requested"]["bytes"] for step, line in metered.walks.items()}
    assert bytes_of["blocks"] - bytes_of["start"] == 1000 * 1000
    assert bytes_of["cached"] - bytes_of["blocks"] == -5 * 1000
    assert bytes_of["fast"] == bytes_of["cached"]
    assert bytes_of["free"] - bytes_of["fast"] == -450 * 1000
    assert (bytes_of["mmapped"], mapped["mmapped"]) == (bytes_of["free"], (1 << 20) + 300000)
    assert bytes_of["unwritten"] - bytes_of["mmapped"] == 10 * 100000
    rss = metered.rss["unwritten"]
    assert 10 * 100000 + 300000 - 30 * PAGE < rss.absent_bytes <= 10 * 100000 + 300000
