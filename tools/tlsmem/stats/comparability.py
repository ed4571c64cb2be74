"""Which runs may be compared: those of one binary that differ only in what their campaign varies."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cache

from tlsmem.schema.recorded_arguments import has_full_records
from tlsmem.schema.records import SLOT_ARGUMENTS, UNDECLARED_MACHINE_FIELDS
from tlsmem.schema.run_origins import Machine
from tlsmem.store.record import Record

DECLARED_ARGUMENTS = ("role=", "keep=", "aslr=", "thp=", "threads=", "data=")  # what follows from a setting


def sort_by_start(records: Iterable[Record]) -> list[Record]:
    """Return the records by their start; those that started at the same second stay in their order."""
    return sorted(records, key=lambda one: one.started_at)


Aspect = Callable[[Record], Hashable]
MachineFields = tuple[tuple[str, Hashable], ...]  # names and values


def select_like_latest(records: Iterable[Record], group: Aspect, aspect: Aspect) -> list[Record]:
    """Return the runs of each group whose aspect is that of the group's run that started last."""
    records = list(records)
    latest = {group(record): aspect(record) for record in sort_by_start(records)}
    return [record for record in records if aspect(record) == latest[group(record)]]


def builds(record: Record) -> dict[str, str]:
    """Return the SHA-256 of the binary by stack: both stacks of a mixed pair."""
    peer = {record.peer.stack: record.peer.binary_sha256} if record.peer else {}
    return peer | {record.stack: record.binary_sha256}


def select_latest_builds(records: Iterable[Record]) -> list[Record]:
    """Return the runs whose stacks, at either end of a pair, are those of each stack's latest binary."""
    records = list(records)
    latest = {stack: binary for record in sort_by_start(records) for stack, binary in builds(record).items()}
    return [record for record in records if builds(record).items() <= latest.items()]


def conditions(record: Record) -> tuple[tuple[str, ...], MachineFields]:
    """Return what a run's key has besides its declared fields and its binary: the suite's arguments and the machine."""
    varying = ("build/harness/", "sessions=", "window=", *SLOT_ARGUMENTS, *DECLARED_ARGUMENTS)
    return tuple(word for word in record.argv if not word.startswith(varying)), machine_identity(record.machine)


@cache
def machine_identity(machine: Machine) -> MachineFields:
    """Return the fields that tell machines apart: those of the path, and the number of CPUs.

    Where no path is recorded they are those of older schemas, so such a machine is never one with a path."""
    if machine.path:
        return ("cpus", machine.cpus), *machine.path.model_dump().items()
    known = machine.model_dump()
    return tuple((name, value) for name, value in known.items() if name not in (*UNDECLARED_MACHINE_FIELDS, "context"))


def arrangement(record: Record) -> tuple[str | None, ...]:
    """Return the run's path, and the arguments that follow from its setting: equal where that is."""
    return record.path, *(word for word in record.argv if word.startswith(DECLARED_ARGUMENTS))


def declared_arrangement(record: Record) -> tuple[str | bool, ...]:
    """Return what a campaign declares that decides the arrangement."""
    cpu = record.cpu_features.name if record.cpu_features else ""
    return record.stack, record.suite, record.roles, record.env, cpu, has_full_records(record)


def select_comparable(records: Iterable[Record]) -> list[Record]:
    """Return the runs of each stack's latest build that share conditions, arrangement and meter with the last run.

    Conditions are compared in each suite, arrangements for each setting of it, and builds of the heap meter for each
    kind of run."""
    alike = select_like_latest(select_latest_builds(records), lambda one: (one.stack, one.suite), conditions)
    alike = select_like_latest(alike, declared_arrangement, arrangement)
    return select_like_latest(alike, lambda one: (one.stack, one.suite, one.meter), lambda one: one.meter_sha256)


def stack_label(record: Record) -> str:
    """Return the stack as sentences name it; a mixed pair is `client to server`."""
    return f"{record.peer.stack} to {record.stack}" if record.peer else record.stack


def describe_dropped(
    records: Sequence[Record], of_builds: Sequence[Record], alike: Sequence[Record]
) -> tuple[str, ...]:
    """Return a sentence for each stack, and stack and suite, of which runs were left out, and why.

    `of_builds`: those of `records` that have the latest builds; `alike`: those of `of_builds` that are comparable."""
    builds = Counter(map(stack_label, records))
    builds.subtract(map(stack_label, of_builds))
    others = Counter((stack_label(one), one.suite) for one in of_builds)
    others.subtract((stack_label(one), one.suite) for one in alike)
    of_conditions = (other_conditions(*pair, count) for pair, count in others.items() if count)
    told = (other_builds(stack, count) for stack, count in builds.items() if count)
    by = (other_compilers(stack, records, of_builds) for stack, count in builds.items() if count)
    return (*map("".join, zip(told, by, strict=True)), *of_conditions)


def other_builds(stack: str, count: int) -> str:
    """Return the sentence about runs of other builds, without its full stop."""
    if count == 1:
        return f"1 run of another build of {stack} is left out"
    return f"{count:,} runs of other builds of {stack} are left out"


def other_compilers(stack: str, records: Iterable[Record], of_builds: Iterable[Record]) -> str:
    """Return the end of that sentence where other compilers made these builds than those kept; else an empty string."""
    every, kept = ({compilers(one): None for one in some if stack_label(one) == stack} for some in (records, of_builds))
    others = [one for one in every if one not in kept] if kept else []
    return f", made by {'; '.join(others)} and not by {'; '.join(kept)}" if others else ""


def compilers(record: Record) -> str:
    """Return the compiler of the run's build; of a mixed pair those of client and server."""
    return f"{record.peer.compiler} and {record.compiler}" if record.peer else record.compiler


def other_conditions(stack: str, suite: str, count: int) -> str:
    """Return the sentence about runs under other conditions, without its full stop."""
    runs = "1 run of" if count == 1 else f"{count:,} runs of"
    verb = "is" if count == 1 else "are"
    return f"{runs} {stack} in {suite} with other arguments, on another machine or by another meter {verb} left out"


def describe_left_out(records: Sequence[Record]) -> tuple[str, ...]:
    """Return sentences that say how many of the runs are not comparable, and why."""
    return describe_dropped(records, select_latest_builds(records), select_comparable(records))
