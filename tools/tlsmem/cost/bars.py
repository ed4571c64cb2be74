"""Every library's newest release as bars on a terminal of 80 columns."""

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.text import Text

from tlsmem.config.libraries import libraries, library_key, stack_title
from tlsmem.config.stack_names import newest_releases
from tlsmem.config.suite_title import suite_title
from tlsmem.cost.find_costs import SUITE, StackCosts, find_chosen_costs
from tlsmem.cost.screen import format_bytes, title_in_suite
from tlsmem.schema.roles import Role
from tlsmem.stats.costs import COSTS, LIVE_IN_USE, VOCABULARY
from tlsmem.store import recordings
from tlsmem.tables.settings import dates

COLUMNS, TITLE_CELLS, FIGURE_CELLS, BAR_CELLS = 80, 32, 14, 74
EIGHTHS = " ▏▎▍▌▋▊▉"


def newest_costs(named: str | None, among: Sequence[Path], role: Role = "server") -> list[StackCosts]:
    """Return the costs of each library's newest release, in the named suite; the least live heap in use first."""
    newest = newest_releases([stack for path in among for stack in recordings.stacks(path)]).values()
    found = [find_chosen_costs(stack, named, among) for stack in newest]
    return sorted(found, key=lambda one: one.sizes(role).get(LIVE_IN_USE, float("inf")))


def describe_libraries(named: str | None, role: Role, among: Sequence[Path]) -> Text:
    """Return the three costs of a session of the role of each library, and a bar of its live heap in use."""
    every, suite = newest_costs(named, among, role), named or SUITE
    found = [one for one in every if LIVE_IN_USE in one.sizes(role)]
    screen = Text()
    screen.append(f"What one {role} session costs", style="bold")
    screen.append(f" · {suite_title(suite)}\n\n")
    for words in zip(*(split_name(cost.name) for cost in COSTS if found), strict=True):
        screen.append(f"  {'':<{TITLE_CELLS}}" + "".join(f"{word:>{FIGURE_CELLS}}" for word in words) + "\n")
    for costs in found:
        screen.append_text(library_lines(costs, role, suite, found[-1].sizes(role)[LIVE_IN_USE]))
    for line in notes(found, [one for one in every if one not in found], named):
        screen.append(f"{line}\n")
    return screen


def split_name(name: str) -> tuple[str, str]:
    """Return a cost's name as two lines: `RSS`, `in use`."""
    what, preposition, state = name.rsplit(" ", 2)
    return what, f"{preposition} {state}"


def library_lines(costs: StackCosts, role: Role, suite: str, largest: float) -> Text:
    """Return a library's figures, and its bar beside the largest."""
    figures = "".join(f"{format_bytes(costs.figure(role, cost)):>{FIGURE_CELLS}}" for cost in COSTS)
    lines = Text(f"  {title_in_suite(costs, suite):<{TITLE_CELLS}}{figures}\n")
    share = costs.sizes(role)[LIVE_IN_USE] / largest
    return lines.append(f"  {bar(share, BAR_CELLS)}\n", style=libraries()[library_key(costs.stack)].colour)


def bar(share: float, cells: int) -> str:
    """Return a bar of eighths of a cell."""
    whole, eighths = divmod(round(share * cells * 8), 8)
    return "█" * whole + EIGHTHS[eighths].strip()


def notes(found: Sequence[StackCosts], without: Sequence[StackCosts], named: str | None) -> Iterator[str]:
    """Yield what the costs mean, where they are from, what is missing and what to ask next."""
    yield ""
    yield from textwrap.wrap(VOCABULARY, COLUMNS)
    yield ""
    if found:
        names = dict.fromkeys(recordings.display_name(one.recording) for one in found if one.recording)
        days = dates(run for one in found for run in one.records)
        yield f"Library defaults. Bars: live heap in use. Recorded {days}:"
        yield f"  {', '.join(names)}"
    if without:
        titles = ", ".join(stack_title(one.stack) for one in without)
        yield from textwrap.wrap(f"Not recorded in use{' in this suite' if named else ''}: {titles}", COLUMNS)
    yield f"One library: tools/tls-memtest cost openssl{f' --suite {named}' if named else ''}"
