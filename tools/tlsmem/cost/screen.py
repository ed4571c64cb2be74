"""A stack's costs on one screen of 80 columns."""

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.text import Text

from tlsmem.config.libraries import libraries, library_key, newest_releases, stack_title
from tlsmem.config.suite_title import suite_difference, suite_title
from tlsmem.cost.find_costs import StackCosts, find_costs_or_like, find_parts
from tlsmem.plan import recordings
from tlsmem.schema.roles import Role
from tlsmem.stats.configured_stack import Configuration
from tlsmem.stats.costs import COSTS, LIVE_IN_USE, RSS_IN_USE, Cost
from tlsmem.stats.missing import Missing
from tlsmem.stats.runtime_heap import RuntimeHeap
from tlsmem.tables.settings import dates

GIB = 2**30
BAR_CELLS = 20
LARGEST_PARTS = 3
MANY = 100_000  # connections, of the line that leads to plan.py
NOT_RECORDED = "not recorded"
FOLLOWING: dict[str, str] = {
    "live_heap_in_use_bytes": "exact, to the byte",
    "rss_at_rest_bytes": "no data carried yet",
    "rss_in_use_bytes": "plan with this one",
}


def format_bytes(figure: float | Missing) -> str:
    """Return whole bytes with separators, or that nothing is recorded."""
    return NOT_RECORDED if isinstance(figure, Missing) else f"{figure:,.0f} B"


def describe_stack(costs: StackCosts, roles: Sequence[Role], among: Sequence[Path], explain: bool) -> Text:
    """Return the screen of one stack: its three costs, what it consists of, and how it compares."""
    screen = Text()
    screen.append(stack_title(costs.stack), style="bold")
    screen.append(f" · {suite_title(costs.suite)}\n")
    screen.append("One session, the library's defaults:\n\n")
    screen.append_text(cost_lines(costs, roles, "default", bold=True))
    screen.append_text(low_memory_lines(costs, roles))
    screen.append_text(explain_lines(costs, roles, among, explain))
    screen.append_text(comparison_lines(costs, roles[0], among))
    for line in closing_lines(costs, roles[0]):
        screen.append(f"{line}\n")
    return screen


def cost_lines(costs: StackCosts, roles: Sequence[Role], configuration: Configuration, bold: bool = False) -> Text:
    """Return a line for each of the three costs, a column for each role."""
    lines = Text(f"  {'':<18}" + "".join(f"{role:>14}" for role in roles) + "\n")
    for cost in COSTS:
        lines.append(f"  {cost.name:<18}")
        for role in roles:
            size = format_bytes(costs.figure(role, cost, configuration))
            lines.append(f"{size:>14}", style="bold" if bold else "")
        lines.append(f"   {describe_cost(costs, cost)}\n", style="dim")
    return lines


def describe_cost(costs: StackCosts, cost: Cost) -> str:
    """Return what to know of the figure: a runtime's own live heap is not exact to the byte."""
    by_runtime = any(isinstance(stack.heaps["default"], RuntimeHeap) for stack in costs.roles.values())
    return "by the runtime itself" if cost is LIVE_IN_USE and by_runtime else FOLLOWING[cost.key]


def low_memory_lines(costs: StackCosts, roles: Sequence[Role]) -> Text:
    """Return the costs with the library's documented way to hold less; nothing where none is recorded."""
    library = libraries().get(library_key(costs.stack))
    if not library or not library.low_memory or not any(costs.sizes(role, "low memory") for role in roles):
        return Text()
    lines = Text(f"\nWith {library.low_memory}:\n\n")
    return lines.append_text(cost_lines(costs, roles, "low memory"))


def explain_lines(costs: StackCosts, roles: Sequence[Role], among: Sequence[Path], explain: bool) -> Text:
    """Return what a session's live heap in use is for, largest first: the three largest parts, or all of them."""
    lines = Text()
    for role in roles if explain else roles[:1]:
        parts = find_parts(costs.stack, costs.suite, role, among)
        if not parts:
            if explain:
                lines.append(f"\nA {role} session by parts: {NOT_RECORDED}; to record it:\n")
                lines.append(f"  tools/measure.py in-use-sites --stacks {costs.stack}\n")
            continue
        heading = "what its live heap in use is for" if explain else "the three largest parts of its live heap in use"
        lines.append(f"\nA {role} session: {heading}\n\n")
        for name, size in largest_parts(parts, len(parts) if explain else LARGEST_PARTS):
            share = size / sum(parts.values())
            bar = "█" * round(share * BAR_CELLS)
            lines.append(f"  {name:<34}{size:>11,.0f} B {share:>5.0%}  ")
            lines.append(f"{bar}\n", style=LIVE_IN_USE.colour)
        if note := describe_sum(parts, costs.figure(role, LIVE_IN_USE)):
            lines.append(f"\n{textwrap.fill(note, 78, initial_indent='  ', subsequent_indent='  ')}\n", style="dim")
    return lines


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


def comparison_lines(costs: StackCosts, role: Role, among: Sequence[Path]) -> Text:
    """Return how many times as much as the newest releases of other libraries a session holds."""
    ours, library = costs.sizes(role).get(LIVE_IN_USE), libraries().get(library_key(costs.stack))
    rows = list(other_libraries(costs, role, among))
    if ours is None or not rows:
        return Text()
    lines = Text(f"\nA {role} session of other libraries, live heap in use\n\n")
    for title, size in sorted(rows, key=lambda row: row[1]):
        compared = compare_sizes(library.name if library else costs.stack, ours, size)
        lines.append(f"  {title:<34}{size:>11,.0f} B  {compared}\n")
    return lines


def other_libraries(costs: StackCosts, role: Role, among: Sequence[Path]) -> Iterator[tuple[str, float]]:
    """Yield title and live heap in use of the newest release of each other library."""
    there = [stack for path in among for stack in recordings.stacks(path)]
    for key, stack in newest_releases(there).items():
        other = find_costs_or_like(stack, costs.suite, among)
        size = other.sizes(role).get(LIVE_IN_USE)
        if key != library_key(costs.stack) and size is not None:
            yield title_in_suite(other, costs.suite), size


def title_in_suite(costs: StackCosts, suite: str) -> str:
    """Return the stack as people write it, and in what its suite differs from this one."""
    other = suite_difference(costs.suite, suite)
    return stack_title(costs.stack) + (f", {other}" if other else "")


def compare_sizes(name: str, ours: float, theirs: float) -> str:
    """Return how our size compares with theirs, in words."""
    ratio = ours / theirs
    if abs(ratio - 1) < 0.05:
        return f"{name}: about the same"
    return f"{name}: {ratio:.1f} times as much" if ratio > 1 else f"{name}: {ratio:.0%} of it"


def closing_lines(costs: StackCosts, role: Role) -> Iterator[str]:
    """Yield what many connections take, where the figures are from, what is missing and what to ask next."""
    in_use = costs.sizes(role).get(RSS_IN_USE)
    if in_use is not None:
        yield ""
        yield f"{MANY:,} {role} sessions in use: {MANY * in_use / GIB:.2f} GiB of RSS. What to provision:"
        of_role = "" if role == "server" else f" --role {role}"
        yield f"  tools/plan.py memory --connections {MANY} --stack {costs.stack}{of_role}"
    yield ""
    if costs.recording:
        yield f"Recorded {dates(costs.records)}: {recordings.display_name(costs.recording)}"
        yield describe_rss_runs(costs)
    if missing := missing_sentence(costs, role):
        yield missing
    yield "More: --explain, --role client, --suite tls12-rsa-aes256, --format json"


def describe_rss_runs(costs: StackCosts) -> str:
    """Return how RSS was measured: sessions of a process, and concurrent handshakes."""
    if not costs.sessions:
        return "RSS: not recorded"
    several = f"{costs.sessions[0]:,} to {costs.sessions[-1]:,} sessions"
    return f"RSS: a process per role, {several}, {costs.window} handshakes at a time"


def missing_sentence(costs: StackCosts, role: Role) -> str | None:
    """Return why something is missing, or the command that records it; None where nothing is missing."""
    missing = [one.reason for cost in COSTS if isinstance(one := costs.figure(role, cost), Missing)]
    if not missing:
        return None
    reasons = {reason for reason in missing if NOT_RECORDED not in reason}
    return f"Missing: {'; '.join(sorted(reasons))}" if reasons else f"To record what is missing:\n  {costs.command}"
