"""Steps of `make check`, one after the other: each a target of the Makefile, with the time left of all."""

import subprocess
import threading
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from tlsmem.base.paths import ROOT
from tlsmem.build import durations, shared_resources
from tlsmem.build.estimate import Estimate, Task, describe_left

PRIORS = Path(__file__).with_name("check_steps.toml")
SECONDS_BETWEEN_LINES = 30  # where there is no terminal, as in a CI log
SECONDS_BETWEEN_LOOKS = 1.0


def expected_tasks(steps: list[str], root: Path) -> dict[str, Task]:
    """By what they took here, else by the priors."""
    priors, recorded = tomllib.loads(PRIORS.read_text()), durations.read_durations(root)
    cpu_s = durations.expected_cpu_s({step: priors.get(step, {}).get("cpu_seconds", 10) for step in steps}, root)
    tasks = {step: Task(cpu_s[step] or 0.0, priors.get(step, {}).get("rate", 1)) for step in steps}
    for step in set(steps) & set(recorded):
        if recorded[step]["wall"] and recorded[step]["cpu"]:
            tasks[step].rate = recorded[step]["cpu"] / recorded[step]["wall"]
    return tasks


class StepBoard:
    """Which step runs, and the time left."""

    def __init__(self, steps: list[str], root: Path) -> None:
        self.estimate = Estimate(expected_tasks(steps, root), shared_resources.count_cpus(), in_sequence=True)
        self.steps, self.begin, self.said = steps, time.monotonic(), time.monotonic()
        self.console = Console(stderr=True, highlight=False, soft_wrap=True)
        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(24), TimeElapsedColumn())
        self.progress = Progress(*columns, console=self.console, transient=True, disable=not self.console.is_terminal)
        self.bar = self.progress.add_task("", total=1.0)

    def describe(self, step: str) -> str:
        """`check-rust, step 5 of 9, about 6:10 left`."""
        left = describe_left(self.estimate.left_s(time.monotonic() - self.begin))
        return f"{step}, step {self.steps.index(step) + 1} of {len(self.steps)}, {left}"

    def show(self, step: str) -> None:
        self.progress.update(self.bar, completed=self.estimate.done_part(), description=self.describe(step))
        if not self.console.is_terminal and time.monotonic() - self.said > SECONDS_BETWEEN_LINES:
            self.said = time.monotonic()
            self.console.print(f"check: {self.describe(step)}", markup=False)


def run(steps: list[str], options: list[str], root: Path = ROOT) -> int:
    """The exit status: that of the first step that failed."""
    board = StepBoard(steps, root)
    with board.progress:
        for step in steps:
            if status := run_step(step, options, board, root):
                return status
    return 0


def run_step(step: str, options: list[str], board: StepBoard, root: Path) -> int:
    task, begin, looked = board.estimate.tasks[step], time.monotonic(), 0.0
    board.show(step)
    with started(["make", "--no-print-directory", step, *options], board, root) as process:
        while (status := process.poll()) is None:
            if time.monotonic() - looked > SECONDS_BETWEEN_LOOKS:
                looked = time.monotonic()
                task.used_s = max(task.used_s, durations.tree_cpu_s(process.pid))
                board.show(step)
            time.sleep(0.1)
    task.ended = True
    if not status:
        durations.write_duration(root, step, task.used_s, time.monotonic() - begin)
    return status


@contextmanager
def started(command: list[str], board: StepBoard, root: Path) -> Iterator[subprocess.Popen]:
    """The command; on a terminal what it prints stands above the bar."""
    if not board.console.is_terminal:
        with subprocess.Popen(command, cwd=root) as process:
            yield process
        return
    pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "errors": "replace"}
    with subprocess.Popen(command, cwd=root, **pipe) as process:
        reader = threading.Thread(target=copy_lines, args=(process, board.console))
        reader.start()
        yield process
        reader.join()


def copy_lines(process: subprocess.Popen, console: Console) -> None:
    for line in process.stdout:
        console.print(line.rstrip("\n"), markup=False, soft_wrap=True)
