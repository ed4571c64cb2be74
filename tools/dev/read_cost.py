"""The time and memory of commands that read files, of this checkout and of another one in turn.

To measure another command, add a Case to CASES."""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

import large_profiles
from tlsmem.base.paths import ROOT
from tlsmem.profile.compressed_file import read_chunks

PROFILE = ROOT / "data/2026-11-21-amd-epyc-2/profiles/openssl@3.5.5.tls13-rsa-aes256.1000.heaptrack.zst"
HEAPTRACK_PRINT = ("heaptrack_print", str(PROFILE))
READ_HEAPTRACK = (
    "import sys, time; sys.path.insert(0, 'tools'); from tlsmem.profile import heaptrack_reader as reader; "
    "before = time.process_time(); reader.read_profile(sys.argv[1]); print(time.process_time() - before)"
)


class Case(NamedTuple):
    """A command of Python, started in a checkout, and what else does the same work."""

    name: str
    arguments: tuple[str, ...]  # of a checkout's Python
    reference: tuple[str, ...] = ()  # a program that is not ours
    forgets: tuple[str, ...] = ()  # folders of the checkout that are deleted before each run: its caches
    times_itself: bool = False  # its last line is the CPU seconds that count, without starting Python


READ = ("tools/tls-memtest", "heap", "read")
INSPECT = (*READ, str(PROFILE))
RECORDING = "data/2026-11-22-amd-epyc"  # the largest: 2,694 runs, 57 MB of records
TABLES = [
    "settings",
    "heap",
    "stacks",
    "rss",
    "roles",
    "accounts",
    "waterfall",
    "bends",
    "sites",
    "closings",
    "buckets",
    "call-sites",
]
REPORT = ("tools/tls-memtest", "show", "report", "-o", "build/bench-read.html")


COST = ("tools/tls-memtest", "cost", "openssl")
PLAN = ("tools/tls-memtest", "plan", "memory", "--connections", "10000")
DERIVED = ("build/store", "build/results", "build/records")  # the last one in older checkouts
OF_SCENARIOS = {
    "stall": "data/2026-11-24-amd-epyc-p0457",
    "churn": "data/2026-11-24-amd-epyc-p0457-churn",
}


def table_command(name: str, recording: str = RECORDING) -> tuple[str, ...]:
    return ("tools/tls-memtest", "show", "tables", recording, "--table", name)


CASES = (
    Case("heaptrack file: read, in the process", ("-c", READ_HEAPTRACK, str(PROFILE)), HEAPTRACK_PRINT, (), True),
    Case("heaptrack file: inspect", INSPECT, HEAPTRACK_PRINT),
    Case("table stacks, first time", table_command("stacks"), (), DERIVED),
    *(Case(f"table {name}, again", table_command(name)) for name in TABLES),
    *(Case(f"table {name}, again", table_command(name, recording)) for name, recording in OF_SCENARIOS.items()),
    Case("cost of a library, first time", COST, (), DERIVED),
    Case("cost of a library, again", COST),
    Case("plan of memory, again", PLAN),
    Case("report, first time", REPORT, (), DERIVED),
    Case("report, again", REPORT),
)


class Cost(NamedTuple):
    """Of one run of a command."""

    cpu_s: float  # user and system
    wall_s: float
    peak_mib: float


class Side(NamedTuple):
    """One of the commands that take turns."""

    name: str
    command: tuple[str, ...]
    folder: Path
    forgets: tuple[str, ...] = ()
    times_itself: bool = False


def run(given: argparse.Namespace) -> None:
    """Measure, and print a table. Exits with a sentence when no case is left, or a command fails."""
    every = list_large_cases(given.large) if given.large else CASES
    cases = [case for case in every if given.case in case.name]
    if not cases:
        sys.exit(f"memtest: no case has `{given.case}` in its name; there are: {'; '.join(one.name for one in every)}")
    table = Table("case", "command", "CPU s", "smallest to largest", "wall s", "peak MiB", "ratio of CPU", box=None)
    with Console(stderr=True).status("measuring, one command at a time") as status:
        for case in cases:
            status.update(f"{case.name}: {given.repeats} rounds")
            for cells in rows(case, measure(list_sides(case, given.against), given.repeats)):
                table.add_row(*cells)
    Console(highlight=False, width=140).print(table)
    print("ratio of CPU: this checkout over that command, the median of rounds")


def list_large_cases(folder: Path) -> Sequence[Case]:
    """Take the profiles that are not in the folder. Exits with a sentence when a profiler fails."""
    try:
        profiles = [*large_profiles.take_profiles(folder)]
    except (OSError, subprocess.SubprocessError) as error:
        sys.exit(f"memtest: no large profile is taken in {folder}: {error}")
    return [
        Case(f"{one.name}, {count_bytes(one.file) / 1e6:,.0f} MB unpacked", (*READ, str(one.file)), one.printer)
        for one in profiles
    ]


def count_bytes(file: Path) -> int:
    """Unpacked."""
    return sum(map(len, read_chunks(file)))


def list_sides(case: Case, against: Path | None) -> list[Side]:
    """This checkout's command first."""
    folders = {"this checkout": ROOT} | ({str(against): against} if against else {})
    sides = [
        Side(name, (str(folder / ".venv/bin/python"), *case.arguments), folder, case.forgets, case.times_itself)
        for name, folder in folders.items()
    ]
    if case.reference and shutil.which(case.reference[0]):
        sides.append(Side(case.reference[0], case.reference, ROOT))
    return sides


def measure(sides: Sequence[Side], repeats: int) -> dict[Side, list[Cost]]:
    """The costs of each side, round by round. The first round, which fills the page cache, does not count."""
    rounds = [[run_command(side) for side in sides] for _ in range(repeats + 1)][1:]
    return {side: list(costs) for side, costs in zip(sides, zip(*rounds, strict=True), strict=True)}


def run_command(side: Side) -> Cost:
    """Exits with a sentence when the command fails."""
    for folder in side.forgets:
        shutil.rmtree(side.folder / folder, ignore_errors=True)
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        begun = time.monotonic()
        process = subprocess.Popen(side.command, cwd=side.folder, stdout=output, stderr=errors)
        _, status, used = os.wait4(process.pid, 0)
        wall_s = time.monotonic() - begun
        process.returncode = os.waitstatus_to_exitcode(status)  # it is waited for, which Popen cannot know
        output.seek(0)
        errors.seek(0)
        if process.returncode != 0:
            reason = (errors.read().decode(errors="replace").splitlines() or ["it says nothing"])[-1]
            sys.exit(f"memtest: {side.name}: {' '.join(side.command)}: exit status {process.returncode}: {reason}")
        cpu_s = float(output.read().split()[-1]) if side.times_itself else used.ru_utime + used.ru_stime
    return Cost(cpu_s, wall_s, used.ru_maxrss / 1024)


def rows(case: Case, costs: dict[Side, list[Cost]]) -> Iterable[list[str]]:
    own = next(iter(costs.values()))
    for at, (side, of_side) in enumerate(costs.items()):
        cpu_s, wall_s, peak_mib = (statistics.median(column) for column in zip(*of_side, strict=True))
        least, most = (extreme(one.cpu_s for one in of_side) for extreme in (min, max))
        ratio = f"{median_ratio(own, of_side):.2f}" if at else ""
        figures = [f"{cpu_s:.3f}", f"{least:.3f} to {most:.3f}", f"{wall_s:.3f}", f"{peak_mib:.0f}", ratio]
        yield ["" if at else case.name, side.name, *figures]


def median_ratio(own: Sequence[Cost], other: Sequence[Cost]) -> float:
    """Of CPU times, round by round: what slows the machine down for a while slows both sides."""
    return statistics.median(a.cpu_s / b.cpu_s for a, b in zip(own, other, strict=True))
