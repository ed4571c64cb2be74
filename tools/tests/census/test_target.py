"""Memory of a process is read without mapping a page; files of /proc/PID/maps are told by device and inode."""

import ctypes
import mmap
import os
import re
import signal
import struct
from pathlib import Path

import numpy as np
import pytest

from tlsmem.census.target import BATCH_PAGES, PAGE, ProcessMemory, list_files, list_pages

PAGES = 12


def count_present(address):
    with open("/proc/self/pagemap", "rb", buffering=0) as pagemap:
        entries = os.pread(pagemap.fileno(), 8 * PAGES, address // PAGE * 8)
    return sum(entry >> 63 for (entry,) in struct.iter_unpack("Q", entries))


def test_pages_that_were_never_written_are_not_mapped_by_reading():
    with mmap.mmap(-1, PAGES * PAGE) as area:
        address = ctypes.addressof(ctypes.c_char.from_buffer(area))
        libc = ctypes.CDLL(None)
        libc.madvise(ctypes.c_void_p(address), ctypes.c_size_t(PAGES * PAGE), 15)  # MADV_NOHUGEPAGE
        for page in (2, 3, 9):
            ctypes.c_uint64.from_address(address + page * PAGE + 16).value = page
        starts = np.array([address + page * PAGE + 16 for page in range(PAGES)])
        with ProcessMemory(os.getpid()) as memory:
            words = memory.read_words(starts, np.full(PAGES, 2))
        present = count_present(address)
    assert present == 3
    assert words.tolist() == [page if page in (2, 3, 9) and not odd else 0 for page in range(PAGES) for odd in (0, 1)]


def test_words_of_places_near_and_far_come_in_order():
    with mmap.mmap(-1, PAGES * PAGE) as area:
        address = ctypes.addressof(ctypes.c_char.from_buffer(area))
        words = (ctypes.c_uint64 * (PAGES * PAGE // 8)).from_address(address)
        words[:] = range(len(words))
        starts = np.array([0, 24, PAGE - 8, 11 * PAGE])
        counts = np.array([2, 1, 3, 1])
        with ProcessMemory(os.getpid()) as memory:
            found = memory.read_words(address + starts, counts).tolist()
    assert found == [0, 1, 3, 511, 512, 513, 11 * 512]


def test_a_large_heap_is_read_batch_by_batch_and_nothing_of_one_is_left_for_the_next():
    """Of each page the last word, which leads into the next; every third page has never been written."""
    pages = 2 * BATCH_PAGES + 100
    with mmap.mmap(-1, (pages + 1) * PAGE) as area:
        address = ctypes.addressof(ctypes.c_char.from_buffer(area))
        ctypes.CDLL(None).madvise(ctypes.c_void_p(address), ctypes.c_size_t(len(area)), 15)  # MADV_NOHUGEPAGE
        for page in range(pages + 1):
            if page % 3:
                words = (ctypes.c_uint64 * 512).from_address(address + page * PAGE)
                words[0], words[511] = 2 * page, 2 * page + 1
        starts = np.arange(1, pages + 1) * PAGE - 8 + address
        with ProcessMemory(os.getpid()) as memory:
            found = memory.read_words(starts, np.full(pages, 2)).tolist()
        del words
    expected = [[2 * page + 1 if page % 3 else 0, 2 * (page + 1) if (page + 1) % 3 else 0] for page in range(pages)]
    assert found == [word for pair in expected for word in pair]


@pytest.mark.parametrize(
    ("firsts", "afters", "pages"),
    [
        ([5], [6], [5]),
        ([5, 5, 6], [6, 7, 7], [5, 6]),
        ([5, 9], [6, 10], [5, 6, 7, 8, 9]),  # three between are read with them
        ([5, 10], [6, 11], [5, 10]),
        ([1, 1, 20, 30], [4, 3, 21, 32], [1, 2, 3, 20, 30, 31]),
    ],
)
def test_pages_are_listed_once_with_those_between_that_are_near(firsts, afters, pages):
    assert list_pages(np.array(firsts), np.array(afters)).tolist() == pages


MAPS = """\
5581e1a0c000-5581e1a2b000 r--p 00000000 fe:01 1234                       /usr/bin/a server
5581e1a2b000-5581e1a2c000 r-xp 0001f000 fe:01 1234                       /usr/bin/a server
7f0000000000-7f0000021000 rw-p 00000000 00:00 0
7f1000000000-7f1000001000 r-xp 00000000 fe:01 77                         /lib/libssl.so.3 (deleted)
7f2000000000-7f2000001000 r-xp 00000000 fe:01 78                         /lib/libssl.so.3
7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0                          [stack]
"""


def test_files_are_told_by_inode():
    program, gone, new = list_files(MAPS.splitlines())
    assert (program.name, program.inode, len(program.ranges), program.has_code) == ("a server", 1234, 2, True)
    assert gone.name == new.name == "libssl.so.3" and (gone.inode, new.inode) == (77, 78)
    assert {one.device for one in (program, gone, new)} == {os.makedev(0xFE, 1)}


def test_pages_that_a_process_shares_since_a_fork_stay_shared():
    """Half of the area counts for each of the two that have it; all of it would, once it had a copy of its own."""
    size = 256 * PAGE
    with mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as area:
        address = ctypes.addressof(ctypes.c_char.from_buffer(area))
        ctypes.CDLL(None).madvise(ctypes.c_void_p(address), ctypes.c_size_t(size), 15)  # MADV_NOHUGEPAGE
        area[:] = b"1" * size
        child = os.fork()
        if not child:
            signal.pause()
            os._exit(0)
        try:
            before = read_share_bytes(child, address)
            with ProcessMemory(child) as memory:
                memory.read_words(np.array([address]), np.array([size // 8]))
            after = read_share_bytes(child, address)
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    assert before == pytest.approx(after, abs=size / 8)


def read_share_bytes(pid, address):
    """The proportional share of a process in the mapping at an address."""
    is_there = False
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        if re.match("[0-9a-f]+-", line):
            begin, end = (int(one, 16) for one in line.split()[0].split("-"))
            is_there = begin <= address < end
        elif is_there and line.startswith("Pss:"):
            return 1024 * int(line.split()[1])
    raise AssertionError("no such mapping")


def test_memory_of_a_process_that_has_ended_is_not_that_of_the_next_with_its_number():
    """What is open is of the one that has ended."""
    area = mmap.mmap(-1, PAGE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(area))
    ctypes.c_uint64.from_address(address).value = 7
    child = os.fork()
    if not child:
        signal.pause()
        os._exit(0)
    memory = ProcessMemory(child)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with memory, pytest.raises(ProcessLookupError):
        memory.read_range(address, memoryview(bytearray(PAGE)))
