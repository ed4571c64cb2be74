"""Shows a campaign's runs while they are made, on stderr: a bar on a terminal, else a line for each finished run."""

import sys
import time
from collections.abc import Iterator
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn, TimeElapsedColumn

from tlsmem.config.run import Run
from tlsmem.run.validate import Outcome
from tlsmem.schema.harness_output import ThreadLine

START = 100  # what starting a harness takes, in sessions
MIB = 1024 * 1024
MAIN = ("client", "server", "send", "receive")  # parts of a timed run


class RunBoard:
    """The runs in flight, what is done, and the time left; `with Board(runs, jobs) as board`."""

    def __init__(self, runs: list[Run], jobs: int) -> None:
        self.total, self.weight = len(runs), sum(work(run) for run in runs)
        self.begun: dict[int, float] = {}  # by slot
        self.count, self.done, self.begin, self.moment = 0, 0, time.monotonic(), time.monotonic()
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
        self.begun[slot] = time.monotonic()
        self.progress.reset(self.slots[slot], description=f"{run!s:<{self.width}}", visible=True)

    def finish(self, slot: int, run: Run, outcome: Outcome) -> None:
        self.count, self.done, self.moment = self.count + 1, self.done + work(run), time.monotonic()
        self.progress.update(self.slots[slot], visible=False)
        self.progress.update(self.whole, completed=self.done)
        if not self.console.is_terminal:
            said = describe_outcome(outcome, self.moment - self.begun[slot])
            print(f"{self.count:>4}/{self.total} {run}: {said}", file=sys.stderr, flush=True)
        elif outcome.status == "failed":
            self.console.print(f"{run}: {describe_outcome(outcome)}", markup=False, soft_wrap=True)

    def left(self) -> str:
        """Runs done and time left, by the work done until the last run ended."""
        if not self.done:
            return f"{self.count}/{self.total}"
        expected = (self.moment - self.begin) * (self.weight - self.done) / self.done
        seconds = max(0, round(expected - (time.monotonic() - self.moment)))
        return f"{self.count}/{self.total}, {seconds // 60}:{seconds % 60:02} left"


class Left(ProgressColumn):
    """Beside the bar of all runs."""

    def __init__(self, board: RunBoard) -> None:
        super().__init__()
        self.board = board

    def render(self, task: Task) -> str:
        return self.board.left() if task.id == self.board.whole else ""


def work(run: Run) -> int:
    return run.sessions + START


def describe_outcome(outcome: Outcome, whole_s: float | None = None) -> str:
    """`whole_s`: with its runs under callgrind, which are not in the outcome's time."""
    if outcome.status != "measured":
        return f"{outcome.status}: {outcome.reason}"
    if outcome.instructions:
        parts = ((name, outcome.instructions.parts.get(name)) for name in MAIN)
        said = ", ".join(f"{name} {count:,.0f}" for name, count in parts if count is not None)
        return f"{whole_s or outcome.elapsed_ns / 1e9:.1f} s under callgrind, {said} instructions a round"
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
