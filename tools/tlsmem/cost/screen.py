"""A stack's costs on one screen of 80 columns."""

import shlex
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.text import Text

from tlsmem.base.phase_names import READABLE_NAMES
from tlsmem.config.libraries import libraries, library_key, stack_title
from tlsmem.config.recording_command import Advice
from tlsmem.config.releases import group_by_library, library_with_variant, version
from tlsmem.config.stack_names import newest_releases
from tlsmem.config.suite_title import suite_difference, suite_title
from tlsmem.cost.added_memory import added_lines
from tlsmem.cost.find_costs import (
    EVERY_COST,
    SUITE,
    StackCosts,
    advise_parts,
    find_costs,
    find_costs_or_like,
    find_other_states,
    find_parts,
    find_peaks,
)
from tlsmem.plan.recorded_states import describe_configuration
from tlsmem.schema.roles import Role
from tlsmem.stats.configured_stack import Configuration
from tlsmem.stats.costs import COSTS, LIVE_AT_REST, LIVE_IN_USE, RSS_IN_USE, Cost
from tlsmem.stats.missing import NOT_RECORDED, Missing, keep_present
from tlsmem.stats.runtime_heap import RuntimeHeap
from tlsmem.store import recordings
from tlsmem.tables.settings import dates

GIB = 2**30
BAR_CELLS = 20
TITLE_CELLS = 43
COMPARED = (LIVE_IN_USE, RSS_IN_USE)  # with other libraries
LARGEST_PARTS = 3
MANY = 100_000  # connections, of the line that leads to tls-memtest plan
FOLLOWING: dict[str, str] = {
    "live_heap_in_use_bytes": "exact, to the byte",
    "rss_at_rest_bytes": "no data carried yet",
    "rss_in_use_bytes": "plan with this one",
}


def format_bytes(figure: float | Missing) -> str:
    """Return whole bytes with separators, or that nothing is recorded."""
    return NOT_RECORDED if isinstance(figure, Missing) else f"{figure:,.0f} B"


def describe_stack(
    costs: StackCosts,
    roles: Sequence[Role],
    among: Sequence[Path],
    explain: bool,
    named: str | None,
    recording: Sequence[Path] | None,
) -> Text:
    """Return the screen of one stack: its three costs, what it consists of, and how it compares; where these are not
    recorded in the named suite, what is. `recording`: the recordings that were named."""
    screen = Text()
    screen.append(stack_title(costs.stack), style="bold")
    screen.append(f" · {suite_title(costs.suite)}" + (f" ({costs.suite})" if named else "") + "\n")
    if not costs.state:
        screen.append_text(other_states_lines(costs, roles))
        screen.append_text(explain_lines(costs, roles, among, explain))
        return screen.append("\nWhat is recorded, by suite: tools/tls-memtest cost --recorded " + costs.stack + "\n")
    if not named and costs.suite != SUITE:
        screen.append(f"It is not recorded in the usual suite, {SUITE}.\n")
    screen.append("One session, the library's defaults:\n\n")
    screen.append_text(cost_lines(costs, roles, "default", bold=True))
    screen.append_text(added_lines(costs, roles, among))
    screen.append_text(low_memory_lines(costs, roles))
    screen.append_text(other_build_lines(costs, roles[0], among))
    screen.append_text(explain_lines(costs, roles, among, explain))
    screen.append_text(comparison_lines(costs, roles[0], among, named))
    for line in closing_lines(costs, roles[0], recording):
        screen.append(f"{line}\n")
    return screen


def other_states_lines(costs: StackCosts, roles: Sequence[Role]) -> Text:
    """Return that a stack is not recorded as servers run it, how to record it, and what is recorded in the suite."""
    advice, others = costs.recorded.advice, find_other_states(costs)
    lines = Text("\nNot recorded in this suite as servers run it (in use, with the library's\n")
    lines.append("tickets, 100 handshakes at a time). ")
    lines.append_text(advice_lines(advice))
    for one, configuration in others:
        assert one.state
        state, how = one.state.describe(), describe_configuration(one.suite, configuration)
        lines.append(f"\n{state[0].upper()}{state[1:]}, {'library defaults' if how == 'default' else how}:\n\n")
        lines.append_text(cost_lines(one, roles, configuration, of=EVERY_COST))
        lines.append(f"  {describe_origin(one)}\n", style="dim")
    if any(one.window == "all" and one.has_rss(configuration) for one, configuration in others):
        lines.append("\nRSS is higher after concurrent handshakes: glibc keeps pages that they used.\n")
    if costs.recorded.elsewhere:
        lines.append(f"\nOther recorded runs of this suite: {', '.join(costs.recorded.elsewhere)}\n")
    return lines


def advice_lines(advice: Advice) -> Text:
    """Return how something is recorded, or why it cannot be."""
    way = advice.command or textwrap.fill(str(advice.reason), 76, subsequent_indent="  ")
    return Text(f"{'To record it' if advice.command else 'It cannot be recorded'}:\n  {way}\n")


def describe_origin(costs: StackCosts) -> str:
    """Return the recording of a state, and the campaign that it is of."""
    assert costs.state
    where = recordings.display_name(costs.state.recording)
    return f"{where}, campaign {costs.state.campaign}" if costs.state.campaign else where


def cost_lines(
    costs: StackCosts,
    roles: Sequence[Role],
    configuration: Configuration,
    bold: bool = False,
    of: Sequence[Cost] = COSTS,
) -> Text:
    """Return a line for each cost and a column for each role; costs beyond the three only if they are recorded."""
    lines = Text(f"  {'':<18}" + "".join(f"{role:>14}" for role in roles) + "\n")
    for cost in of:
        figures = [costs.figure(role, cost, configuration) for role in roles]
        if of != COSTS and not keep_present(figures):
            continue
        lines.append(f"  {cost.name:<18}")
        for size in figures:
            lines.append(f"{format_bytes(size):>14}", style="bold" if bold else "")
        lines.append(f"   {describe_cost(costs, cost)}".rstrip() + "\n", style="dim")
    return lines


def describe_cost(costs: StackCosts, cost: Cost) -> str:
    """Return what to know of the figure: a runtime's own live heap is not exact to the byte."""
    by_runtime = any(isinstance(heap, RuntimeHeap) for stack in costs.roles.values() for heap in stack.heaps.values())
    if cost in (LIVE_IN_USE, LIVE_AT_REST) and by_runtime:
        return "by the runtime itself"
    return FOLLOWING[cost.key] if costs.state and costs.state.is_as_deployed else ""


def low_memory_lines(costs: StackCosts, roles: Sequence[Role]) -> Text:
    """Return the costs with the library's documented way to hold less; nothing where none is recorded."""
    library = libraries().get(library_key(costs.stack))
    if not library or not library.low_memory or not any(costs.sizes(role, "low memory") for role in roles):
        return Text()
    lines = Text(f"\nWith {library.low_memory}:\n\n")
    return lines.append_text(cost_lines(costs, roles, "low memory"))


def find_other_builds(costs: StackCosts, among: Sequence[Path]) -> list[StackCosts]:
    """Return the costs of the library's other builds that are recorded in use, the newest release of each."""
    key = library_key(costs.stack)
    library = libraries().get(key)
    if not library:
        return []
    releases = group_by_library(dict.fromkeys(stack for path in among for stack in recordings.stacks(path)))
    names = [name for name in (library.build or key, *library.other_builds) if name in releases]
    newest = [
        [stack for stack in releases[name] if "-dev" not in stack][-1:]
        for name in names
        if name != library_with_variant(costs.stack)
    ]
    found = [find_costs(stack, costs.suite, among) for several in newest for stack in several]
    return [one for one in found if one.recording]


def other_build_lines(costs: StackCosts, role: Role, among: Sequence[Path]) -> Text:
    """Return the costs of the library's other builds, a line for each; nothing where none is recorded."""
    lines = Text()
    for other in find_other_builds(costs, among):
        sizes = (f"{format_bytes(other.figure(role, cost))} ({cost.name})" for cost in COSTS)
        build = "build" if version(other.stack) == version(costs.stack) else "build, of another release"
        text = f"Another {build}, {stack_title(other.stack)}, a {role} session: {', '.join(sizes)}"
        lines.append("\n" + textwrap.fill(text, 80) + "\n")
    return lines


def explain_lines(costs: StackCosts, roles: Sequence[Role], among: Sequence[Path], explain: bool) -> Text:
    """Return what a session's live heap in use is for, largest first: the three largest parts, or all of them."""
    lines = Text()
    for role in roles if explain else roles[:1]:
        parts = find_parts(costs.stack, costs.suite, role, among)
        if not parts:
            if explain:
                advice = advise_parts(costs.stack, costs.suite)
                lines.append(f"\nA {role} session by parts: {NOT_RECORDED}. ").append_text(advice_lines(advice))
                lines.append("The same holds for the call stacks at its peak.\n")
            continue
        heading = "what its live heap in use is for" if explain else "the three largest parts of its live heap in use"
        lines.append(f"\nA {role} session: {heading}\n\n")
        lines.append_text(part_lines(parts, len(parts) if explain else LARGEST_PARTS))
        if note := describe_sum(parts, costs.figure(role, LIVE_IN_USE)):
            lines.append(f"\n{textwrap.fill(note, 78, initial_indent='  ', subsequent_indent='  ')}\n", style="dim")
        if explain:
            lines.append_text(peak_lines(costs, role, among))
    return lines


def part_lines(parts: dict[str, float], number: int) -> Text:
    """Return a line with a bar for each of so many of the largest parts, and one for the others."""
    lines = Text()
    for name, size in largest_parts(parts, number):
        share = size / sum(parts.values())
        lines.append(f"  {name:<34}{size:>11,.0f} B {share:>5.0%}  ")
        lines.append(f"{'█' * round(share * BAR_CELLS)}\n", style=LIVE_IN_USE.colour)
    return lines


def peak_lines(costs: StackCosts, role: Role, among: Sequence[Path]) -> Text:
    """Return the peak of one session alone and what one more of many adds, and the parts of the first; or how it is
    recorded."""
    found = find_peaks(costs.stack, costs.suite, role, among)
    lines = Text(f"\nA {role} session: the peak of its live heap\n\n")
    for name, peak in (("one session alone", found.alone), ("one more of many at once", found.one_more)):
        if isinstance(peak, Missing):
            lines.append(f"  {name:<34}{NOT_RECORDED:>13}\n")
        else:
            phase = READABLE_NAMES.get(peak.phase, peak.phase)
            lines.append(f"  {name:<34}{peak.size:>11,.0f} B   in phase {phase}\n")
    if isinstance(found.alone, Missing):
        why = f"One session alone: {found.alone.reason.partition('; ')[0]}. "
        lines.append(f"\n{textwrap.fill(why, 78)}\n")
        return lines.append_text(advice_lines(advise_parts(costs.stack, costs.suite)))
    lines.append(f"\nA {role} session: what the peak of one session alone is for\n\n")
    return lines.append_text(part_lines(found.parts, len(found.parts)))


def describe_sum(parts: dict[str, float], live: float | Missing) -> str | None:
    """Return why the parts add up to more than the live heap of one more session; None where they do not."""
    total = sum(parts.values())
    if isinstance(live, Missing) or total - live < 1:
        return None
    return (
        f"The parts add up to {total:,.0f} B, {total - live:,.0f} B more than the live heap of one more session: they "
        "were recorded with few sessions, and count what the library keeps for a limited number of sessions only, as "
        "a cache of sessions of fixed size."
    )


def largest_parts(parts: dict[str, float], number: int) -> list[tuple[str, float]]:
    """Return so many of the largest parts, and the sum of the others as `everything else`."""
    ordered = sorted(parts.items(), key=lambda part: -part[1])
    rest = sum(size for _, size in ordered[number:])
    return ordered[:number] + ([("everything else", rest)] if rest else [])


def comparison_lines(costs: StackCosts, role: Role, among: Sequence[Path], named: str | None) -> Text:
    """Return what a session of the newest releases of other libraries holds, and the ratio of ours to it."""
    ours, rows = costs.sizes(role), [*other_libraries(costs, role, among, named)]
    if LIVE_IN_USE not in ours or not rows:
        return Text()
    lines = Text(f"\nA {role} session of other libraries, and how many times as much this one holds\n\n")
    lines.append(f"  {'':<{TITLE_CELLS}}{'live heap in use':>17}{'RSS in use':>17}\n")
    for title, sizes in sorted(rows, key=lambda row: row[1][LIVE_IN_USE]):
        cells = (compare_sizes(ours.get(cost), sizes.get(cost)) for cost in COMPARED)
        lines.append(f"  {title:<{TITLE_CELLS}}{''.join(f'{cell:>17}' for cell in cells)}\n")
    return lines


def other_libraries(
    costs: StackCosts, role: Role, among: Sequence[Path], named: str | None
) -> Iterator[tuple[str, dict[Cost, float]]]:
    """Yield title and costs of each other library's newest release, in the named suite only. If none was named, yield
    them in each library's usual suite, which its title then names."""
    newest = newest_releases([stack for path in among for stack in recordings.stacks(path)])
    for key, stack in newest.items():
        other = find_costs(stack, named, among) if named else find_costs_or_like(stack, costs.suite, among)
        if key != library_key(costs.stack) and LIVE_IN_USE in other.sizes(role):
            yield title_in_suite(other, costs.suite), other.sizes(role)


def title_in_suite(costs: StackCosts, suite: str) -> str:
    """Return the stack as people write it, and in what its suite differs from this one."""
    other = suite_difference(costs.suite, suite)
    return stack_title(costs.stack) + (f", {other}" if other else "")


def compare_sizes(ours: float | None, theirs: float | None) -> str:
    """Return their size and the ratio of ours to it: `7,637 B   7.1x`."""
    if theirs is None:
        return NOT_RECORDED
    return f"{theirs:,.0f} B{'' if ours is None else f'{ours / theirs:.1f}x':>6}"


def closing_lines(costs: StackCosts, role: Role, recording: Sequence[Path] | None) -> Iterator[str]:
    """Yield what many connections take, where the figures are from, what is missing and what to ask next."""
    in_use = costs.sizes(role).get(RSS_IN_USE)
    if in_use is not None:
        yield ""
        yield f"{MANY:,} {role} sessions in use: {MANY * in_use / GIB:.2f} GiB of RSS. What to provision:"
        yield f"  {plan_command(costs, role, recording)}"
    yield ""
    if costs.recording:
        yield f"Recorded {dates(costs.records)}: {recordings.display_name(costs.recording)}"
        yield describe_rss_runs(costs)
    if missing := missing_sentence(costs, role):
        yield missing
    yield "More: --explain, --role client, --suite tls12-rsa-aes256, --format json"


def plan_command(costs: StackCosts, role: Role, recording: Sequence[Path] | None) -> str:
    """Return the plan for sessions of this suite, from these recordings."""
    words = ["tools/tls-memtest", "plan", "memory", "--connections", str(MANY), "--stack", costs.stack]
    words += ["--role", role] * (role != "server")
    words += ["--suite", costs.suite] * (costs.suite != SUITE)
    return shlex.join([*words, *(word for one in recording or () for word in ("--recording", str(one)))])


def describe_rss_runs(costs: StackCosts) -> str:
    """Return how RSS was measured: sessions of a process, and concurrent handshakes."""
    if not costs.sessions:
        return "RSS: not recorded"
    several = f"{costs.sessions[0]:,} to {costs.sessions[-1]:,} sessions"
    return f"RSS: a process per role, {several}, {costs.window} handshakes at a time"


def missing_sentence(costs: StackCosts, role: Role) -> str | None:
    """Return why something is missing, or how it is recorded; None where nothing is missing."""
    missing = [one.reason for cost in COSTS if isinstance(one := costs.figure(role, cost), Missing)]
    if not missing:
        return None
    reasons = {reason for reason in missing if NOT_RECORDED not in reason}
    if reasons:
        return f"Missing: {'; '.join(sorted(reasons))}"
    advice = costs.recorded.advice
    return f"To record what is missing:\n  {advice.command}" if advice.command else f"Missing: {advice.sentence}"
