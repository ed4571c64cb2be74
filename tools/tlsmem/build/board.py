"""How far several builds are together, and the time left: on a terminal a bar above theirs."""

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tlsmem.build import durations, progress
from tlsmem.build.estimate import Estimate, Task, describe_left

Prior = tuple[str, float | None]  # a stack, and the CPU seconds that stacks.toml has for it
UNSAID_S = 5.0  # CPU seconds of a stack of which stacks.toml says nothing: one that compiles next to nothing


class Board:
    """`with Board({name: cpu_seconds}, cpus, root) as board`, then `start` and `finish` for each name.

    A stack that has been built before is expected to be up to date until a command of its build begins.
    `below` has the stacks whose build makes another's library too, with that stack and its prior; `known` the priors of
    other stacks: what was recorded of those tells how fast this machine is."""

    def __init__(
        self,
        priors: Mapping[str, float | None],
        cpus: int,
        root: Path,
        below: Mapping[str, Prior] | None = None,
        known: Mapping[str, float | None] | None = None,
    ) -> None:
        self.root, self.begin, self.bar, self.below = root, time.monotonic(), None, below or {}
        expected = durations.expected_cpu_s(dict(known or {}) | dict(priors) | dict(self.below.values()), root)
        self.cpu_s = {name: expected[name] or UNSAID_S for name in priors}
        for name, (library, _) in self.below.items():
            self.cpu_s[name] += expected[library] or UNSAID_S
        here = {name for name in priors if (root / "build/harness" / f"{name}.stamp").is_file()}
        self.estimate = Estimate({name: Task(0.0 if name in here else self.cpu_s[name]) for name in priors}, cpus)
        recorded = durations.read_durations(root).keys()
        for name, task in self.estimate.tasks.items():
            task.recorded = name in recorded and (name not in self.below or self.below[name][0] in recorded)
        self.begun: dict[str, float] = {}
        self.lock = threading.Lock()

    def __enter__(self) -> "Board":
        self.bar = progress.BARS.open()
        if self.bar:
            self.task = self.bar.add_task("", title="all stacks", total=1.0)
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar:
            self.bar.remove_task(self.task)
            progress.BARS.close()

    def start(self, name: str) -> None:
        self.begun[name] = time.monotonic()

    @contextmanager
    def following(self, name: str) -> Iterator[None]:
        """Commands that this thread runs meanwhile are of this build."""
        progress.followed.report = Report(self, name)
        try:
            yield
        finally:
            progress.followed.report = None

    def finish(self, name: str, built: bool) -> None:
        """`built`: it was compiled whole, and not found as it should be; only that tells how long it takes."""
        task = self.estimate.tasks[name]
        if built and task.used_s and name not in self.below:
            durations.write_duration(self.root, name, task.used_s, time.monotonic() - self.begun[name])
        if not built:
            task.cpu_s = 0.0  # it does not tell how fast builds go
        task.ended = True
        self.show()

    def show(self) -> None:
        if self.bar:
            description = self.describe()
            self.bar.update(self.task, completed=self.estimate.done_part(), description=description)

    def describe(self) -> str:
        """`2 of 12 stacks, about 6:10 left`."""
        with self.lock:
            tasks = self.estimate.tasks.values()
            ended = sum(task.ended for task in tasks)
            left = describe_left(self.estimate.remaining_s(time.monotonic() - self.begin))
        return f"{ended} of {len(tasks)} stacks, {left}"


class Report:
    """What the commands of one build tell its board."""

    def __init__(self, board: Board, name: str) -> None:
        self.board, self.task = board, board.estimate.tasks[name]
        self.cpu_s = board.cpu_s[name]
        self.used_before, self.done_before = 0.0, 0.0

    def begin(self) -> None:
        """A command begins."""
        self.task.cpu_s, self.task.told = self.cpu_s, 0.0
        self.used_before, self.done_before = self.task.used_s, self.task.done

    def update(self, used_s: float, part: float) -> None:
        """The command's CPU seconds, and the part of its files that it has compiled: 0 where it does not tell."""
        self.task.used_s = max(self.task.used_s, self.used_before + used_s)
        if part:
            self.task.told = self.done_before + (1 - self.done_before) * part
        self.board.show()

    def describe(self) -> str:
        return self.board.describe()
