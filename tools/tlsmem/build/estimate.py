"""How long a set of tasks still takes: by what each is expected to take, and by how fast the work goes now.

Work is counted in seconds of CPU, which do not depend on what else the machine does. What it does shows in how much
longer than expected the finished part took, and the rest is expected to take as much longer.
"""

from collections import deque
from dataclasses import dataclass, field

WINDOW_S = 90.0  # what else the machine does changes: only so much of the past counts
SECONDS_BETWEEN_SAMPLES = 1.0
SETTLING_S = 10.0  # time for which the expectation counts as much as what is seen
# A silent task takes at least so much more than it has used. What was recorded here is more exact than what is shipped.
MARGIN, RECORDED_MARGIN = 0.25, 0.1
RECORDED_LIMIT = 1.5  # times what was recorded: a task that used more is not the one that was recorded
DOUBTFUL = 0.5  # of the time left: where guesses are more of it, it is not known
# How far a task may tell that it is, in what its CPU time says, and one part of that: what it tells counts tests, not
# their time, and another step may follow the one that tells.
TRUSTED = 2.0
ALONE = 4.0  # CPUs that one task keeps busy, at most


@dataclass
class Task:
    """`cpu_s`: expected CPU seconds. `rate`: how many of them it takes a second by itself."""

    cpu_s: float
    rate: float = ALONE
    used_s: float = 0.0
    told: float = 0.0  # the part that is done, as its output says
    ended: bool = False
    recorded: bool = False  # `cpu_s` is what it took on this machine

    @property
    def is_guess(self) -> bool:
        """Whether nothing says how much is left: it has used up what was expected, and does not tell how far it is."""
        limit = RECORDED_LIMIT if self.recorded else 1 / (1 + MARGIN)
        return not self.ended and not self.told and self.used_s > limit * self.cpu_s

    @property
    def tells(self) -> bool:
        """Whether the part that it tells is the best there is: what it took here is better, while that can be."""
        return bool(self.told) and not (self.recorded and self.used_s <= RECORDED_LIMIT * self.cpu_s)

    @property
    def total_s(self) -> float:
        """CPU seconds that it is expected to take, as far as is known now."""
        if self.ended or self.tells:
            return self.cpu_s
        return max(self.cpu_s, self.used_s * (1 + (RECORDED_MARGIN if self.recorded else MARGIN)))

    @property
    def done(self) -> float:
        """Of 1."""
        if self.ended or not self.cpu_s:
            return float(self.ended)
        used = self.used_s / self.total_s
        return min(max(self.told, min(used, 1) / TRUSTED), TRUSTED * used) if self.tells else used


@dataclass
class Estimate:
    """Tasks by name, as many at a time as there are CPUs."""

    tasks: dict[str, Task]
    cpus: int
    seen: deque[tuple[float, float]] = field(default_factory=deque)  # seconds since the begin, and of work done by then

    def ideal_s(self, work_s: dict[str, float]) -> float:
        """Seconds for so much work of each task on a machine with nothing else to do."""
        alone = [cpu_s / min(self.cpus, self.tasks[name].rate) for name, cpu_s in work_s.items()]
        return max(sum(work_s.values()) / self.cpus, *alone, 0.0)

    def remaining_s(self, elapsed_s: float) -> float | None:
        """None where most of it is a guess."""
        finished = {name: task.total_s * task.done for name, task in self.tasks.items()}
        remaining = {name: task.total_s * (1 - task.done) for name, task in self.tasks.items()}
        guessed = sum(work_s for name, work_s in remaining.items() if self.tasks[name].is_guess)
        if guessed > DOUBTFUL * sum(remaining.values()):
            return None
        return self.slowdown(elapsed_s, self.ideal_s(finished)) * self.ideal_s(remaining)

    def slowdown(self, elapsed_s: float, finished_s: float) -> float:
        """How many times longer than on an idle machine the work of the last while took; what goes on does so too."""
        if not self.seen or elapsed_s > self.seen[-1][0] + SECONDS_BETWEEN_SAMPLES:
            self.seen.append((elapsed_s, finished_s))
        while len(self.seen) > 1 and self.seen[1][0] < elapsed_s - WINDOW_S:
            self.seen.popleft()
        before = self.seen[0] if elapsed_s > WINDOW_S else (0.0, 0.0)
        passed_s, done_s = elapsed_s - before[0], max(0.0, finished_s - before[1])
        return (SETTLING_S + passed_s) / (SETTLING_S + done_s)

    def done_part(self) -> float:
        """Of 1, by work."""
        whole = sum(task.total_s for task in self.tasks.values())
        return sum(task.total_s * task.done for task in self.tasks.values()) / whole if whole else 0.0


def describe_left(seconds: float | None) -> str:
    """`about 4:30 left`; no more digits than are meant."""
    if seconds is None:
        return "time left unknown"
    if seconds < 10:
        return "a few seconds left"
    step = 10 if seconds < 600 else 60
    rounded = round(seconds / step) * step
    if rounded < 3600:
        return f"about {rounded // 60}:{rounded % 60:02} left"
    return f"about {rounded // 3600} h {rounded % 3600 // 60:02} min left"
