"""Which stacks stand beside each other at a glance: of the setting that most were measured in, by what an established
server session keeps; and of each library its newest release."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from tlsmem.config import releases
from tlsmem.config.run import SYSTEM
from tlsmem.report.recordings import Recording
from tlsmem.schema.harness_output import Role
from tlsmem.schema.records import Record
from tlsmem.stats.missing import Missing
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Setting
from tlsmem.tables.environments import LAB
from tlsmem.tables.stacks import StackRow, rank_by_live_heap

RANKED_ROLE: Role = "server"
PLAIN = (SYSTEM, "all", None, LAB, "all")  # allocator, window, peer, environment, CPU
NEARLY = 0.75  # of the most stacks


class StackRanking(NamedTuple):
    """Of a recording the stacks that tell what an established session keeps, the smallest first."""

    recording: Recording
    setting: Setting
    standings: list[StackRow]


def best_ranking(recordings: Sequence[Recording]) -> StackRanking | None:
    """Where most stacks stand beside each other; of nearly as many TLS 1.3, and roles that have a process each."""
    found = [(one, setting) for one in recordings if one.contents.memory for setting in settings(one.contents.memory)]
    if not found:
        return None

    def stacks(place: tuple[Recording, Setting]) -> int:
        return len({one.stack for one in measured_records(place[0].contents.memory, place[1])})

    most = max(map(stacks, found))

    def likeness(place: tuple[Recording, Setting]) -> tuple:
        agreed = measured_records(place[0].contents.memory, place[1])[0].negotiated
        newer = bool(agreed and agreed.protocol == "TLSv1.3")
        return stacks(place) >= NEARLY * most, newer, stacks(place), place[1].roles == "split"

    for recording, setting in sorted(found, key=likeness, reverse=True):
        if standing := rank_setting(recording.contents.memory, setting):
            return StackRanking(recording, setting, standing)
    return None


def settings(selection: Selection) -> Iterator[Setting]:
    """Plain ones, with a session of the role and a run."""
    for one in selection.settings:
        plain = (one.allocator, one.window, one.peer, one.env, one.cpu) == PLAIN
        if plain and RANKED_ROLE in one.processes and measured_records(selection, one):
            yield one


def measured_records(selection: Selection, setting: Setting) -> list[Record]:
    return [
        one
        for stack in selection.stacks
        for one in selection.runs_of.get((stack, setting), ())
        if one.status == "measured"
    ]


def rank_setting(selection: Selection, setting: Setting) -> list[StackRow]:
    found = rank_by_live_heap(selection, setting, RANKED_ROLE)
    return [row for row in found if not isinstance(row.established, Missing)]


def newest_releases(standings: Sequence[StackRow]) -> list[StackRow]:
    """Of each library the newest release, without builds of it for another purpose. Providers count as libraries:
    rustls+ring and rustls+aws-lc each have no plain rustls beside them."""
    by_library = releases.group_by_library(one.stack for one in standings)
    kept = {max(found, key=final) for found in by_library.values()}
    plain = {one.partition("@")[0] for one in kept}
    kept = {one for one in kept if not built_otherwise(releases.library_with_variant(one), plain)}
    unversioned = {one.stack for one in standings} - {stack for found in by_library.values() for stack in found}
    kept |= {one for one in unversioned if releases.library_with_variant(one) not in by_library}
    return [one for one in standings if one.stack in kept]


def final(stack: str) -> tuple:
    """What was released comes after what was released to be tried."""
    version = releases.version(stack)
    return "-" not in version, releases.version_key(version)


def sort_newest_first(stacks: Iterable[str]) -> list[str]:
    """By release, whatever the library; of one release those of fewer variants first."""
    return sorted(sorted(dict.fromkeys(stacks), key=lambda stack: stack.count("+")), key=final, reverse=True)


def built_otherwise(library: str, there: set[str]) -> bool:
    """openssl+clang beside openssl, rustls+aws-lc+jemalloc-rust beside rustls+aws-lc."""
    parts = library.split("+")
    return any("+".join(parts[:count]) in there for count in range(1, len(parts)))
