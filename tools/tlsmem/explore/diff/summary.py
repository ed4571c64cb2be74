"""What a diff comes to, as values. `sentences` puts them into words; nothing is computed there."""

from dataclasses import dataclass
from typing import NamedTuple

from tlsmem.explore.diff.match_callstacks import frames_from_driver
from tlsmem.explore.diff.profile_diff import Diff
from tlsmem.explore.diff.rows import SESSIONS, DiffRow, Part, SiteAmounts, sum_rows
from tlsmem.profile.frames import skip_allocators
from tlsmem.stats.comparability import stack_label

LARGEST = 3  # sites of a part


class PartChange(NamedTuple):
    """All of a part, or all that could not be joined of it."""

    part: Part
    amounts: SiteAmounts


class SiteDifference(NamedTuple):
    """A call site whose bytes differ."""

    site: DiffRow
    amounts: SiteAmounts


class Strangers(NamedTuple):
    """Two profiles of which no call stack could be joined."""

    by_sessions: bool  # only those of sessions were looked at
    are_two_stacks: bool  # of this project, whose purposes can be compared instead


@dataclass(frozen=True)
class DiffSummary:
    strangers: Strangers | None
    totals: tuple[PartChange, ...]  # empty: neither side holds anything
    has_changes: bool  # of any site, in bytes or in blocks
    largest_sites: tuple[SiteDifference, ...]  # by part the LARGEST differences, whatever their direction
    unjoined: tuple[PartChange, ...]
    modules_without_debug_info: tuple[str, ...]
    joins_by_module: bool  # some frames without a name


def summarise_diff(diff: Diff) -> DiffSummary:
    strangers = find_strangers(diff)
    return DiffSummary(
        strangers=strangers,
        totals=tuple(PartChange(row.part, diff.figures(row)) for row in diff.totals()),
        has_changes=any(diff.figures(row).differ for row in diff.rows),
        largest_sites=tuple(find_largest_sites(diff, both_sides=strangers is not None)),
        unjoined=() if strangers else tuple(sum_unjoined(diff)),
        modules_without_debug_info=tuple(find_modules_without_debug_info(diff)),
        joins_by_module=any(row.stage == "module only" for row in diff.rows),
    )


def find_strangers(diff: Diff) -> Strangers | None:
    """None where something could be joined, or one side holds nothing.

    Where there are sessions only their call stacks count: what the harness and the loader do is alike by chance."""
    of_sessions = [row for row in diff.rows if row.part in SESSIONS]
    rows = of_sessions or diff.rows
    holders = {side for row in rows for side in row.holders}
    if len(holders) < 2 or any(row.stage != "not joined" for row in rows):
        return None
    old, new = diff.old.profile.run, diff.new.profile.run
    return Strangers(bool(of_sessions), bool(old and new and stack_label(old) != stack_label(new)))


def find_largest_sites(diff: Diff, both_sides: bool) -> list[SiteDifference]:
    """With `both_sides` only sites at which both sides hold memory."""
    found: list[SiteDifference] = []
    for part in dict.fromkeys(row.part for row in diff.rows):
        sites = [SiteDifference(site, diff.figures(site)) for site in diff.sites_by_call(part)]
        sites.sort(key=lambda one: -abs(one.amounts.more))
        found += [one for one in sites[:LARGEST] if one.amounts.more and not (both_sides and one.site.only_holder)]
    return found


def sum_unjoined(diff: Diff) -> list[PartChange]:
    """By part, what each side holds at call stacks that could not be joined."""
    rows: dict[Part, list[DiffRow]] = {}
    for row in diff.rows:
        if row.stage == "not joined":
            rows.setdefault(row.part, []).append(row)
    parts = dict.fromkeys(row.part for row in diff.rows)
    return [PartChange(part, diff.figures(sum_rows(rows[part]))) for part in parts if part in rows]


def find_modules_without_debug_info(diff: Diff) -> list[str]:
    """Modules of which no frame has a file, sorted."""
    frames = {frame for row in diff.rows for frame in frames_from_driver(skip_allocators(row.frames))}
    known = {frame.module for frame in frames if frame.file}
    return sorted({frame.module for frame in frames if frame.module} - known)
