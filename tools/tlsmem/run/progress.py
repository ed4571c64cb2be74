"""Shows a campaign's runs while they are made, on stderr: a bar on a terminal, else a line for each finished run."""

import asyncio
import math
import sys
import time
from collections.abc import Iterator
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from tlsmem.config.run import Run
from tlsmem.run.validate import Outcome
from tlsmem.schema.harness_output import PartName, ThreadLine

START = 100  # what starting a harness takes, in sessions
FEW = 3  # runs that must have ended before their pace says how long the others take
SILENCE_S = 60.0  # a run that takes longer says so
MIB = 1024 * 1024
MAIN: tuple[PartName, ...] = ("client", "server", "send", "receive")  # parts of a timed run


def describe_time(elapsed_s: float, ended: int, done: float, total: float) -> str:
    """Return `2:10 so far, about 4:30 left`: the rest goes on at the pace of what is `done` of `total`, by work.

    Without the time left before FEW runs have ended, and when nothing is left."""
    so_far = f"{format_time(elapsed_s)} so far"
    if ended < FEW or done >= total:
        return so_far
    left_s = elapsed_s * (total - done) / done
    if left_s < 10:
        return f"{so_far}, a few seconds left"
    step = 10 if left_s < 600 else 60  # no more digits than a pace is good for
    return f"{so_far}, about {format_time(round(left_s / step) * step)} left"


def format_time(seconds: float) -> str:
    """Return minutes and seconds, and hours where there are any."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02}" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


class RunBoard:
    """The runs in flight and what is done; `with RunBoard(runs, jobs) as board`."""

    def __init__(self, runs: list[Run], jobs: int) -> None:
        self.total, self.weight = len(runs), sum(work(run) for run in runs)
        self.begun: dict[int, tuple[Run, float]] = {}  # by slot: what runs there, and since when
        self.begin, self.count, self.done = time.monotonic(), 0, 0
        self.console = Console(stderr=True, highlight=False)
        self.progress = Progress(
            SpinnerColumn(finished_text=" "),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[count]}", markup=False),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=self.console,
            disable=not self.console.is_terminal,
            get_time=time.monotonic,
            speed_estimate_period=math.inf,  # a single run may take minutes
        )
        self.width = max(len(str(run)) for run in runs)  # so that nothing moves
        self.whole = self.progress.add_task("all runs".ljust(self.width), total=self.weight, count=f"0/{self.total}")
        self.slots = [self.progress.add_task("", total=None, visible=False, count="") for _ in range(jobs)]

    def __enter__(self) -> "RunBoard":
        self.progress.start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.progress.stop()

    def start(self, slot: int, run: Run) -> None:
        self.begun[slot] = run, time.monotonic()
        self.progress.reset(self.slots[slot], description=f"{run!s:<{self.width}}", visible=True)

    def finish(self, slot: int, run: Run, outcome: Outcome) -> None:
        took_s = time.monotonic() - self.begun.pop(slot)[1]
        self.count, self.done = self.count + 1, self.done + work(run)
        self.progress.update(self.slots[slot], visible=False)
        self.progress.update(self.whole, completed=self.done, count=f"{self.count}/{self.total}")
        if not self.console.is_terminal:
            said = describe_outcome(outcome, took_s)
            print(f"{self.count:>4}/{self.total} {run}: {said} ({self.describe_time()})", file=sys.stderr, flush=True)
        elif outcome.status == "failed":
            self.console.print(f"{run}: {describe_outcome(outcome)}", markup=False, soft_wrap=True)

    async def tell_each_minute(self) -> None:
        """Say what is under way, until it is cancelled; a terminal has the bar instead."""
        while not self.console.is_terminal:
            await asyncio.sleep(SILENCE_S)
            for run, begin in self.begun.values():
                lasts_s = time.monotonic() - begin
                if lasts_s >= SILENCE_S:
                    whole = f"{self.count}/{self.total} runs, {self.describe_time()}"
                    print(f"memtest: {run}: for {format_time(lasts_s)}; {whole}", file=sys.stderr, flush=True)

    def describe_time(self) -> str:
        """Return the time so far, and the time left once that can be told."""
        return describe_time(time.monotonic() - self.begin, self.count, self.done, self.weight)


def work(run: Run) -> int:
    return run.sessions + START


def describe_outcome(outcome: Outcome, total_s: float | None = None) -> str:
    """`total_s`: with its runs under callgrind, which are not in the outcome's time."""
    if outcome.status != "measured":
        return f"{outcome.status}: {outcome.reason}"
    if outcome.instructions:
        parts = ((name, outcome.instructions.parts.get(name)) for name in MAIN)
        said = ", ".join(f"{name} {count:,.0f}" for name, count in parts if count is not None)
        return f"{total_s or outcome.elapsed_ns / 1e9:.1f} s under callgrind, {said} instructions a round"
    if outcome.threads:
        together = f" (all {len(outcome.threads)} threads)" * (len(outcome.threads) > 1)
        return f"{outcome.elapsed_ns / 1e9:.1f} s, {', '.join(rates(outcome.threads))}{together}"
    peaks: dict[str, int] = {}
    for phase in outcome.phases:
        peaks[phase.process] = max(peaks.get(phase.process, 0), phase.peak_rss_bytes)
    resident = (f"{'' if role == 'both' else f'{role} '}{peak / MIB:,.1f} MiB" for role, peak in peaks.items())
    return f"{outcome.elapsed_ns / 1e9:.1f} s, peak RSS {', '.join(resident)}"


def rates(threads: list[ThreadLine]) -> Iterator[str]:
    """Of all threads together, by role or direction."""
    for name in MAIN:
        parts = [part for line in threads for part in line.parts if part.part == name and part.total_ns]
        if parts and parts[0].bytes:
            yield f"{name} {sum(1e9 / MIB * (part.bytes or 0) / part.total_ns for part in parts):,.0f} MiB/s"
        elif parts:
            yield f"{name} {sum(1e9 * part.count / part.total_ns for part in parts):,.0f}/s"
