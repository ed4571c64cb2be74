"""Will it fit? Two small runs of each stack and suite foretell the memory that the big ones need."""

import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace

from tlsmem.config.matrix import Run
from tlsmem.run.available_memory import available_bytes
from tlsmem.run.validate import Outcome

PROBES = (20, 200)  # sessions
SMALL = 2_000  # sessions that cannot matter: at most some 200 MiB a run
MARGIN = 1.05  # page tables and what a straight line leaves out
MIB = 1024 * 1024


@dataclass(frozen=True)
class Line:
    """Bytes that a run needs by its sessions: resident ones, and those in its wires."""

    fixed: float
    slope: float

    def at(self, sessions: int) -> float:
        return MARGIN * (self.fixed + self.slope * sessions)


Probe = Callable[[Run], Awaitable[Outcome]]


async def lines(runs: Iterable[Run], probe: Probe) -> dict[Run, Line]:
    """A line for each run of more than a few sessions; runs of a stack that cannot do a suite need nothing."""
    found: dict[Run, Line] = {}
    for run in runs:
        if run.sessions > SMALL and kind(run) not in found:
            found[kind(run)] = await line(run, probe)
    return {run: found[kind(run)] for run in runs if run.sessions > SMALL}


def kind(run: Run) -> Run:
    """What needs alike. The host's huge pages stay as they are for a probe."""
    return replace(run, sessions=0, repeat=1, meter="rss", env="lab" if run.env == "lab" else "deployed")


async def line(run: Run, probe: Probe) -> Line:
    """Probes lie beyond the window, where one more session is one more established session."""
    start = 2 * run.window if run.window != "all" and 2 * run.window < run.sessions else 0
    points = []
    for sessions in PROBES:
        outcome = await probe(replace(kind(run), sessions=start + sessions))
        if outcome.status != "measured":
            return Line(0, 0)  # the campaign records why
        points.append((start + sessions, need_bytes(outcome)))
    (few, small), (many, large) = points
    slope = (large - small) / (many - few)
    return Line(small - slope * few, slope)


def need_bytes(outcome: Outcome) -> int:
    """Of two processes the sum: both stand in the same phase, and see the same wires."""
    needs: Counter[str] = Counter()
    for phase in outcome.phases:
        needs[phase.phase] += phase.peak_rss_bytes + (phase.wire_bytes if phase.process != "server" else 0)
    return max(needs.values())


def jobs_that_fit(needs: dict[Run, Line], jobs: int, have: float) -> int:
    """How many of the largest runs may be in flight at once; 0 when not even one may."""
    largest = sorted((line.at(run.sessions) for run, line in needs.items()), reverse=True)[:jobs]
    return next((count for count in range(len(largest), 0, -1) if sum(largest[:count]) <= have), 0)


def admit(needs: dict[Run, Line], jobs: int, n: int) -> int:
    """The number of jobs that memory allows, at most `jobs`; says so when fewer, exits with a sentence when none."""
    if not needs:
        return jobs
    have = available_bytes()
    fitting = jobs_that_fit(needs, jobs, have)
    worst, line = max(needs.items(), key=lambda item: item[1].at(item[0].sessions))
    need = f"{worst.stack} {worst.suite} needs {line.at(worst.sessions) / MIB:,.0f} MiB at {worst.sessions:,} sessions"
    available = f"{have / MIB:,.0f} MiB are available"
    if not fitting:
        fits = largest_n(needs, have, n)
        way_out = f"the largest N that fits is {fits}" if fits else "no N fits"
        sys.exit(f"memtest: N={n} is more than memory holds: {need}, {available}; {way_out}")
    if fitting < min(jobs, len(needs)):
        print(f"memtest: {need}, {available}: JOBS={fitting} instead of {jobs}", file=sys.stderr)
        return fitting
    return jobs


def largest_n(needs: dict[Run, Line], have: float, n: int) -> int:
    """One run at a time; 0 when not even two sessions fit. The largest run of a campaign may be a fraction of its N."""
    if any(line.at(2) > have for line in needs.values()):
        return 0
    growing = [(run, line) for run, line in needs.items() if line.slope > 0]
    share = min(((have / MARGIN - line.fixed) / (line.slope * run.sessions) for run, line in growing), default=1)
    return max(2, int(n * min(share, 1)) // 2 * 2)
