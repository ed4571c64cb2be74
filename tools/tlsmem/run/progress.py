"""Shows a campaign's runs while they are made, on stderr: a bar on a terminal, else a line for each finished run."""

import asyncio
import sys
import time
from collections.abc import Iterable, Iterator
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn, TimeElapsedColumn

from tlsmem.build.estimate import describe_left
from tlsmem.config.run import Run
from tlsmem.run.validate import Outcome
from tlsmem.schema.harness_output import ThreadLine

START = 100  # what starting a harness takes, in sessions
ENOUGH, ENOUGH_S = 0.02, 30.0  # of all work, or seconds of finished runs, to tell how long the rest takes
SILENCE_S = 60.0  # a run that takes longer says so
MARGIN = 0.1  # a run takes at least so much longer than it has taken
MIB = 1024 * 1024
MAIN = ("client", "server", "send", "receive")  # parts of a timed run


class RunBoard:
    """The runs in flight, what is done, and the time left; `with RunBoard(runs, jobs) as board`."""

    def __init__(self, runs: list[Run], jobs: int, earlier: Iterable[tuple[Run, float]] = ()) -> None:
        self.total, self.weight, self.jobs = len(runs), sum(work(run) for run in runs), jobs
        self.begun: dict[int, tuple[Run, float]] = {}  # by slot: what runs there, and since when
        self.unfinished = dict.fromkeys(runs)
        self.paces: dict[tuple[str, ...], tuple[float, int]] = {}  # of each kind of run: seconds that it took, and work
        for run, took_s in earlier:
            self.add_pace(run, took_s)
        self.knows_paces = bool(self.paces)
        self.count, self.done = 0, 0
        self.console = Console(stderr=True, highlight=False)
        self.progress = Progress(
            SpinnerColumn(finished_text=" "),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TimeElapsedColumn(),
            Left(self),
            console=self.console,
            disable=not self.console.is_terminal,
        )
        self.width = max(len(str(run)) for run in runs)  # so that nothing moves
        self.whole = self.progress.add_task("all runs".ljust(self.width), total=self.weight)
        self.slots = [self.progress.add_task("", total=None, visible=False) for _ in range(jobs)]

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
        self.unfinished.pop(run, None)
        self.add_pace(run, took_s)
        self.progress.update(self.slots[slot], visible=False)
        self.progress.update(self.whole, completed=self.done)
        if not self.console.is_terminal:
            said = describe_outcome(outcome, took_s)
            left = f" ({describe_left(self.remaining_s())})" if self.unfinished else ""
            print(f"{self.count:>4}/{self.total} {run}: {said}{left}", file=sys.stderr, flush=True)
        elif outcome.status == "failed":
            self.console.print(f"{run}: {describe_outcome(outcome)}", markup=False, soft_wrap=True)

    def add_pace(self, run: Run, took_s: float) -> None:
        """Let a run that has ended tell how long others of its kind take."""
        seconds, done = self.paces.get(kind(run), (0.0, 0))
        self.paces[kind(run)] = seconds + took_s, done + work(run)

    async def tell_each_minute(self) -> None:
        """Say what is under way and how much time is left, until it is cancelled; a terminal has the bar instead."""
        while not self.console.is_terminal:
            await asyncio.sleep(SILENCE_S)
            for run, begin in self.begun.values():
                lasts_s = time.monotonic() - begin
                if lasts_s >= SILENCE_S:
                    lasts = f"{lasts_s // 60:.0f}:{lasts_s % 60:02.0f}"
                    print(f"memtest: {run}: {lasts}, {describe_left(self.remaining_s())}", file=sys.stderr, flush=True)

    def left(self) -> str:
        """Runs done and time left."""
        return f"{self.count}/{self.total}, {describe_left(self.remaining_s())}"

    def remaining_s(self) -> float | None:
        """By how long runs of each kind took; a kind of which none has ended is taken for an average one.

        None while too little has ended to tell."""
        seconds, done = (sum(column) for column in zip(*self.paces.values(), strict=True)) if self.paces else (0.0, 0)
        if not self.knows_paces and done < ENOUGH * self.weight and seconds < ENOUGH_S:
            return None
        now, average = time.monotonic(), (seconds, done)

        def expected_s(run: Run) -> float:
            spent_s, finished = self.paces.get(kind(run), average)
            return work(run) * spent_s / finished

        def remaining_run_s(run: Run, elapsed_s: float) -> float:
            return max(expected_s(run) - elapsed_s, MARGIN * elapsed_s)

        under_way = {run: remaining_run_s(run, now - begin) for run, begin in self.begun.values()}
        waiting_s = sum(expected_s(run) for run in self.unfinished if run not in under_way)
        return max([(waiting_s + sum(under_way.values())) / self.jobs, *under_way.values()])


class Left(ProgressColumn):
    """Beside the bar of all runs."""

    def __init__(self, board: RunBoard) -> None:
        super().__init__()
        self.board = board

    def render(self, task: Task) -> str:
        return self.board.left() if task.id == self.board.whole else ""


def work(run: Run) -> int:
    return run.sessions + START


def kind(run: Run) -> tuple[str, ...]:
    """Runs that differ in their sessions alone."""
    return run.stack, run.peer or "", run.suite, run.meter, run.scenario, run.allocator, run.roles


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
    said = (f"{'' if role == 'both' else f'{role} '}{peak / MIB:,.1f} MiB" for role, peak in peaks.items())
    return f"{outcome.elapsed_ns / 1e9:.1f} s, peak RSS {', '.join(said)}"


def rates(threads: list[ThreadLine]) -> Iterator[str]:
    """Of all threads together, by role or direction."""
    for name in MAIN:
        parts = [part for line in threads for part in line.parts if part.part == name and part.total_ns]
        if parts and parts[0].bytes:
            yield f"{name} {sum(1e9 / MIB * part.bytes / part.total_ns for part in parts):,.0f} MiB/s"
        elif parts:
            yield f"{name} {sum(1e9 * part.count / part.total_ns for part in parts):,.0f}/s"
