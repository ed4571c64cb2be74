"""Sessions with each library's option to hold less between records, ranked by RSS in use."""

import textwrap
from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from tlsmem.config.libraries import libraries, library_key
from tlsmem.config.suite_title import suite_title
from tlsmem.cost.cost_table import LOW_MEMORY_WORDS, CostRow
from tlsmem.cost.find_costs import SUITE, Peak, StackCosts, find_peaks
from tlsmem.cost.screen import find_other_builds, format_bytes, title_in_suite
from tlsmem.schema.roles import Role
from tlsmem.stats.configured_stack import Configuration
from tlsmem.stats.costs import LIVE_IN_USE, RSS_IN_USE
from tlsmem.stats.missing import Missing
from tlsmem.store import recordings

COLUMNS, TITLE_CELLS, FIGURE_CELLS = 80, 36, 14
HEADINGS = (("Live heap", "in use"), ("RSS", "in use"), ("Peak, one", "alone"))


def rank_low_memory(
    found: Sequence[StackCosts], role: Role, among: Sequence[Path], has_builds: bool = True
) -> list[CostRow]:
    """Return a row for each stack that is recorded in use, the least RSS first: with low memory, or with its defaults
    where its library has no such option. `has_builds`: the libraries' other builds are rows too."""
    builds = [other for costs in found for other in find_other_builds(costs, among)] if has_builds else []
    rows = [choose_row(costs, role) for costs in (*found, *builds)]
    known = [row for row in rows if RSS_IN_USE in row.costs.sizes(role, row.configuration)]
    unknown = [row for row in rows if row not in known] if not has_builds else []
    return sorted(known, key=lambda row: row.costs.sizes(role, row.configuration)[RSS_IN_USE]) + unknown


def choose_row(costs: StackCosts, role: Role) -> CostRow:
    """Return the row with low memory where that is recorded, else the row of the defaults."""
    configuration: Configuration = "low memory" if costs.sizes(role, "low memory") else "default"
    return CostRow(costs, role, configuration)


def describe_low_memory(rows: Sequence[CostRow], role: Role, suite: str, among: Sequence[Path]) -> Text:
    """Return the ranked rows on 80 columns, below each its library's option."""
    screen = Text()
    screen.append(f"One {role} session with low memory", style="bold")
    screen.append(f" · {suite_title(suite)}\n\n")
    for heading in zip(*HEADINGS, strict=True):
        screen.append(f"  {'':<{TITLE_CELLS}}" + "".join(f"{word:>{FIGURE_CELLS}}" for word in heading) + "\n")
    for row in rows:
        cells = [row.costs.figure(role, cost, row.configuration) for cost in (LIVE_IN_USE, RSS_IN_USE)]
        cells.append(find_peak(row, among))
        line = "".join(f"{format_bytes(cell):>{FIGURE_CELLS}}" for cell in cells)
        screen.append(f"  {title_in_suite(row.costs, suite):<{TITLE_CELLS}}{line}\n")
        screen.append(f"    {describe_option(row)}\n", style="dim")
    names = dict.fromkeys(recordings.display_name(row.costs.recording) for row in rows if row.costs.recording)
    words = f"{LOW_MEMORY_WORDS} Peak: the most live heap that one session holds at a time, from the handshake on."
    notes = ["", *textwrap.wrap(words, COLUMNS), "", "Recorded in:", *(f"  {name}" for name in names)]
    if first := next((row for row in rows if row.configuration == "low memory"), None):
        notes += ["With the memory of the process:"]
        notes += ["  tools/tls-memtest plan memory --connections 1000 --low-memory \\"]
        suite_words = f" --suite {first.costs.suite}" * (first.costs.suite != SUITE)
        notes += [f"    --stack {first.costs.stack}{f' --role {role}' * (role != 'server')}{suite_words}"]
    return screen.append("".join(f"{note}\n" for note in notes))


def find_peak(row: CostRow, among: Sequence[Path]) -> float | Missing:
    """Return the peak of live heap of one session alone, in bytes."""
    peak = find_peaks(row.costs.stack, row.costs.suite, row.role, among, row.configuration).alone
    return peak.size if isinstance(peak, Peak) else peak


def describe_option(row: CostRow) -> str:
    """Return the option of the library, or that it runs with its defaults."""
    library = libraries().get(library_key(row.costs.stack))
    has_option = row.configuration == "low memory" and library and library.low_memory
    return library.low_memory or "" if has_option and library else "defaults"
