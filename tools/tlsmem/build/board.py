"""How far several builds are together, and the time left: on a terminal a bar above theirs."""

import time

from tlsmem.build import progress, shared_resources

UNSAID = 5  # seconds of one CPU, where stacks.toml does not say
ENOUGH = 0.1  # of a build, to tell how fast it goes


class Board:
    """`with Board({name: cpu_seconds}, workers) as board`, then `start` and `finish` for each name."""

    def __init__(self, seconds: dict[str, int | None], workers: int) -> None:
        self.weights = {name: weight or UNSAID for name, weight in seconds.items()}
        self.workers, self.to_go, self.bar = workers, dict(self.weights), None
        self.running: dict[str, tuple[float, float]] = {}  # when it began, and how much is done of 1
        self.paces: list[tuple[float, float]] = []  # of what was built: CPU seconds expected, and seconds it took

    def __enter__(self) -> "Board":
        self.bar = progress.BARS.open()
        if self.bar:
            self.task = self.bar.add_task("", title="all stacks", total=sum(self.weights.values()))
        progress.ProgressListener.told, progress.ProgressListener.left = self.progressed, self.left
        return self

    def __exit__(self, *_: object) -> None:
        progress.ProgressListener.told, progress.ProgressListener.left = None, lambda: ""
        if self.bar:
            self.bar.remove_task(self.task)
            progress.BARS.close()

    def start(self, name: str) -> None:
        self.running[name] = time.monotonic(), 0.0

    def progressed(self, title: str, done: float) -> None:
        name = title.partition(":")[0]
        if name in self.running:
            begin, before = self.running[name]
            self.running[name] = begin, max(before, done)
        self.show()

    def finish(self, name: str, built: bool) -> None:
        """`built`: it was compiled, and not found as it should be; only that tells how fast builds go."""
        begin, _ = self.running.pop(name)
        weight = self.to_go.pop(name)
        if built:
            self.paces.append((weight, time.monotonic() - begin))
        self.show()

    def show(self) -> None:
        if self.bar:
            done = sum(self.weights.values()) - sum(self.remaining().values())
            self.bar.update(self.task, completed=done, description=self.left())

    def remaining(self) -> dict[str, float]:
        """CPU seconds to go, as stacks.toml expects them."""
        return {name: weight * (1 - self.done(name)) for name, weight in self.to_go.items()}

    def done(self, name: str) -> float:
        return self.running[name][1] if name in self.running else 0

    def pace(self) -> float:
        """Seconds for each CPU second that a build is expected to take, as it goes today."""
        now, paces = time.monotonic(), list(self.paces)
        for name, (begin, done) in self.running.items():
            if done > ENOUGH:
                paces.append((self.weights[name] * done, now - begin))
        expected, took = map(sum, zip(*paces, strict=True)) if paces else (shared_resources.count_cpus(), self.workers)
        return took / expected

    def left(self) -> str:
        """`2 of 12 stacks, 6:10 left`."""
        remaining = self.remaining().values()
        seconds = round(self.pace() * max(sum(remaining) / self.workers, *remaining, 0))
        ended = len(self.weights) - len(self.to_go)
        return f"{ended} of {len(self.weights)} stacks, {seconds // 60}:{seconds % 60:02} left"
