"""A library's page: what a session of its newest release costs and why, its releases, and the options that lower it."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tlsmem.config import choices
from tlsmem.config.libraries import Library, libraries, stack_title
from tlsmem.config.recording_command import Advice
from tlsmem.config.releases import group_by_library
from tlsmem.config.stack_names import newest_releases
from tlsmem.cost.cost_table import PEAK_WORDS, CostRow, cost_column, cost_table
from tlsmem.cost.find_costs import (
    Peaks,
    StackCosts,
    advise_parts,
    find_chosen_costs,
    find_costs,
    find_parts,
    find_parts_at_rest,
    find_peaks,
)
from tlsmem.cost.screen import (
    LARGEST_PARTS,
    describe_rss_runs,
    describe_sum,
    find_other_builds,
    format_bytes,
    largest_parts,
    title_in_suite,
)
from tlsmem.schema.roles import ROLES, Role
from tlsmem.stats.costs import COSTS, LIVE_IN_USE, RSS_IN_USE, Cost
from tlsmem.store import recordings
from tlsmem.tables import render
from tlsmem.tables.settings import dates
from tlsmem.tables.table import Column, Table, integer_cell, percent, text_cell

SERVER: Role = "server"


class Parts(NamedTuple):
    """What a server session's live heap is for, in bytes by bucket, and of which release in which state."""

    stack: str
    state: str
    sizes: dict[str, float]


def describe_library(key: str, named: str | None, among: Sequence[Path]) -> str:
    """Return the page as Markdown, below its heading. Raises ValueError with a sentence when nothing is recorded."""
    library = libraries()[key]
    releases = find_releases(key, library, among)
    if not releases:
        raise ValueError(f"{key}: no recording has it")
    found = [find_chosen_costs(stack, named, among) for stack in releases]
    newest = found[-1]
    paragraphs = (
        *cost_section(newest),
        *builds_section(library, newest, among),
        *parts_section(releases, newest.suite, among),
        *releases_section(library, found),
        *options_section(library, newest),
    )
    return "\n\n".join(paragraphs)


def find_releases(key: str, library: Library, among: Sequence[Path]) -> list[str]:
    """Return the recorded releases of the library as servers build it, up to the newest that is no pre-release."""
    there = list(dict.fromkeys(stack for path in among for stack in recordings.stacks(path)))
    newest = newest_releases(there).get(key)
    several = group_by_library(there).get(library.build or key, [])
    return several[: several.index(newest) + 1] if newest else []


def cost_section(newest: StackCosts) -> Iterator[str]:
    """Yield what a session of the newest release costs."""
    title, in_use = stack_title(newest.stack), newest.sizes(SERVER).get(RSS_IN_USE)
    if in_use is None:
        yield f"## {title}: not recorded in use"
        yield advice_sentence(newest.recorded.advice)
        return
    yield f"## A server session of {title} takes {format_bytes(in_use)} of RSS in use"
    yield format_table(cost_table([newest], sorted(ROLES, reverse=True)))
    yield f"Recorded {dates(newest.records)}. {describe_rss_runs(newest)}."


def builds_section(library: Library, newest: StackCosts, among: Sequence[Path]) -> Iterator[str]:
    """Yield the costs of the library's other builds; nothing where none is recorded."""
    others = find_other_builds(newest, among)
    if others:
        yield "## Other builds"
        yield (
            f"Where no other build is named, figures of {library.name} are of {stack_title(newest.stack)}. "
            "[Stacks](../stacks.md) says how each is built."
        )
        made = cost_table(others, [SERVER])
        made.title, made.caption = "A server session of another build", ""
        yield format_table(made)


def parts_section(releases: Sequence[str], suite: str, among: Sequence[Path]) -> Iterator[str]:
    """Yield the largest parts of a session of the newest release whose call stacks are recorded."""
    parts = next(recorded_parts(releases, suite, among), None)
    yield "## What the bytes are for"
    if not parts:
        yield f"Not recorded, nor are the peaks. {advice_sentence(advise_parts(releases[-1], suite))}"
        return
    total = sum(parts.sizes.values())
    made = Table("parts", f"What a server session of {stack_title(parts.stack)} holds {parts.state}, live heap", "", [])
    made.columns = [
        Column("part", "part", left=True, value=lambda row: row[0]),
        Column("bytes", "B", value=lambda row: round(row[1]), form=integer_cell),
        Column("share", "share", value=lambda row: percent(row[1] / total)),
    ]
    made.add_rows(largest_parts(parts.sizes, LARGEST_PARTS))
    yield format_table(made)
    live = find_costs(parts.stack, suite, among).figure(SERVER, LIVE_IN_USE)
    if parts.state == "in use" and (note := describe_sum(parts.sizes, live)):
        yield note
    yield "[Buckets](../../explanation/buckets.md) says what each part is."
    yield format_table(peak_table(parts.stack, find_peaks(parts.stack, suite, SERVER, among)))


def peak_table(stack: str, peaks: Peaks) -> Table:
    """Return both peaks of a server session's live heap, a row for each."""
    made = Table("peaks", f"The peak of a server session's live heap, {stack_title(stack)}", PEAK_WORDS, [])
    made.columns = [
        Column("peak", "peak", left=True, value=lambda row: row[0]),
        Column("bytes", "B", value=lambda row: row[1], form=lambda peak: integer_cell(round(peak.size))),
        Column("phase", "in phase", left=True, value=lambda row: row[1], form=lambda peak: text_cell(peak.phase)),
    ]
    made.add_rows((("one session alone", peaks.alone), ("one more of many", peaks.one_more)))
    return made


def recorded_parts(releases: Sequence[str], suite: str, among: Sequence[Path]) -> Iterator[Parts]:
    """Yield the parts of each release, the newest first, in use where that is recorded of any, else at rest."""
    for state, find in (("in use", find_parts), ("at rest", find_parts_at_rest)):
        for stack in reversed(releases):
            if sizes := find(stack, suite, SERVER, among):
                yield Parts(stack, state, sizes)


def releases_section(library: Library, found: Sequence[StackCosts]) -> Iterator[str]:
    """Yield the costs of a server session release by release."""
    rows = [row for row in (CostRow(one, SERVER, "default") for one in found) if row.costs.sizes(SERVER)]
    if len(rows) < 2:
        return
    yield "## Releases"
    made = Table("releases", f"A server session, {library.name} release by release", "", [])
    usual = found[-1].suite
    made.columns = [Column("release", "release", left=True, value=lambda row: title_in_suite(row.costs, usual))]
    made.columns += map(cost_column, COSTS)
    made.add_rows(rows)
    yield format_table(made)


def options_section(library: Library, newest: StackCosts) -> Iterator[str]:
    """Yield by how much the library's documented option lowers each cost."""
    yield "## Options that lower it"
    more = "[Low memory](../stacks.md#low-memory-each-librarys-way-to-hold-less-at-rest) says what was considered."
    if not library.low_memory:
        yield f"{library.name} documents no option at run time that holds less without a change on the wire. {more}"
        return
    if not newest.sizes(SERVER, "low memory"):
        advice = advice_sentence(newest.recorded.advice)
        yield f"{library.low_memory}: not recorded of {stack_title(newest.stack)}. {advice}"
        return
    made = Table("options", f"{stack_title(newest.stack)} with {library.low_memory}", "", [])
    made.columns = [
        Column("role", "role", left=True, value=lambda row: row[0]),
        Column("cost", "cost", left=True, value=lambda row: row[1].name),
        Column("default", "default, B", value=lambda row: round(row[2]), form=integer_cell),
        Column("low", "with the option, B", value=lambda row: round(row[3]), form=integer_cell),
        Column("change", "change", value=lambda row: f"{row[3] / row[2] - 1:+.0%}".replace("%", " %")),
    ]
    made.add_rows(lowered_costs(newest))
    yield format_table(made)
    yield more


def advice_sentence(advice: Advice) -> str:
    """Return how something is recorded as a sentence of Markdown."""
    return f"To record it: `{advice.command}`." if advice.command else f"It cannot be recorded: {advice.reason}."


def lowered_costs(newest: StackCosts) -> Iterator[tuple[Role, Cost, float, float]]:
    """Yield role, cost, its bytes by default and with the option, where both are recorded."""
    for role in sorted(ROLES, reverse=True):
        default, low = newest.sizes(role), newest.sizes(role, "low memory")
        for cost in (one for one in COSTS if one in default and one in low):
            yield role, cost, default[cost], low[cost]


def format_table(table: Table) -> str:
    """Return the table as Markdown, without the empty lines where it has no caption."""
    return re.sub(r"\n{3,}", "\n\n", render.format_tables([table], choices.MARKDOWN)).strip()
