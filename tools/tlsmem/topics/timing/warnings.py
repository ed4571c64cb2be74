"""What else the machine did during timed runs, and what a campaign's times may be worth:
sentences about a noisy machine, with the cause, and about odd repeats."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from tlsmem.config.timed_matrix import TimedRun, run_from_record
from tlsmem.run.machine_noise import TICK_NS
from tlsmem.schema import timed_record
from tlsmem.schema.timed_record import Noise
from tlsmem.stats import timed_rates
from tlsmem.store.record import Record

MOST = 10  # sentences about repeats

# A run is noisy from here on.
LOAD = 1.0  # tasks that wanted to run before it, beyond the campaign's own threads
BUSY_CPUS = 0.1  # that other processes had all the while
STEAL = 0.01  # of the CPUs' time
MHZ = 0.05  # by which the frequency changed, of what it was
PREEMPTED_S = 20.0  # times a second and thread

# A repeat is odd that is as many times the median absolute deviation away, of a normal distribution so many sigmas.
SIGMAS, NORMAL, LEAST = 5, 1.4826, 0.02  # and away by this share of the median
FEWEST = 4  # repeats of which one can be odd


@dataclass(frozen=True)
class NoiseCause:
    """How much of it a run saw; what is too much; a sentence of how many runs, and of the worst."""

    seen: Callable[[Record], float]
    limit: float
    text: str
    worst: Callable[[float], str]


def noise_of(run: Record) -> Noise:
    """Return what was read of the machine; every measured timed run has it."""
    assert run.noise
    return run.noise


def load(run: Record) -> float:
    """Return the runnable tasks in the minute before the run."""
    return noise_of(run).load


def busy_cpus(run: Record) -> float:
    """Return how many CPUs other processes had, beyond a tick of each CPU, which is as exact as the kernel is."""
    return (noise_of(run).busy_ns - run.machine.cpus * TICK_NS) / max(1, run.elapsed_ns)


def stolen_share(run: Record) -> float:
    """Return the share of all CPUs that the hypervisor took, beyond a tick of each."""
    return (noise_of(run).steal_ns - run.machine.cpus * TICK_NS) / max(1, run.elapsed_ns * run.machine.cpus)


def frequency_change(run: Record) -> float:
    """Return by which share the CPUs' frequency changed during the run; over runs the governor may choose another."""
    mhz = noise_of(run).mhz
    if not mhz or not mhz[0]:
        return 0.0
    before, after = mhz
    return abs(after / before - 1)


def preemptions_per_second(run: Record) -> float:
    """Return the involuntary context switches per second of the thread that had the most."""
    return max(1e9 * one.preempted / max(1, one.elapsed_ns) for one in run.timings or ())


def preemption(run: Record) -> float:
    """Of more threads than CPUs it is no noise."""
    return 0.0 if (run.threads or 1) > run.machine.cpus else preemptions_per_second(run)


ADVICE = "noise makes runs slower: measure again with FRESH=1 while nothing else runs here"
WAITING = "other tasks were runnable in the minute before"
CAUSES = (
    NoiseCause(busy_cpus, BUSY_CPUS, "other processes", lambda most: f"they used {most:.2f} CPUs during the run"),
    NoiseCause(stolen_share, STEAL, "stolen time", lambda most: f"the hypervisor took {most:.1%} of the CPUs' time"),
    NoiseCause(frequency_change, MHZ, "the CPU's frequency", lambda most: f"it changed by {most:.0%}"),
    NoiseCause(
        preemption, PREEMPTED_S, "preemption", lambda most: f"a thread was interrupted {most:,.0f} times a second"
    ),
)


def describe_noise(records: Iterable[Record]) -> list[str]:
    """Of noise, of odd repeats, and what is to be done."""
    made = timed(records)
    odd = list(outliers(made))
    more = [f"and {len(odd) - MOST} repeats more are far from the others"] if len(odd) > MOST else []
    loud = list(noisy(made))
    return [*loud, *odd[:MOST], *more, *[ADVICE] * bool(loud)]


def summarize_noise(records: Iterable[Record]) -> str:
    """For a caption; nothing where no run was noisy."""
    made = timed(records)
    said = [f"{cause.text} in {len(found)}" for cause, found in seen(made)]
    return f"Noise: {', '.join(said)} of {len(made):,} run{'s' * (len(made) > 1)}." if said else ""


def timed(records: Iterable[Record]) -> list[Record]:
    return [one for one in records if one.status == "measured" and one.meter == "time"]


def noisy(made: Sequence[Record]) -> Iterator[str]:
    for cause, found in seen(made):
        at = max(found, key=found.__getitem__)
        counts = f"{len(found)} of {len(made)} runs"
        yield f"noise: {cause.text}, in {counts}; the worst was {run_from_record(made[at])}: {cause.worst(found[at])}"


def seen(made: Sequence[Record]) -> Iterator[tuple[NoiseCause, dict[int, float]]]:
    """Each cause that there was, with how much of it the runs saw that saw too much, by their place."""
    # Threads of the runs before may be the campaign's own.
    own = max((run.threads or 1 for run in made), default=1)
    loaded = NoiseCause(lambda run: load(run) - own, LOAD, "a loaded machine", lambda most: f"{most:.1f} {WAITING}")
    for cause in (loaded, *CAUSES):
        found = {at: cause.seen(run) for at, run in enumerate(made) if cause.seen(run) > cause.limit}
        if found:
            yield cause, found


def outliers(made: Sequence[Record]) -> Iterator[str]:
    """By the part of a run that is farthest from the median of its repeats."""
    for runs in repeats(made):
        names = timed_record.INTERVAL_PARTS[runs[0].scenario]
        far = {name: deviations([timed_rates.mean_interval_ns(name)(run) or 0.0 for run in runs]) for name in names}
        for at, run in enumerate(runs):
            name = max(names, key=lambda name: abs(far[name][at] - 1))
            if far[name][at] != 1:
                yield f"odd: {describe_run(run)}: {name} took {far[name][at]:.2f} of the median of {len(runs)} repeats"


def describe_run(run: Record) -> str:
    """A first repeat says so here."""
    return f"{run_from_record(run)}{' repeat 1' if run.repeat == 1 else ''}"


def repeats(made: Sequence[Record]) -> list[list[Record]]:
    """Of one stack at one work, one run of each repeat: the last."""
    groups: dict[tuple[object, ...], dict[int, Record]] = {}
    for run in sorted(made, key=lambda one: one.started_at):
        asked: TimedRun = run_from_record(run)
        key = (*(getattr(asked, name) for name in ("stack", "suite", "allocator", "cpu")), run.scenario, run.threads)
        groups.setdefault((*key, run.size_bytes, run.rounds, run.binary_sha256), {})[run.repeat] = run
    return [list(group.values()) for group in groups.values() if len(group) >= FEWEST]


def deviations(values: Sequence[float]) -> list[float]:
    """Each by the median where it is odd, else 1."""
    middle = median(values)
    spread = NORMAL * median(abs(value - middle) for value in values)
    limit = max(SIGMAS * spread, LEAST * middle)
    return [value / middle if abs(value - middle) > limit else 1.0 for value in values]
