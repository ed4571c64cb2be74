"""The CPU time of runs under each meter and profiler over that of plain ones."""

import argparse
import asyncio
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from meter_cost import LIMIT_S, children, cpu_time
from tlsmem.base.paths import ROOT
from tlsmem.config import definitions
from tlsmem.config.run import SYSTEM, Run, argv
from tlsmem.profile.capture import profilers
from tlsmem.profile.capture.heaptrack_interpreter import interpret
from tlsmem.profile.capture.profilers import MARKS_LIBRARY, PROFILERS
from tlsmem.profile.errors import CaptureFailed
from tlsmem.profile.heap_profile import Tool
from tlsmem.run import process, stack_abilities
from tlsmem.schema.harness_output import Meter
from tlsmem.schema.machine import allowed_cpus

AIM, JUDGED_FROM = {"sites": 1.10}, 10_000  # sessions; of fewer what a process does once is the larger part
SLOWER = 10
CAPTION = (
    "CPU time over that of the plain run of the same round and N: massif and DHAT, at a tenth of the sessions, stand "
    "beside a plain run of their own, in which less of the time is the sessions'."
)


@dataclass(frozen=True)
class Way:
    """A way to run a harness: under one of its own meters, or under a profiler as `heap record` calls it."""

    name: str
    meter: Meter = "rss"
    tool: Tool | None = None
    part: int = 1  # of the sessions

    @property
    def missing(self) -> str | None:
        package = PROFILERS[self.tool].package if self.tool else None
        if package and not shutil.which(package):
            return f"no {package} here: apt install {package}"
        marks = package == "valgrind" and not (ROOT / MARKS_LIBRARY).exists()
        return f"no {MARKS_LIBRARY} here: make {MARKS_LIBRARY}" if marks else None


WAYS = (
    Way("plain"),
    Way("heap meter", "heap"),
    Way("sites", "sites"),
    Way("heaptrack", tool="heaptrack"),
    Way("plain", part=SLOWER),
    Way("massif", tool="massif", part=SLOWER),
    Way("DHAT", tool="dhat", part=SLOWER),
)


def seconds(way: Way, run: Run, cpu: int) -> float:
    """CPU time of one run, of all its processes; exits with a sentence when it is no measurement.

    A profiler is told of phases (marks=1): the harness then does without an allocator's books, which it may not see."""
    if not way.tool:
        return cpu_time(run, cpu)
    before = children()
    with tempfile.TemporaryDirectory() as name:  # what it writes is thrown away
        harness = [*argv(run, definitions.suites()[run.suite]), f"cpu={cpu}", "marks=1"]
        try:
            ended = asyncio.run(profiled(way.tool, Path(name), harness))
        except CaptureFailed as failed:
            sys.exit(f"memtest: {failed}")
    if b'"status":"measured"' not in ended.stdout:
        said = ended.stopped or ended.stderr.decode(errors="replace").strip().rpartition("\n")[2] or "it said nothing"
        sys.exit(f"memtest: {way.name}: {run}: not measured: {said}")
    return children() - before


async def profiled(tool: Tool, folder: Path, harness: list[str]) -> process.ProcessResult:
    """A harness that has to switch randomisation off starts itself again: heaptrack would lose it, valgrind start
    valgrind. heaptrack's recording is interpreted afterwards, which belongs to its cost."""
    command = profilers.profiler_command(tool, folder, profilers.NO_ASLR_COMMAND, harness)
    async with process.start_process(command, {"HOME": str(folder)}) as one:
        await one.wait(LIMIT_S)
    for raw in () if one.failed else folder.glob("heaptrack.raw.*"):
        await interpret(tool, raw, folder / "interpreted", LIMIT_S)
    return one.ended()


def rounds(stack: str, suite: str, sessions: int, repeats: int, cpu: int) -> dict[Way, list[float]]:
    """By way the CPU seconds of its runs; a round runs each once, every other backwards."""
    ways = [way for way in WAYS if not way.missing]
    run = Run(stack, suite, SYSTEM, "all", sessions, "rss", 1)
    runs = {way: replace(run, sessions=even(sessions / way.part), meter=way.meter) for way in ways}
    seconds(WAYS[0], runs[WAYS[0]], cpu)  # the first run reads the binary from the disk
    taken: dict[Way, list[float]] = {way: [] for way in ways}
    for number in range(repeats):
        for way in ways if number % 2 == 0 else reversed(ways):
            taken[way].append(seconds(way, runs[way], cpu))
    return taken


def even(sessions: float) -> int:
    return max(2, 2 * round(sessions / 2))


def rows(stack: str, sessions: int, taken: dict[Way, list[float]]) -> Iterator[list[str]]:
    """By way: the stack, the way, N, its CPU time, and the ratios to plain."""
    for way in WAYS:
        if way.missing:
            yield [stack, way.name, "", "", way.missing, "", "", ""]
            continue
        found = ratios(way, taken)
        middle = statistics.median(found)
        aim = f"{'no' if over(way, taken) else 'yes'} ({AIM[way.name]:.2f})" if way.name in AIM else ""
        times = [statistics.median(taken[way]), middle, found[0], found[-1]]
        yield [stack, way.name, f"{even(sessions / way.part):,}", *(f"{one:.3f}" for one in times), aim]


def ratios(way: Way, taken: dict[Way, list[float]]) -> list[float]:
    """To the plain runs of the same rounds and sessions, the smallest first."""
    plain = next(times for one, times in taken.items() if one.name == "plain" and one.part == way.part)
    return sorted(time / base for time, base in zip(taken[way], plain, strict=True))


def over(way: Way, taken: dict[Way, list[float]]) -> float | None:
    """The median ratio, when that is more than the way may cost."""
    middle = statistics.median(ratios(way, taken))
    return middle if middle > AIM.get(way.name, middle) else None


def findings(stack: str, suite: str, sessions: int, taken: dict[Way, list[float]]) -> list[str]:
    """None of fewer sessions than the aim is stated for: there the start of the process weighs more."""
    if sessions < JUDGED_FROM:
        return []
    where = f"{stack}, {suite}, N = {sessions:,}"
    costs = [(way, over(way, taken)) for way in taken]
    return [
        f"{where}: {way.name} costs {cost:.3f} times the plain run, more than {AIM[way.name]:.2f}"
        for way, cost in costs
        if cost
    ]


def run(given: argparse.Namespace) -> None:
    """Measures, prints the table, and exits with sentences where a meter costs more than its limit."""
    cpu, found = allowed_cpus()[0], []
    stacks = stack_abilities.select_stacks(
        given.stacks, given.prefix, metered=True
    )  # else the ways see not the same memory
    columns = ("stack", "way", "N", "CPU s", "over plain", "smallest", "largest", "within")
    table = Table(*columns, box=None, caption=CAPTION, caption_justify="left")
    with Console(stderr=True).status("measuring, one run at a time") as status:
        for stack, suite in stack_abilities.select_supported(stacks, given.suites):
            status.update(f"{suite} {stack}: {given.repeats} rounds of {len(WAYS)} runs")
            taken = rounds(stack, suite, given.n, given.repeats, cpu)
            for row in rows(stack, given.n, taken):
                table.add_row(*row)
            found += findings(stack, suite, given.n, taken)
    Console(highlight=False, width=100).print(table)
    if found:
        sys.exit("\n".join(f"memtest: {finding}" for finding in found))
