"""Progress of long commands, on stderr: a bar for each on a terminal, else a plain line now and then."""

import re
import threading
import time
from typing import ClassVar, Self

import rich.console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

CONSOLE = rich.console.Console(stderr=True, highlight=False, soft_wrap=True)
SECONDS_BETWEEN_LINES = 15  # where there is no terminal, as in a CI log
COMPILE_OPTION = b" -c "  # in a compiler's command line, as make prints it
NINJA = re.compile(rb"^\[(\d+)/(\d+)\]", re.MULTILINE)


class Bars:
    """The bars of this process: rich draws one display at a time, which all that run share."""

    def __init__(self) -> None:
        self.lock, self.users = threading.Lock(), 0
        self.progress: Progress | None = None

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
            if self.progress and not self.users:
                self.progress.stop()
                self.progress = None


BARS = Bars()


class BuildCount:
    """Several builds, on a terminal a bar above theirs: `with BuildCount(total) as count`, then `start` and `end`."""

    current: ClassVar["BuildCount | None"] = None  # whom the commands of this process belong to

    def __init__(self, total: int) -> None:
        self.total, self.ended, self.begin = total, 0, time.monotonic()
        self.running: list[str] = []

    def __enter__(self) -> "BuildCount":
        BuildCount.current, self.bar = self, BARS.open() if self.total > 1 else None
        if self.bar:
            self.task = self.bar.add_task("", title="all stacks", total=self.total)
        return self

    def __exit__(self, *_: object) -> None:
        BuildCount.current = None
        if self.bar:
            self.bar.remove_task(self.task)
            BARS.close()

    def start(self, name: str) -> None:
        self.running.append(name)
        self.show()

    def end(self, name: str) -> None:
        self.running.remove(name)
        self.ended += 1
        self.show()

    def show(self) -> None:
        if self.bar:
            self.bar.update(self.task, completed=self.ended, description=self.describe())

    def describe(self) -> str:
        """`3 of 14 stacks, openssl@3.5.5 builds`."""
        builds = " builds" if len(self.running) == 1 else " build"
        return f"{self.ended} of {self.total} stacks" + (f", {' and '.join(self.running)}{builds}" * bool(self.running))


class CommandProgress:
    """Of one command: a bar on a terminal, else a line now and then."""

    def __init__(self, title: str, total: int | None) -> None:
        self.title, self.total, self.started = title, total, time.monotonic()
        self.said = self.started
        self.bar: Progress | None = None

    def __enter__(self) -> Self:
        CONSOLE.print(f"{self.title} ...", markup=False)
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

    def update(self, compiled: int) -> None:
        if self.bar:
            self.bar.update(self.task, completed=compiled, total=self.total, description=self.compiled(compiled))
        elif time.monotonic() - self.said > SECONDS_BETWEEN_LINES:
            self.said = time.monotonic()
            said = filter(None, (f"{self.said - self.started:.0f} s", self.compiled(compiled)))
            CONSOLE.print(f"{self.title}: {', '.join(said)}{self.describe_all()}", markup=False)

    def compiled(self, files: int) -> str:
        return f"{files} of {self.total} files" if self.total else ""

    def describe_all(self) -> str:
        """Return how far all builds are, where this is one of several."""
        count = BuildCount.current
        if not count or count.total == 1:
            return ""
        return f"; {count.describe()}, {time.monotonic() - count.begin:.0f} s in all"


class CompileCounter:
    """How far a command is, by what it prints: make its compilers' command lines, ninja `[3/70]`."""

    def __init__(self, total: int | None) -> None:
        self.done, self.total = 0, total

    def add(self, printed: bytes) -> None:
        if steps := NINJA.findall(printed):
            self.done, self.total = map(int, steps[-1])
        else:
            self.done += printed.count(COMPILE_OPTION)
