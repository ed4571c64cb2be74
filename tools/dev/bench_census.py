#!/usr/bin/env python3
"""How long a census takes of a process with a large heap: the whole command, start of Python included.

The process has 20,000 sessions of the system's OpenSSL, among blocks of 960 bytes and small ones."""

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tlsmem.base.paths import ROOT

SOURCE = Path(__file__).with_name("census_heap.c")
SESSIONS, BLOCK_BYTES = 20_000, 960
BLOCKS_PER_GB = 860_000  # and as many small ones: 1 GB of RSS


def main() -> int:
    """Print a line for each census, and the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gb", type=int, default=2, help="size of the heap in GB (default: 2)")
    parser.add_argument("--repeats", type=int, default=5, help="censuses (default: 5)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "census_heap")
        subprocess.run(["gcc", "-O2", "-o", program, SOURCE, "-lssl", "-lcrypto"], check=True)
        blocks = str(BLOCKS_PER_GB * given.gb)
        words = [program, str(SESSIONS), blocks, str(BLOCK_BYTES), blocks]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdin and process.stdout
            process.stdout.readline()  # all of it is allocated
            print(f"{read_rss(process.pid) / 1e9:.2f} GB of RSS, {SESSIONS:,} sessions")
            taken = [time_census(process.pid) for _ in range(given.repeats)]
            process.stdin.close()
    for wall, cpu in taken:
        print(f"{wall:.2f} s, {cpu:.2f} s of CPU time")
    wall, cpu = (statistics.median(values) for values in zip(*taken, strict=True))
    print(f"median: {wall:.2f} s, {cpu:.2f} s of CPU time")
    return 0


def read_rss(pid: int) -> int:
    """Return the RSS of a process in bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()


def time_census(pid: int) -> tuple[float, float]:
    """Return how long a census takes, and its CPU time, in s. It must find all sessions."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    words = [ROOT / "tools/tls-memtest", "heap", "census", str(pid)]
    shown = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout
    wall, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    assert f"holds {SESSIONS:,} TLS sessions" in shown, shown
    return wall, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


if __name__ == "__main__":
    sys.exit(main())
