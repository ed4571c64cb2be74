"""Steps of `make check`: each a target of the Makefile; as many at a time as there are CPUs for them."""

import re
import subprocess
import threading
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from tlsmem.base.paths import ROOT
from tlsmem.build import durations, shared_resources
from tlsmem.build.estimate import Estimate, Task, describe_left

PRIORS = Path(__file__).with_name("check_steps.toml")
SECONDS_BETWEEN_LINES = 30  # where there is no terminal, as in a CI log
SECONDS_BETWEEN_LOOKS = 1.0
PERCENT = re.compile(r"\[ *(\d+)%\]$")  # at the end of pytest's lines


def expected_tasks(steps: list[str], root: Path) -> dict[str, Task]:
    """By what they took here, else by the priors."""
    priors, recorded = tomllib.loads(PRIORS.read_text()), durations.read_durations(root)
    cpu_s = durations.expected_cpu_s({step: priors.get(step, {}).get("cpu_seconds", 10) for step in steps}, root)
    tasks = {step: Task(cpu_s[step] or 0.0, priors.get(step, {}).get("rate", 1)) for step in steps}
    for step in set(steps) & set(recorded):
        if recorded[step]["wall"] and recorded[step]["cpu"]:
            tasks[step].rate = recorded[step]["cpu"] / recorded[step]["wall"]
            tasks[step].recorded = True
    return tasks


@dataclass
class Step:
    """A target of the Makefile. `cpus`: how many it keeps busy; a step that takes them all runs by itself."""

    name: str
    cpus: int
    process: subprocess.Popen | None = None
    reader: threading.Thread | None = None
    begin: float = 0.0


class StepBoard:
    """Which steps run, and the time left."""

    def __init__(self, steps: list[str], root: Path) -> None:
        self.estimate = Estimate(expected_tasks(steps, root), shared_resources.count_cpus())
        self.steps, self.begin, self.said = steps, time.monotonic(), time.monotonic()
        self.console = Console(stderr=True, highlight=False, soft_wrap=True)
        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(24), TimeElapsedColumn())
        self.progress = Progress(*columns, console=self.console, transient=True, disable=not self.console.is_terminal)
        self.bar = self.progress.add_task("", total=1.0)

    def describe(self, running: list[str]) -> str:
        """`check-rust, check-go, 4 of 9 steps done, about 6:10 left`."""
        left = describe_left(self.estimate.remaining_s(time.monotonic() - self.begin))
        done = sum(task.ended for task in self.estimate.tasks.values())
        return f"{', '.join(running)}, {done} of {len(self.steps)} steps done, {left}"

    def show(self, running: list[str]) -> None:
        self.progress.update(self.bar, completed=self.estimate.done_part(), description=self.describe(running))
        if not self.console.is_terminal and time.monotonic() - self.said > SECONDS_BETWEEN_LINES:
            self.said = time.monotonic()
            self.console.print(f"check: {self.describe(running)}", markup=False)


def run(steps: list[str], options: list[str], root: Path = ROOT, cpus: int | None = None) -> int:
    """The exit status: that of the first step that failed; what runs beside it is ended then."""
    cpus = cpus or shared_resources.count_cpus()
    board, waiting, running = StepBoard(steps, root), planned_steps(steps, cpus), []
    try:
        with board.progress:
            while waiting or running:
                while waiting and sum(step.cpus for step in running) + waiting[0].cpus <= cpus:
                    running.append(start_step(waiting.pop(0), options, board, root))
                watch(running, board)
                for step in [step for step in running if step.process.poll() is not None]:
                    running.remove(step)
                    if status := end_step(step, board, root):
                        return status
    finally:
        for step in running:
            step.process.terminate()
            step.process.wait()
    return 0


def planned_steps(names: list[str], cpus: int) -> list[Step]:
    """Those that are not in the file of priors take all CPUs."""
    priors = tomllib.loads(PRIORS.read_text())
    return [Step(name, min(cpus, priors.get(name, {}).get("cpus", cpus))) for name in names]


def watch(running: list[Step], board: StepBoard) -> None:
    """Until one of them ends."""
    looked = 0.0
    while all(step.process.poll() is None for step in running):
        if time.monotonic() - looked > SECONDS_BETWEEN_LOOKS:
            looked = time.monotonic()
            for step in running:
                task = board.estimate.tasks[step.name]
                task.used_s = max(task.used_s, durations.tree_cpu_s(step.process.pid))
            board.show([step.name for step in running])
        time.sleep(0.1)


def start_step(step: Step, options: list[str], board: StepBoard, root: Path) -> Step:
    command, step.begin = ["make", "--no-print-directory", step.name, *options], time.monotonic()
    errors = subprocess.STDOUT if board.console.is_terminal else None  # a bar is not written over
    step.process = subprocess.Popen(
        command, cwd=root, stdout=subprocess.PIPE, stderr=errors, text=True, errors="replace"
    )
    step.reader = threading.Thread(target=copy_lines, args=(step, board))
    step.reader.start()
    return step


def end_step(step: Step, board: StepBoard, root: Path) -> int:
    """Its exit status; what it took is kept for the next time if it passed."""
    step.reader.join()
    task = board.estimate.tasks[step.name]
    task.ended = True
    if not step.process.returncode:
        durations.write_duration(root, step.name, task.used_s, time.monotonic() - step.begin)
    return step.process.returncode


def copy_lines(step: Step, board: StepBoard) -> None:
    """Print the step's lines, on a terminal above the bar, and take from pytest's which part is done."""
    for line in step.process.stdout:
        if percent := PERCENT.search(line):
            board.estimate.tasks[step.name].told = int(percent[1]) / 100
        if board.console.is_terminal:
            board.console.print(line.rstrip("\n"), markup=False, soft_wrap=True)
        else:
            print(line, end="", flush=True)
