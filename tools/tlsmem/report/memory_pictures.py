"""Pictures of memory: every stack in the suites that most of them did, and memory by sessions and phase where few
stacks stand side by side."""

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

from tlsmem.config.suite_variants import name_variant
from tlsmem.plots import in_use, memory, stacks
from tlsmem.report.recordings import Recording, recording_arguments
from tlsmem.report.sections import Picture
from tlsmem.stats.configured_stack import CONFIGURATIONS, base_settings
from tlsmem.stats.selection import Selection, select, select_campaign
from tlsmem.stats.series import Setting
from tlsmem.tables.catalogue import has_many_stacks

IN_USE = "What a server session in use holds"
EVERY = "What a server session keeps, every stack"
SUITES = 3  # with a picture of every stack each
FEW = ("repeat", "mem")  # campaigns of few stacks side by side


def pictures(recording: Recording, several: bool) -> Iterator[Picture]:
    """None where nothing was measured: there is nothing to draw."""
    selection = recording.contents.memory
    if not selection or not any(one.status == "measured" for one in selection.records):
        return
    ending, named = (f"-{recording.name}", f", {recording.name}") if several else ("", "")
    if base_settings(selection):
        of = stacks_in_use(recording, selection)
    else:
        of = every_stack(recording, selection) if has_many_stacks(selection) else side_by_side(recording, selection)
    for one in of:
        group = f"{one.group}{named}" if one.group else None
        yield one._replace(name=f"{one.name}{ending}", title=f"{one.title}{named}", group=group)


def stacks_in_use(recording: Recording, selection: Selection) -> Iterator[Picture]:
    """Servers of each suite that was measured with the library's defaults, by what a session in use holds."""
    measured = {one.suite for one in selection.records if one.status == "measured"}
    command = f"tools/tls-memtest show stacks {recording_arguments(recording)} -o in-use --suite"
    says = "With the library's own options and tickets, and with its ways to hold less. The table has the figures."
    for suite in dict.fromkeys(setting.suite for setting in base_settings(selection)):
        if name_variant(suite, *CONFIGURATIONS["default"]) not in measured:
            continue
        title = f"What a server session in use holds in {suite}"
        draw = partial(in_use.figure, selection, "server", suite)
        yield Picture(f"in-use-{suite}", title, says, f"{command} {shlex.quote(suite)}", draw, IN_USE, suite)


def select_alone(selection: Selection) -> Selection:
    """Return the part in which each role of one stack is in a process of its own, in the controlled environment."""
    return selection.where(lambda one: one.peer is None and one.env == "lab" and one.roles == "split")


def every_stack(recording: Recording, selection: Selection) -> Iterator[Picture]:
    """Yield a picture of servers in each of the suites that most stacks did."""
    alone = select_alone(selection)
    by_role = f"tools/tls-memtest show stacks {recording_arguments(recording)} -o stacks --roles split --suite"
    for suite in popular(alone):
        some = alone.where(partial(is_in_suite, suite))
        title = f"What a server session keeps in {suite}"
        told = (f"stacks-{suite}", title, f"{title}, the smallest first. The table has the figures.")
        yield Picture(*told, f"{by_role} {shlex.quote(suite)}", partial(stacks.figure, some, "server"), EVERY, suite)


def is_in_suite(suite: str, setting: Setting) -> bool:
    return setting.suite == suite


def popular(selection: Selection) -> list[str]:
    """Suites that most stacks did, one of each protocol and group, in the order in which they were recorded."""
    measured = [one for one in selection.records if one.status == "measured"]
    did = Counter(suite for _, suite in {(one.stack, one.suite) for one in measured})
    agreed = {one.suite: one.negotiated for one in measured}
    best: dict[tuple[str | None, str | None] | None, str] = {}
    for suite in sorted(did, key=lambda suite: (-did[suite], suite)):
        found = agreed[suite]
        best.setdefault((found.protocol, found.group) if found else None, suite)
    kept = [*best.values()][:SUITES]
    return [suite for suite in dict.fromkeys(one.suite for one in selection.settings) if suite in kept]


def side_by_side(recording: Recording, selection: Selection) -> Iterator[Picture]:
    """Of a campaign where it is there, else of the plainest settings."""
    command = f"tools/tls-memtest show mem {recording_arguments(recording)} -o memory"
    kept = plain(selection)
    for name in FEW:
        found = select_campaign(recording.records, name)
        if len({one.sessions for one in found if one.status == "measured"}) > 1:
            command, kept = f"{command} --campaign {name}", select(found)
            break
    says = "Above, peak RSS by sessions with the line through it; below, memory by phase of the handshake. "
    says += "The tables have the figures."
    yield Picture("memory", "Memory by sessions and by phase", says, command, lambda: memory.figure(kept))


def plain(selection: Selection) -> Selection:
    """Both ends in one process, in the controlled environment, all at once; where that was not measured, what was."""
    found = selection.where(
        lambda one: (one.roles, one.env, one.window, one.peer, one.cpu) == ("together", "lab", "all", None, "all")
    )
    return found if any(one.status == "measured" for one in found.records) else selection


def memory_pictures(recordings: Sequence[Recording]) -> Iterator[Picture]:
    """Sessions in use come first, and of recordings alike the one with the most stacks."""
    of_memory = [(one, one.contents.memory) for one in recordings if one.contents.memory]
    kinds = Counter(has_many_stacks(measured) for _, measured in of_memory)
    for one, measured in sorted(of_memory, key=lambda pair: rank(pair[1])):
        yield from pictures(one, kinds[has_many_stacks(measured)] > 1)


def rank(measured: Selection) -> tuple[bool, int]:
    return not base_settings(measured), -len({one.stack for one in measured.records if one.status == "measured"})
