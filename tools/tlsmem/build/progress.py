"""Progress of long commands, on stderr: a bar for each on a terminal, else a plain line now and then."""

import re
import threading
import time
from typing import Protocol

import rich.console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

CONSOLE = rich.console.Console(stderr=True, highlight=False, soft_wrap=True)
SECONDS_BETWEEN_LINES = 15  # where there is no terminal, as in a CI log
COMPILE_OPTION = b" -c "  # in a compiler's command line, as make prints it
NINJA = re.compile(rb"^\[(\d+)/(\d+)\]", re.MULTILINE)


class Bars:
    """The bars of this process: rich draws one display at a time, which all that run share."""

    def __init__(self) -> None:
        self.lock, self.users, self.progress = threading.Lock(), 0, None

    def open(self) -> Progress | None:
        if not CONSOLE.is_terminal:
            return None
        with self.lock:
            self.users += 1
            if not self.progress:
                texts = (TextColumn(f"{{task.{part}}}", markup=False) for part in ("fields[title]", "description"))
                columns = (SpinnerColumn(), *texts, BarColumn(24), TimeElapsedColumn())
                self.progress = Progress(*columns, console=CONSOLE, transient=True)
                self.progress.start()
            return self.progress

    def close(self) -> None:
        with self.lock:
            self.users -= 1
            if not self.users:
                self.progress.stop()
                self.progress = None


BARS = Bars()


class ProgressReport(Protocol):
    """Who is told how far a command is, and says what is left of all: one of the builds on a board."""

    def begin(self) -> None: ...
    def update(self, used_s: float, part: float) -> None: ...
    def describe(self) -> str: ...


class Followed(threading.local):
    """The report to which the commands of this thread belong."""

    report: ProgressReport | None = None


followed = Followed()


class CommandProgress:
    """Of one command: a bar on a terminal, else a line now and then."""

    def __init__(self, title: str, total: int | None) -> None:
        self.title, self.total, self.started = title, total, time.monotonic()
        self.said, self.bar, self.report = self.started, None, followed.report

    def __enter__(self) -> "CommandProgress":
        CONSOLE.print(f"{self.title} ...", markup=False)
        if self.report:
            self.report.begin()
        self.bar = BARS.open()
        if self.bar:
            self.task = self.bar.add_task("", total=self.total, title=self.title)
        return self

    def __exit__(self, kind: type | None, *_: object) -> None:
        if self.bar:
            self.bar.remove_task(self.task)
            BARS.close()
        ended = "stopped" if kind else "done"
        CONSOLE.print(f"{self.title}: {ended} after {time.monotonic() - self.started:.0f} s", markup=False)

    def update(self, compiled: int, used_s: float = 0.0) -> None:
        """`used_s`: CPU seconds of the command so far."""
        if self.report:
            self.report.update(used_s, min(1.0, compiled / self.total) if self.total else 0.0)
        if self.bar:
            self.bar.update(self.task, completed=compiled, total=self.total, description=self.compiled(compiled))
        elif time.monotonic() - self.said > SECONDS_BETWEEN_LINES:
            self.said = time.monotonic()
            all_builds = self.report.describe() if self.report else ""
            said = filter(None, (f"{self.said - self.started:.0f} s", self.compiled(compiled), all_builds))
            CONSOLE.print(f"{self.title}: {', '.join(said)}", markup=False)

    def compiled(self, files: int) -> str:
        return f"{files} of {self.total} files" if self.total else ""


class CompileCounter:
    """How far a command is, by what it prints: make its compilers' command lines, ninja `[3/70]`."""

    def __init__(self, total: int | None) -> None:
        self.done, self.total = 0, total

    def add(self, printed: bytes) -> None:
        if steps := NINJA.findall(printed):
            self.done, self.total = map(int, steps[-1])
        else:
            self.done += printed.count(COMPILE_OPTION)
