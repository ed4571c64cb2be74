"""What is said of timed runs that stand in no table: of other builds, or made otherwise than the last of their kind."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

from tlsmem.schema.records import UNDECLARED, Record
from tlsmem.stats.comparability import by_start, missing_from

FEW = 3  # stacks by name


def sentences(
    records: Sequence[Record],
    of_builds: Sequence[Record],
    alike: Sequence[Record],
    group: Callable[[Record], Hashable],
    arguments: Callable[[Record], Iterable[str]],
) -> tuple[str, ...]:
    """Each is a part of the one before. `group`: of whose runs the last counts; `arguments`: what tells them apart."""
    of_others = missing_from(records, of_builds, of_builds)
    kept = {id(one) for one in alike}
    dropped = [one for one in of_builds if id(one) not in kept]
    if not dropped:
        return of_others
    last = {group(one): one for one in by_start(of_builds)}
    pairs = [(one, last[group(one)]) for one in dropped]
    theirs = dict.fromkeys(word for one, other in pairs for word in differing(one, other, arguments))
    ours = dict.fromkeys(word for one, other in pairs for word in differing(other, one, arguments))
    return (*of_others, f"{runs(dropped)} left out: made with {listed(theirs)}, and the last with {listed(ours)}")


def differing(one: Record, other: Record, arguments: Callable[[Record], Iterable[str]]) -> Iterator[str]:
    """What the one has and the other not."""
    yield from (word for word in arguments(one) if word not in set(arguments(other)))
    ours, others = one.machine.model_dump(), other.machine.model_dump()
    for name, value in ours.items():
        if name not in UNDECLARED and value != others[name]:
            yield f"{name} {value}"


def runs(dropped: Sequence[Record]) -> str:
    stacks = dict.fromkeys(one.stack for one in dropped)
    of = listed(stacks) if len(stacks) <= FEW else f"{len(stacks)} stacks"
    return f"1 run of {of} is" if len(dropped) == 1 else f"{len(dropped):,} runs of {of} are"


def listed(words: Iterable[str]) -> str:
    *more, last = words
    return f"{', '.join(more)} and {last}" if more else last
