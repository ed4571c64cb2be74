"""Selects the timed runs that a table shows: the newest repeats of each stack at each work."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from tlsmem.schema.harness_output import Meter, Scenario
from tlsmem.schema.records import SLOT_ARGUMENTS
from tlsmem.stats.comparability import (
    DECLARED_ARGUMENTS,
    MachineFields,
    describe_dropped,
    machine_identity,
    select_latest_builds,
    select_like_latest,
    sort_by_start,
)
from tlsmem.stats.series import allocator_name, cpu_name
from tlsmem.store.record import Record

FEW = 3  # stacks by name


def describe_left_out(
    records: Sequence[Record],
    of_builds: Sequence[Record],
    alike: Sequence[Record],
    group: Callable[[Record], Hashable],
    arguments: Callable[[Record], Iterable[str]],
) -> tuple[str, ...]:
    """Return sentences that say which runs were left out, and how they differ from the last of their group.

    `of_builds`: those of `records` that have the latest builds; `alike`: those of `of_builds` that are comparable.
    `arguments` returns the arguments of a run that must be equal in a group."""
    of_others = describe_dropped(records, of_builds, of_builds)
    kept = {id(one) for one in alike}
    dropped = [one for one in of_builds if id(one) not in kept]
    if not dropped:
        return of_others
    last = {group(one): one for one in sort_by_start(of_builds)}
    pairs = [(one, last[group(one)]) for one in dropped]
    theirs = dict.fromkeys(word for one, other in pairs for word in differing(one, other, arguments))
    ours = dict.fromkeys(word for one, other in pairs for word in differing(other, one, arguments))
    return (
        *of_others,
        f"{runs(dropped)} left out: made with {join_words(theirs)}, and the last with {join_words(ours)}",
    )


def differing(one: Record, other: Record, arguments: Callable[[Record], Iterable[str]]) -> Iterator[str]:
    """Yield the arguments and the machine's values that the one run has and the other has not."""
    yield from (word for word in arguments(one) if word not in set(arguments(other)))
    theirs = dict(machine_identity(other.machine))
    for name, value in machine_identity(one.machine):
        if name not in theirs or value != theirs[name]:
            yield f"{name} {value}"


def runs(dropped: Sequence[Record]) -> str:
    """Return the beginning of a sentence: how many runs, of which stacks, and the verb."""
    stacks = dict.fromkeys(one.stack for one in dropped)
    of = join_words(stacks) if len(stacks) <= FEW else f"{len(stacks)} stacks"
    return f"1 run of {of} is" if len(dropped) == 1 else f"{len(dropped):,} runs of {of} are"


def join_words(words: Iterable[str]) -> str:
    """Return at least one word as `A, B and C`."""
    *more, last = words
    return f"{', '.join(more)} and {last}" if more else last


SCENARIOS: tuple[Scenario, ...] = ("throughput", "handshake")
METERS = ("time", "instructions")
VARYING = (
    "build/harness/",
    "size=",
    "cpus=",
    *SLOT_ARGUMENTS,
    *DECLARED_ARGUMENTS,
)  # arguments: told apart elsewhere, or the slot's


@dataclass(frozen=True)
class Work:
    """What a thread is timed at, and the conditions that are equal for all stacks in a row of a table."""

    scenario: Scenario
    suite: str
    allocator: str = "system"
    cpu: str = "all"
    threads: int = 1
    size_bytes: int | None = None  # of a write

    @staticmethod
    def from_record(record: Record) -> "Work":
        """Return the work of a timed run."""
        kind = (allocator_name(record), cpu_name(record), record.threads or 1, record.size_bytes)
        return Work(record.scenario, record.suite, *kind)


@dataclass(frozen=True)
class TimedSeries:
    """The repeats of one stack at one work, measured or not."""

    stack: str
    work: Work
    records: tuple[Record, ...]

    def runs(self) -> list[Record]:
        """Return the measured runs by increasing repeat."""
        return sorted((one for one in self.records if one.status == "measured"), key=lambda one: one.repeat)

    @property
    def cpu(self) -> str:
        """The model of the machine's CPU; an empty string where there is no run."""
        return self.records[0].machine.cpu if self.records else ""

    def reason(self) -> str:
        """Return why there is no measured run."""
        for one in self.records:
            if one.status != "measured":
                return f"{one.status}: {' '.join((one.reason or '').split())}"
        return "not measured"


@dataclass(frozen=True)
class TimedSelection:
    """Timed runs. Stacks and works are in the order in which they were asked for, else recorded."""

    records: tuple[Record, ...]
    stacks: tuple[str, ...]
    works: tuple[Work, ...]
    left_out: tuple[str, ...] = ()  # sentences: how many runs stand in no line, and why
    counted: "TimedSelection | None" = None  # the same of runs that were not timed, but whose instructions were counted

    @property
    def every_record(self) -> tuple[Record, ...]:
        """The timed runs, and those whose instructions were counted."""
        return self.records + (self.counted.records if self.counted else ())

    @cached_property
    def runs_of(self) -> dict[tuple[str, Work], list[Record]]:
        """The records by stack and work."""
        found: dict[tuple[str, Work], list[Record]] = {}
        for one in self.records:
            found.setdefault((one.stack, Work.from_record(one)), []).append(one)
        return found

    def series(self, stack: str, work: Work) -> TimedSeries:
        """Return the runs of a stack at a work; no runs where there are none."""
        return TimedSeries(stack, work, tuple(self.runs_of.get((stack, work), ())))

    def series_of_work(self, work: Work) -> list[TimedSeries]:
        """Return the series of the stacks that have runs at this work."""
        return [self.series(stack, work) for stack in self.stacks if (stack, work) in self.runs_of]

    def every(self) -> list[TimedSeries]:
        """Return all series that have runs, by work."""
        return [series for work in self.works for series in self.series_of_work(work)]

    def where(self, wanted: Callable[[Work], bool]) -> "TimedSelection":
        """Return the part at the works that are wanted, with the stacks that have runs there."""
        works = tuple(filter(wanted, self.works))
        records = tuple(one for one in self.records if Work.from_record(one) in works)
        there = {one.stack for one in records}
        counted = self.counted and self.counted.where(wanted)
        return TimedSelection(records, tuple(one for one in self.stacks if one in there), works, self.left_out, counted)

    def select_scenario(self, scenario: Scenario) -> "TimedSelection":
        """Return the part in this scenario at the fewest threads; more threads have a table of their own."""
        fewest = min((work.threads for work in self.works if work.scenario == scenario), default=1)
        return self.where(lambda work: (work.scenario, work.threads) == (scenario, fewest))

    def varies(self, field: str) -> bool:
        """Return whether the works differ in this field of Work."""
        return len({getattr(work, field) for work in self.works}) > 1


def is_timed(record: Record) -> bool:
    """Return whether the run is one of a timed scenario."""
    return record.scenario in SCENARIOS


def line_of(record: Record) -> tuple[str, Work, Meter]:
    """Return what the repeats of one series share."""
    return record.stack, Work.from_record(record), record.meter


def conditions(record: Record) -> tuple[tuple[str, ...], MachineFields]:
    """Return what comparable runs share besides: the suite's arguments, the rounds, and the machine."""
    return arguments(record), machine_identity(record.machine)


def arguments(record: Record) -> tuple[str, ...]:
    """Return the suite's arguments and the rounds."""
    return tuple(word for word in record.argv if not word.startswith(VARYING))


def grouped(records: Iterable[Record], names: Sequence[str], suites: Sequence[str]) -> TimedSelection:
    """Return a selection of these records, with stacks and suites in this order; `suites` must name all."""
    records = tuple(records)

    def place(work: Work) -> tuple[int, int, bool, str, bool, str, int, int]:
        kind = (work.allocator != "system", work.allocator, work.cpu != "all", work.cpu, work.size_bytes or 0)
        return SCENARIOS.index(work.scenario), suites.index(work.suite), *kind, work.threads

    works = sorted({Work.from_record(one) for one in records}, key=place)
    there = {one.stack for one in records}
    return TimedSelection(records, tuple(one for one in dict.fromkeys(names) if one in there), tuple(works))


def select(
    records: Iterable[Record], stacks: Sequence[str] | None = None, suites: Sequence[str] | None = None
) -> TimedSelection:
    """Return the timed runs of each stack's latest build that are comparable with its last run, once a repeat.

    The newest run of a repeat counts. `stacks` and `suites` give the order; they leave nothing out."""
    records = [record for record in records if is_timed(record)]
    of_builds = select_latest_builds(records)
    alike = select_like_latest(of_builds, line_of, conditions)
    kept = {(*line_of(record), record.repeat): record for record in sort_by_start(alike)}.values()
    names = [*(stacks or ()), *(one.stack for one in records)]
    order = [*(suites or ()), *(one.suite for one in records)]
    timed, counted = (grouped((one for one in kept if one.meter == meter), names, order) for meter in METERS)
    said = describe_left_out(records, of_builds, alike, line_of, arguments)
    return replace(timed, left_out=said, counted=counted)
