#!/usr/bin/env python3
"""How long a census takes of a process with a large heap: the whole command, start of Python included.

The process has 20,000 sessions of the system's OpenSSL that are only created, among blocks of 960 bytes and small ones.
With --established it has so many sessions after their handshakes, and nothing else."""

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

HERE = Path(__file__).parent
SESSIONS, BLOCK_BYTES = 20_000, 960
BLOCKS_PER_GB = 860_000  # and as many small ones: 1 GB of RSS
CERTIFICATE = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost"


def main() -> int:
    """Print a line for each census, and the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gb", type=int, default=2, help="size of the heap in GB (default: 2)")
    parser.add_argument("--established", type=int, metavar="N", help="N sessions after their handshakes instead")
    parser.add_argument("--repeats", type=int, default=5, help="censuses (default: 5)")
    given = parser.parse_args()
    sessions = given.established // 2 * 2 if given.established else SESSIONS
    with tempfile.TemporaryDirectory() as folder:
        words = compile_pairs(folder, sessions) if given.established else compile_heap(folder, given.gb)
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdin and process.stdout
            process.stdout.readline()  # all of it is allocated
            print(f"{read_rss(process.pid) / 1e9:.2f} GB of RSS, {sessions:,} sessions")
            taken = [time_census(process.pid, sessions) for _ in range(given.repeats)]
            process.stdin.close()
    for wall, cpu in taken:
        print(f"{wall:.2f} s, {cpu:.2f} s of CPU time")
    wall, cpu = (statistics.median(values) for values in zip(*taken, strict=True))
    print(f"median: {wall:.2f} s, {cpu:.2f} s of CPU time")
    return 0


def compile_heap(folder: str, gb: int) -> list[str]:
    """Return the words of a program with sessions among other blocks."""
    blocks = str(BLOCKS_PER_GB * gb)
    return [compile_c(folder, "census_heap"), str(SESSIONS), blocks, str(BLOCK_BYTES), blocks]


def compile_pairs(folder: str, sessions: int) -> list[str]:
    """Return the words of a program with established sessions."""
    files = [f"{folder}/cert.pem", f"{folder}/key.pem"]
    command = [*CERTIFICATE.split(), "-out", files[0], "-keyout", files[1]]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    return [compile_c(folder, "census_pairs"), *files, str(sessions)]


def compile_c(folder: str, name: str) -> str:
    program = f"{folder}/{name}"
    subprocess.run(["gcc", "-O2", "-o", program, HERE / f"{name}.c", "-lssl", "-lcrypto"], check=True)
    return program


def read_rss(pid: int) -> int:
    """Return the RSS of a process in bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()


def time_census(pid: int, sessions: int) -> tuple[float, float]:
    """Return how long a census takes, and its CPU time, in s. It must find all sessions."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    words = [ROOT / "tools/tls-memtest", "heap", "census", str(pid)]
    shown = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout
    wall, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    assert f"holds {sessions:,} TLS sessions" in shown, shown
    return wall, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


if __name__ == "__main__":
    sys.exit(main())
