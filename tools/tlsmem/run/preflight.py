"""Will it fit into memory? Two small runs forecast what the big ones need; transfers are refused before any run."""

import re
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from tlsmem.base.errors import UserError
from tlsmem.config import timed_matrix
from tlsmem.config.campaigns import AnyCampaign, TimedCampaign
from tlsmem.config.run import Run
from tlsmem.config.timed_matrix import thread_counts
from tlsmem.run.validate import Outcome
from tlsmem.schema.machine import meminfo_bytes

MOUNT = Path("/sys/fs/cgroup")


def available_bytes() -> int:
    return min([meminfo_bytes("MemAvailable"), *read_group_limits(MOUNT, Path("/proc/self/cgroup").read_text())])


def read_group_limits(mount: Path, membership: str) -> list[int]:
    """What each limited group still has, from this process's own (`0::/a/b`) up; a limit holds for all below."""
    found = re.search(r"^0::/(.*)$", membership, re.MULTILINE)
    own = mount / found[1] if found else mount
    groups = [group for group in (own, *own.parents) if group.is_relative_to(mount)]
    return [left for group in groups if (left := group_left_bytes(group)) is not None]


def group_left_bytes(group: Path) -> int | None:
    """None without a limit. Files that the kernel has cached give way, as they do in MemAvailable."""
    try:
        limit = (group / "memory.max").read_text().strip()
        used = int((group / "memory.current").read_text())
        cached = re.search(r"^inactive_file (\d+)$", (group / "memory.stat").read_text(), re.MULTILINE)
    except (OSError, ValueError):
        return None
    return None if limit == "max" else max(0, int(limit) - used + (int(cached[1]) if cached else 0))


PROBES = (20, 200)  # sessions
SMALL = 2_000  # sessions that cannot matter: at most some 200 MiB a run
MARGIN = 1.05  # page tables and what a straight line leaves out
MIB = 1024 * 1024


@dataclass(frozen=True)
class MemoryNeed:
    """Bytes that a run needs by its sessions: resident ones, and those in its wires."""

    fixed: float
    slope: float

    def bytes_at(self, sessions: int) -> float:
        return MARGIN * (self.fixed + self.slope * sessions)


Probe = Callable[[Run], Awaitable[Outcome]]


async def forecast_runs(runs: Iterable[Run], probe: Probe) -> dict[Run, MemoryNeed]:
    """A line for each run of more than a few sessions; runs of a stack that cannot do a suite need nothing."""
    found: dict[Run, MemoryNeed] = {}
    for run in runs:
        if run.sessions > SMALL and need_key(run) not in found:
            found[need_key(run)] = await line(run, probe)
    return {run: found[need_key(run)] for run in runs if run.sessions > SMALL}


def need_key(run: Run) -> Run:
    """What needs alike. The host's huge pages stay as they are for a probe."""
    return replace(run, sessions=0, repeat=1, meter="rss", env="lab" if run.env == "lab" else "deployed")


async def line(run: Run, probe: Probe) -> MemoryNeed:
    """Probes lie beyond the window, where one more session is one more established session."""
    start = 2 * run.window if run.window != "all" and 2 * run.window < run.sessions else 0
    points = []
    for sessions in PROBES:
        outcome = await probe(replace(need_key(run), sessions=start + sessions))
        if outcome.status != "measured":
            return MemoryNeed(0, 0)  # the campaign records why
        points.append((start + sessions, need_bytes(outcome)))
    (few, small), (many, large) = points
    slope = (large - small) / (many - few)
    return MemoryNeed(small - slope * few, slope)


def need_bytes(outcome: Outcome) -> int:
    """Of two processes the sum: both stand in the same phase, and see the same wires."""
    needs: Counter[tuple[str, int | None]] = Counter()
    for phase in outcome.phases:
        needs[phase.phase, phase.wave] += phase.peak_rss_bytes + (phase.wire_bytes if phase.process != "server" else 0)
    return max(needs.values())


def jobs_that_fit(needs: dict[Run, MemoryNeed], jobs: int, have: float) -> int:
    """How many of the largest runs may be in flight at once; 0 when not even one may."""
    largest = sorted((line.bytes_at(run.sessions) for run, line in needs.items()), reverse=True)[:jobs]
    return next((count for count in range(len(largest), 0, -1) if sum(largest[:count]) <= have), 0)


def limit_jobs(needs: dict[Run, MemoryNeed], jobs: int, n: int) -> int:
    """The number of jobs that memory allows, at most `jobs`; says so when fewer, raises UserError when none."""
    if not needs:
        return jobs
    have = available_bytes()
    fitting = jobs_that_fit(needs, jobs, have)
    worst, line = max(needs.items(), key=lambda item: item[1].bytes_at(item[0].sessions))
    needed_mib = line.bytes_at(worst.sessions) / MIB
    need = f"{worst.stack} {worst.suite} needs {needed_mib:,.0f} MiB at {worst.sessions:,} sessions"
    available = f"{have / MIB:,.0f} MiB are available"
    if not fitting:
        fits = largest_n(needs, have, n)
        way_out = f"the largest N that fits is {fits}" if fits else "no N fits"
        raise UserError(f"N={n} is more than memory holds: {need}, {available}; {way_out}")
    if fitting < min(jobs, len(needs)):
        print(f"memtest: {need}, {available}: JOBS={fitting} instead of {jobs}", file=sys.stderr)
        return fitting
    return jobs


def largest_n(needs: dict[Run, MemoryNeed], have: float, n: int) -> int:
    """One run at a time; 0 when not even two sessions fit. The largest run of a campaign may be a fraction of its N."""
    if any(line.bytes_at(2) > have for line in needs.values()):
        return 0
    growing = [(run, line) for run, line in needs.items() if line.slope > 0]
    share = min(((have / MARGIN - line.fixed) / (line.slope * run.sessions) for run, line in growing), default=1)
    return max(2, int(n * min(share, 1)) // 2 * 2)


COPIES = 4  # of a round, in each thread: what is sent, what is received, the wire, and its copying measured afterwards


def check_memory(campaign: AnyCampaign) -> None:
    """Raises UserError when the largest run of a campaign of transfers does not fit."""
    if not isinstance(campaign, TimedCampaign) or campaign.scenario != "throughput":
        return
    size, threads = max(campaign.sizes), max(thread_counts(campaign))
    need, have = MARGIN * COPIES * timed_matrix.writes_per_round(size) * size * threads, available_bytes()
    if need > have:
        of = f"writes of {size:,} bytes, of {threads:,} thread{'s' * (threads > 1)},"
        much = f"need {need / MIB:,.0f} MiB, and {have / MIB:,.0f} MiB are available"
        raise UserError(f"{of} {much}; smaller SIZES or fewer THREADS fit")
