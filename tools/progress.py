"""Shows a campaign's runs while they are made, on stderr: a bar on a terminal, else a line for each finished run."""

import sys
import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from campaign import Run
from verdict import Outcome

START = 100  # what starting a harness takes, in sessions
MIB = 1024 * 1024


class Board:
    """The runs in flight, what is done, and the time left; `with Board(runs, jobs) as board`."""

    def __init__(self, runs: list[Run], jobs: int) -> None:
        self.total, self.weight = len(runs), sum(work(run) for run in runs)
        self.count, self.done, self.begin, self.moment = 0, 0, time.monotonic(), time.monotonic()
        self.console = Console(stderr=True, highlight=False)
        self.progress = Progress(
            SpinnerColumn(finished_text=" "),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[state]}", markup=False),
            TimeElapsedColumn(),
            console=self.console,
            disable=not self.console.is_terminal,
        )
        self.whole = self.progress.add_task("all runs", total=self.weight, state=f"0/{self.total}")
        self.slots = [self.progress.add_task("idle", total=None, state="", visible=False) for _ in range(jobs)]

    def __enter__(self) -> "Board":
        self.progress.start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.progress.stop()

    def start(self, slot: int, run: Run) -> None:
        self.progress.reset(self.slots[slot], description=f"{run}", visible=True)

    def finish(self, slot: int, run: Run, outcome: Outcome) -> None:
        self.count, self.done, self.moment = self.count + 1, self.done + work(run), time.monotonic()
        self.progress.update(self.slots[slot], visible=False)
        self.progress.update(self.whole, completed=self.done, state=f"{self.count}/{self.total} {self.left()}")
        if not self.console.is_terminal:
            print(f"{self.count:>4}/{self.total} {run}: {told(outcome)}", file=sys.stderr, flush=True)
        elif outcome.status == "failed":
            self.console.print(f"{run}: {told(outcome)}", markup=False, soft_wrap=True)

    def left(self) -> str:
        seconds = round((self.moment - self.begin) * (self.weight - self.done) / self.done)
        return f"{seconds // 60}:{seconds % 60:02} left" if seconds else ""


def work(run: Run) -> int:
    return run.sessions + START


def told(outcome: Outcome) -> str:
    if outcome.status != "measured":
        return f"{outcome.status}: {outcome.reason}"
    peak = max(phase.peak_rss_bytes for phase in outcome.phases)
    return f"{outcome.elapsed_ns / 1e9:.1f} s, peak RSS {peak / MIB:,.1f} MiB"
