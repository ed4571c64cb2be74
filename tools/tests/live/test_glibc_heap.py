"""The heap of a process chunk by chunk: of one that allocates known blocks and tells when it has."""

import subprocess
import sys
from collections import Counter

import pytest

from tlsmem.live import glibc_heap
from tlsmem.live.glibc_heap import GlibcHeap, Region, find_heap, keep_largest, read_heap, sum_heaps

# Blocks of 2,000 B in chunks of 2,016 B, beyond malloc's caches of small sizes. Each byte that it reads is a step.
PROGRAM = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.free.argtypes, libc.memset.argtypes = ctypes.c_void_p, [ctypes.c_void_p], [
    ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
blocks = (ctypes.c_void_p * 1000)()
large = (ctypes.c_void_p * 100)()
def fill():
    for number in range(1000):
        blocks[number] = libc.malloc(2000)
        libc.memset(blocks[number], 1, 2000)
def free():
    for number in range(0, 1000, 2):
        libc.free(blocks[number])
def reserve():
    for number in range(100):
        large[number] = libc.malloc(100000)
for step in (lambda: None, fill, free, reserve):
    os.read(0, 1)
    step()
    os.write(1, b"x")
os.read(0, 1)
"""
STEPS = ("before", "filled", "every other freed", "reserved")


@pytest.fixture(scope="module")
def heaps():
    """What the heap is after each step."""
    with subprocess.Popen(
        [sys.executable, "-S", "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as process:
        found = {}
        for step in STEPS:
            process.stdin.write(b"x")
            assert process.stdout.read(1) == b"x"
            found[step] = read_heap(process.pid)
        process.stdin.close()
    return found


def test_chunks_in_use_are_counted_with_their_headers_and_all_are_resident(heaps):
    before, filled = heaps["before"], heaps["filled"]
    assert filled.chunk_bytes - before.chunk_bytes >= 1000 * 2016
    assert filled.chunk_bytes - before.chunk_bytes < 1000 * 2016 + 50_000  # what the interpreter allocates meanwhile
    assert filled.chunk_resident_bytes - before.chunk_resident_bytes == filled.chunk_bytes - before.chunk_bytes


def test_freed_chunks_between_others_stay_resident_and_are_told_by_their_size(heaps):
    filled, freed = heaps["filled"], heaps["every other freed"]
    assert freed.free_sizes[2016] >= 495
    assert freed.free_resident_bytes - filled.free_resident_bytes >= 495 * 2016
    assert filled.chunks - freed.chunks >= 480


def test_what_is_never_written_is_in_use_and_not_resident(heaps):
    freed, reserved = heaps["every other freed"], heaps["reserved"]
    assert reserved.chunk_bytes - freed.chunk_bytes >= 100 * 100_000
    assert reserved.chunk_resident_bytes - freed.chunk_resident_bytes < 100 * 2 * glibc_heap.PAGE


def test_the_region_is_that_of_maps():
    maps = "55d0a000-55d0b000 r-xp 0 00:00 1 /usr/bin/x\n55d2c000-55d4d000 rw-p 0 00:00 0             [heap]\n"
    assert find_heap(maps) == Region(0x55D2C000, 0x55D4D000)
    assert find_heap(maps.splitlines()[0]) is None


def test_processes_are_added_up():
    one, other = GlibcHeap(1, 2, 3, 4, {32: 1, 64: 2}), GlibcHeap(10, 20, 30, 40, {64: 3})
    assert sum_heaps([one, other]) == GlibcHeap(11, 22, 33, 44, {64: 5, 32: 1})


def test_the_sizes_that_take_most_are_kept():
    assert list(keep_largest(Counter(dict.fromkeys(range(32, 320, 32), 1)))) == list(range(288, 32, -32))
