"""What tools/tls-memtest cost prints; without a name every library's newest release, as bars on 80 columns."""

import argparse
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

import rich.console
from rich.text import Text

from tlsmem.base import markdown_embedding, stdout
from tlsmem.base.errors import Usage
from tlsmem.base.nearest import suggest_nearest
from tlsmem.config import choices, definitions
from tlsmem.config.libraries import libraries, library_key, stack_title
from tlsmem.config.stack_names import fold_name, newest_releases
from tlsmem.config.suite_title import suite_title
from tlsmem.config.suite_variants import split_variant
from tlsmem.cost.added_memory import difference_lines
from tlsmem.cost.cost_table import cost_table, cost_table_for_pages, low_memory_table
from tlsmem.cost.find_costs import SUITE, StackCosts, find_chosen_costs
from tlsmem.cost.library_page import describe_library
from tlsmem.cost.low_memory import describe_low_memory, rank_low_memory
from tlsmem.cost.recorded_table import recorded_table
from tlsmem.cost.screen import describe_stack, format_bytes, title_in_suite
from tlsmem.schema.roles import ROLES, Role
from tlsmem.stats import recorded_stacks
from tlsmem.stats.costs import COSTS, LIVE_IN_USE, VOCABULARY
from tlsmem.store import recordings
from tlsmem.tables import table_command
from tlsmem.tables.settings import dates

COLUMNS, TITLE_CELLS, FIGURE_CELLS, BAR_CELLS = 80, 32, 14, 74
EIGHTHS = " ▏▎▍▌▋▊▉"


def print_costs(given: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    """Print what was asked for, or write it into a page. Raises ValueError or OSError with a sentence."""
    among = recordings.find_recordings(given.recording)
    if given.suite:
        check_suite(given.suite)
    if given.page:
        deliver_page(given, parser, among)
        return
    stacks = recorded_stacks.resolve_stacks(given.stacks, among, given.suite)
    roles: Sequence[Role] = [given.role] if given.role else sorted(ROLES, reverse=True)  # the server first
    if given.recorded:
        table_command.deliver([recorded_table(stacks, given.suite, among)], given, parser)
        return
    if given.output:
        draw(stacks, given.suite, roles[0], among, given.output)
        return
    found = [find_chosen_costs(one, given.suite, among) for one in stacks]
    if given.low_memory:
        deliver_low_memory(given, parser, found, roles, among)
        return
    if given.format or given.into:
        found = found or newest_costs(given.suite, among)
        for_pages = given.into or given.format == choices.MARKDOWN
        make = cost_table_for_pages if for_pages else cost_table
        table_command.deliver([make(found, roles, among if given.explain else ())], given, parser)
        return
    screens = [describe_stack(costs, roles, among, given.explain, given.suite, given.recording) for costs in found]
    between = difference_lines(found[0], found[1], roles, among) if len(found) == 2 else Text()
    show(between.append_text(Text("\n").join(screens or [describe_libraries(given.suite, roles[0], among)])))


def deliver_low_memory(
    given: argparse.Namespace,
    parser: argparse.ArgumentParser,
    named: Sequence[StackCosts],
    roles: Sequence[Role],
    among: Sequence[Path],
) -> None:
    """Print sessions with each library's option to hold less, the least RSS first; without names of every library."""
    role = roles[0]
    rows = rank_low_memory(named or newest_costs(given.suite, among, role), role, among, has_builds=not named)
    if not given.format and not given.into:
        show(describe_low_memory(rows, role, given.suite or SUITE, among))
        return
    every = [row._replace(role=one) for row in rows for one in roles]
    table_command.deliver([low_memory_table(every, among)], given, parser)


def draw(stacks: Sequence[str], named: str | None, role: Role, among: Sequence[Path], output: Path) -> None:
    """Write the picture, and print the names of its files."""
    from tlsmem.cost import cost_picture  # slow to import, and needed for pictures only

    written = cost_picture.save_picture(stacks, named, role, among, output)
    with stdout.raise_write_errors():
        print(*written, sep="\n")


def deliver_page(given: argparse.Namespace, parser: argparse.ArgumentParser, among: Sequence[Path]) -> None:
    """Print the page of one library, or write it into a page. Raises Usage with a sentence where it is not one."""
    names = [fold_name(name, libraries()) for name in given.stacks]
    if len(names) != 1 or names[0] not in libraries():
        near = suggest_nearest(" ".join(names), libraries()) or f"; there are: {', '.join(libraries())}"
        raise Usage(f"--page takes one library{near}")
    page = describe_library(names[0], given.suite, among)
    if given.into:
        markdown_embedding.replace_block(given.into, given, parser, page)
    else:
        with stdout.raise_write_errors():
            print(page)


def check_suite(suite: str, option: str = "--suite: ") -> None:
    """Raise Usage with a sentence, after the option's name, if there is no such suite, or if it is a variant of one."""
    if suite not in definitions.suites():
        raise Usage(f"{option}{definitions.describe_unknown_suite(suite)}")
    base, settings = split_variant(suite)
    if settings:
        raise Usage(f"{option}name the suite itself, {base}; its library options are shown beside its defaults")


def show(screen: Text) -> None:
    """Print in colour on a terminal. Lines are made for 80 columns; a longer path or command stays whole."""
    with stdout.raise_write_errors():
        rich.console.Console(highlight=False).print(screen, end="", soft_wrap=True)


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
    yield f"With options to hold less: tools/tls-memtest cost --low-memory{f' --suite {named}' if named else ''}"
