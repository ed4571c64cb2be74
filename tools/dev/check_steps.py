"""Steps of `make check`: each a target of the Makefile; as many at a time as there are CPUs for them."""

import subprocess
import threading
import time

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from checks import STEPS
from tlsmem.base.paths import ROOT
from tlsmem.build import shared_resources

ALONE = {name for name, step in STEPS.items() if step.is_alone}
SECONDS_BETWEEN_LINES = 30  # where there is no terminal, as in a CI log


class StepBoard:
    """Which steps run, how many are done, and the time so far."""

    def __init__(self, steps: list[str]) -> None:
        self.total, self.ended, self.begin, self.said = len(steps), 0, time.monotonic(), time.monotonic()
        self.console = Console(stderr=True, highlight=False, soft_wrap=True)
        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(24), TimeElapsedColumn())
        self.progress = Progress(*columns, console=self.console, transient=True, disable=not self.console.is_terminal)
        self.bar = self.progress.add_task("", total=self.total)

    def show(self, running: list[str]) -> None:
        """Without a terminal, a line now and then: `check: check-rust, check-go; 4 of 9 steps done after 90 s`."""
        description = f"{', '.join(running)}; {self.ended} of {self.total} steps done"
        self.progress.update(self.bar, completed=self.ended, description=description)
        if not self.console.is_terminal and time.monotonic() - self.said > SECONDS_BETWEEN_LINES:
            self.said = time.monotonic()
            self.console.print(f"check: {description} after {self.said - self.begin:.0f} s", markup=False)


class Step:
    """A target of the Makefile, running; its lines are printed as they come, on a terminal above the bar."""

    def __init__(self, name: str, options: list[str], console: Console, root: str) -> None:
        self.name, self.console = name, console
        self.process = subprocess.Popen(
            ["make", "--no-print-directory", name, *options],
            cwd=root,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if console.is_terminal else None,  # a bar is not written over
            text=True,
            errors="replace",
        )
        self.reader = threading.Thread(target=self.copy_lines)
        self.reader.start()

    def copy_lines(self) -> None:
        for line in self.process.stdout:
            if self.console.is_terminal:
                self.console.print(line.rstrip("\n"), markup=False, soft_wrap=True)
            else:
                print(line, end="", flush=True)

    def end(self) -> int:
        """Return the exit status."""
        self.reader.join()
        return self.process.returncode


def run(steps: list[str], options: list[str], root: str = str(ROOT), cpus: int | None = None) -> int:
    """The exit status: that of the first step that failed; what runs beside it is ended then."""
    cpus = cpus or shared_resources.count_cpus()
    board, waiting, running = StepBoard(steps), list(steps), []

    def busy(names: list[str]) -> int:
        return sum(cpus if name in ALONE else 1 for name in names)

    try:
        with board.progress:
            while waiting or running:
                while waiting and busy([step.name for step in running] + waiting[:1]) <= cpus:
                    running.append(Step(waiting.pop(0), options, board.console, root))
                watch(running, board)
                for step in [step for step in running if step.process.poll() is not None]:
                    running.remove(step)
                    board.ended += 1
                    if status := step.end():
                        return status
    finally:
        for step in running:
            step.process.terminate()
            step.process.wait()
    return 0


def watch(running: list[Step], board: StepBoard) -> None:
    """Until one of them ends."""
    while all(step.process.poll() is None for step in running):
        board.show([step.name for step in running])
        time.sleep(0.1)
