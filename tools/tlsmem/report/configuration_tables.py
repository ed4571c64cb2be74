"""Every stack in three configurations: without tickets, as the library is by default, and with low memory."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tlsmem.base.paths import ROOT
from tlsmem.config.stack_names import newest_releases
from tlsmem.config.suite_title import suite_title
from tlsmem.cost.find_costs import SUITE
from tlsmem.report import memory_pictures, recordings
from tlsmem.report.recordings import Recording
from tlsmem.report.sections import Picture, ShownTable
from tlsmem.stats.comparability import MachineFields, machine_identity
from tlsmem.stats.configured_stack import Place, base_settings
from tlsmem.stats.selection import Selection, select
from tlsmem.stats.series import Setting
from tlsmem.store.record import Record
from tlsmem.tables.in_use import rank_all, table_from_places

TITLE = "Every stack in three configurations: no tickets, library defaults, low memory"


class Compared(NamedTuple):
    """The recordings of one machine that compare configurations, and the places of their stacks."""

    recordings: list[Recording]
    places: list[list[Place]]  # of each suite and role


def find_compared(read: Sequence[Recording], among: Sequence[Path]) -> list[Compared]:
    """Return the recordings `among`, by machine, whose stacks have places both without tickets and in use.

    Those that were read already are not read again. A stack that several have is taken from the first of them."""
    asked = [recordings.path_from_root(path) for path in among]
    known = [one for one in read if one.path in asked]
    there = {one.path for one in known}
    others = {path: recordings.load_silently(ROOT / path) for path in asked if path not in there}
    found = sorted([*known, *recordings.by_machine(others)], key=lambda one: asked.index(one.path))
    machines: dict[MachineFields, list[Recording]] = {}
    for one in found:
        if one.contents.memory and base_settings(one.contents.memory):
            machines.setdefault(machine_identity(one.records[0].machine), []).append(one)
    compared = [Compared(several, compared_places(merge_selections(several))) for several in machines.values()]
    return [one for one in compared if one.places]


def merge_selections(several: Sequence[Recording]) -> Selection:
    """Return the runs with full records, each stack's in a setting from the first recording that has them."""
    selections = [one.contents.memory for one in several if one.contents.memory]
    found = [runs for selection in selections for runs in selection.runs_of.items()]
    kept: dict[tuple[str, Setting], Sequence[Record]] = {}
    for (stack, setting), runs in found:
        if setting.data == "full":
            kept.setdefault((stack, setting), runs)
    return select(run for runs in kept.values() for run in runs)


def compared_places(selection: Selection) -> list[list[Place]]:
    """Return the places of each suite and role in which some stack has both."""
    return [some for some in rank_all(selection) if any(one.before and one.in_use for one in some)]


def configuration_tables(compared: Sequence[Compared], command: str) -> tuple[ShownTable, ...]:
    """Return a table for each machine; `command` writes them when it is told their names."""
    return tuple(shown_table(one, command, several=len(compared) > 1) for one in compared)


def shown_table(compared: Compared, command: str, several: bool) -> ShownTable:
    """Return the table of one machine."""
    names = [one.name for one in compared.recordings]
    made = table_from_places(compared.places)
    made.title = f"{TITLE}, {names[0]}" if several else TITLE
    made.name = f"{made.name}-{names[0]}" if several else made.name
    made.caption = " ".join([made.caption, *describe_ranks(compared.places), f"Recorded in {' and '.join(names)}."])
    return ShownTable(made, f"{command} --table {made.name}")


def configuration_pictures(compared: Sequence[Compared], read: Sequence[Recording]) -> Iterator[Picture]:
    """Yield the pictures of stacks in use: of each machine the recording with most stacks, if the page has it not."""
    for one in compared:
        largest = max(one.recordings, key=count_compared)
        selection = largest.contents.memory
        if selection and largest.path not in {each.path for each in read}:
            pictures = memory_pictures.stacks_in_use(largest, selection)
            yield from sorted(pictures, key=lambda picture: picture.label != SUITE)


def count_compared(recording: Recording) -> int:
    """Return how many stacks have runs with full records and a process for each role."""
    selection = recording.contents.memory
    runs = selection.runs_of if selection else ()
    return len({stack for stack, setting in runs if setting.data == "full" and setting.roles == "split"})


def describe_ranks(places: Sequence[Sequence[Place]]) -> Iterator[str]:
    """Say which libraries' newest releases change rank among servers of the usual suite, the largest change first."""
    for some in places:
        stack = some[0].stack
        if (stack.setting.suite, stack.role) != (SUITE, "server"):
            continue
        newest = newest_releases(one.stack.stack for one in some).values()
        ranks = [(one.stack.stack, one.before, one.in_use) for one in some if one.before and one.in_use]
        changed = [(name, before, now) for name, before, now in ranks if name in newest and before != now]
        changed.sort(key=lambda rank: -abs(rank[1] - rank[2]))
        if changed:
            said = ", ".join(f"{name} from {before} to {now}" for name, before, now in changed)
            yield (
                f"Rank among {len(some)} stacks ({suite_title(SUITE)}, servers), from no tickets to in use with the "
                f"library's own tickets, newest release of each library: {said}."
            )
