"""What tools/tls-memtest cost prints."""

import argparse
from collections.abc import Sequence
from pathlib import Path

import rich.console
from rich.text import Text

from tlsmem.base import markdown_embedding, stdout
from tlsmem.base.errors import Usage
from tlsmem.base.nearest import suggest_nearest
from tlsmem.config import choices, definitions
from tlsmem.config.libraries import libraries
from tlsmem.config.stack_names import fold_name
from tlsmem.config.suite_variants import split_variant
from tlsmem.cost.bars import describe_libraries, newest_costs
from tlsmem.cost.cost_table import cost_table, cost_table_for_pages
from tlsmem.cost.find_costs import find_chosen_costs
from tlsmem.cost.library_page import describe_library
from tlsmem.cost.recorded_table import recorded_table
from tlsmem.cost.screen import describe_stack
from tlsmem.schema.roles import ROLES, Role
from tlsmem.stats import recorded_stacks
from tlsmem.store import recordings
from tlsmem.tables import table_command


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
    if given.format or given.into:
        found = found or newest_costs(given.suite, among)
        for_pages = given.into or given.format == choices.MARKDOWN
        make = cost_table_for_pages if for_pages else cost_table
        table_command.deliver([make(found, roles, among if given.explain else ())], given, parser)
        return
    screens = [describe_stack(costs, roles, among, given.explain, given.suite, given.recording) for costs in found]
    show(Text("\n").join(screens or [describe_libraries(given.suite, roles[0], among)]))


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


def check_suite(suite: str) -> None:
    """Raise Usage with a sentence if there is no such suite, or if it is a variant of one."""
    if suite not in definitions.suites():
        raise Usage(f"--suite: {definitions.describe_unknown_suite(suite)}")
    base, settings = split_variant(suite)
    if settings:
        raise Usage(f"--suite: name the suite itself, {base}; its library options are shown beside its defaults")


def show(screen: Text) -> None:
    """Print in colour on a terminal. Lines are made for 80 columns; a longer path or command stays whole."""
    with stdout.raise_write_errors():
        rich.console.Console(highlight=False).print(screen, end="", soft_wrap=True)
