"""What malloc holds in several processes, from lines of heapwalk that are made up."""

from tlsmem.live.running_server import sum_malloc
from tlsmem.schema.live_records import MallocBytes


def line(factor, free_sizes):
    tallies = {"used": (1, 20, 10), "mmapped": (2, 400, 300), "cached": (3, 50, 5), "free": (4, 60, 6)}
    named = ("chunks", "bytes", "resident_bytes")
    parts = {part: dict(zip(named, (factor * size for size in sizes), strict=True)) for part, sizes in tallies.items()}
    return {**parts, "free_sizes": free_sizes}


def test_chunks_in_use_and_freed_ones_of_all_processes_are_added_up():
    counts = {str(size): 1 for size in range(32, 320, 32)}
    found = sum_malloc([line(1, counts), line(10, {"64": 2, "32": 100})])
    expected = MallocBytes(
        chunks=33,
        chunk_bytes=11 * 420,
        chunk_resident_bytes=11 * 310,
        free_resident_bytes=11 * 11,
        free_sizes={32: 101, 288: 1, 256: 1, 224: 1, 64: 3, 192: 1, 160: 1, 128: 1},
    )
    assert found == expected and list(found.free_sizes) == list(expected.free_sizes)


def test_a_process_that_is_not_divided_leaves_no_sum():
    assert sum_malloc([line(1, {}), {"undivided": "its allocator is jemalloc"}]) is None
    assert sum_malloc([line(1, {}), {"refused": "it has ended"}]) is None
