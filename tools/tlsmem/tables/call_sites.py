"""The call stacks that hold one pair's live heap: the largest of each role, and all others in one row.

A column is one entry of COLUMNS: what it takes of a call site, and how that is written."""

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from tlsmem.base import memo
from tlsmem.base.cache_file import digest_code
from tlsmem.profile import sites_reader
from tlsmem.profile.frames import Frame, format_frame, skip_allocators
from tlsmem.profile.heap_profile import CallstackTree
from tlsmem.schema.harness_output import Role
from tlsmem.stats import session_cost
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import SeriesFigures
from tlsmem.store.record import Record
from tlsmem.tables.rss_accounts import STACK
from tlsmem.tables.settings import setting_columns
from tlsmem.tables.table import Cell, Column, Table, integer_cell

AT = "established"
ROWS = 10  # of a role
FRAMES = 3  # of a stack
CAPTION = (
    "Memory of one pair; all others are alike. Bytes and blocks live at the end of `{}`, the phase that allocated "
    "them, and the callers of the allocator, innermost first. The {} largest sites of each role; the rows of a role "
    "add up to its total."
)

PhaseSite = tuple[str, tuple[Frame, ...]]  # the phase that allocated, and by whom


def live_by_site(run: Record, role: str, phase: str = AT) -> tuple[Counter[PhaseSite], Counter[PhaseSite]]:
    """Bytes and blocks by site. Raises ValueError with a sentence when the phase is missing."""
    stacks, sizes, blocks = CallstackTree(), Counter[PhaseSite](), Counter[PhaseSite]()
    recorded, sites = run.sites, session_cost.phase_of(run, phase).sites
    assert recorded and sites  # a measured sites run has them
    every = sites.live
    numbers = sites_reader.add_stacks(recorded, stacks, {live.stack for live in every})
    for live in every:
        if live.role == role:
            site = (live.since, tuple(skip_allocators(stacks.frames(numbers[live.stack]))[:FRAMES]))
            sizes[site] += live.bytes
            blocks[site] += live.blocks
    return sizes, blocks


class LargestSites(NamedTuple):
    """The ROWS largest as [bytes, blocks, phase, short and long names of callers], and all others in one sum."""

    shown: list[tuple[int, int, str, str, str]]
    others: int
    bytes_of_others: int
    blocks_of_others: int


def find_largest(run: Record, role: Role, phase: str) -> LargestSites:
    """Return the largest call sites of a role. Raises ValueError when the phase is missing."""
    sizes, blocks = live_by_site(run, role, phase)
    largest = [site for site, _ in sizes.most_common()]
    shown = []
    for site in largest[:ROWS]:
        since, frames = site
        short, whole = (" < ".join(format_frame(one, whole=all_of_it) for one in frames) for all_of_it in (False, True))
        shown.append((sizes[site], blocks[site], since, short, whole))
    others = largest[ROWS:]
    return LargestSites(shown, len(others), sum(sizes[site] for site in others), sum(blocks[site] for site in others))


def recall_largest(run: Record, role: Role, phase: str) -> LargestSites:
    """As find_largest, which is asked once for a record."""
    code = digest_code(("tables/call_sites.py",))
    compute = partial(find_largest, run, role, phase)
    return LargestSites(*memo.recall("largest sites", [run.digest, role, phase, FRAMES, ROWS], code, compute))


class SiteFigure(NamedTuple):
    """Bytes and blocks live of one pair, with the phase that allocated them, and who called the allocator."""

    bytes: int
    blocks: int
    since: str
    callers: str
    callers_in_full: str  # with the places in source files


def list_sites(run: Record, role: Role, phase: str = AT) -> Iterator[SiteFigure]:
    """The largest of a role; the last is the sum of those that are not shown."""
    found = recall_largest(run, role, phase)
    yield from itertools.starmap(SiteFigure, found.shown)
    if found.others:
        others = f"{found.others:,} other{'s'[: found.others > 1]}"
        yield SiteFigure(found.bytes_of_others, found.blocks_of_others, "any", others, others)


@dataclass(frozen=True)
class SiteRow(SeriesFigures):
    """A call site of a role."""

    role: Role
    site: SiteFigure


COLUMNS = (
    Column("role", "role", left=True, value=lambda row: row.role),
    Column("bytes", "bytes", value=lambda row: row.site.bytes, form=integer_cell),
    Column("blocks", "blocks", value=lambda row: row.site.blocks, form=integer_cell),
    Column("since", "allocated in", left=True, value=lambda row: row.site.since),
    Column(
        "callers",
        "by",
        left=True,
        value=lambda row: row.site,
        form=lambda site: Cell(site.callers, site.callers_in_full),
    ),
)


def call_sites(selection: Selection) -> Table:
    """Of the largest sites run of every stack in each setting."""
    columns = [*setting_columns(selection), STACK, *COLUMNS]
    table = Table("call-sites", "What a session's memory was allocated by", CAPTION.format(AT, ROWS), columns)
    table.add_rows(rows(selection))
    return table


def rows(selection: Selection) -> Iterator[SiteRow]:
    """Yield the call sites of the largest sites run of each series, role by role."""
    for setting in selection.settings:
        for stack in selection.stacks:
            for role, process in setting.processes.items():
                series = selection.series(stack, setting, process)
                for run in series.runs("sites")[-1:]:
                    yield from (SiteRow(series, role, site) for site in list_sites(run, role))
