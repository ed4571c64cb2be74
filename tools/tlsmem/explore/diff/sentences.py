"""A diff in words. Every sentence names OLD and NEW: a reader must not need to guess which side a sign is of.

`summarise_diff` picks what is worth saying, as values; putting that into words computes nothing."""

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from tlsmem.explore.diff.match_callstacks import frames_from_driver
from tlsmem.explore.diff.profile_diff import Diff, DiffSide
from tlsmem.explore.diff.rows import SESSIONS, DiffRow, Part, SiteAmounts, sum_rows
from tlsmem.explore.diff.site_text import describe_moment, format_amount, format_callers, format_change, format_size
from tlsmem.profile.frames import skip_allocators
from tlsmem.profile.heap_profile import BASE, describe_unit, profiler_name
from tlsmem.stats.comparability import stack_label
from tlsmem.tables.table import percent

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
    if diff.is_of_one_profile:
        return None
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


PLACES = {
    "client context": "in the client's context",
    "server context": "in the server's context",
    "harness": "in the harness",
    "warm-up": "from before the first session",
}
NO_CHANGE = "No call site differs."
BY_PURPOSE = (
    "; to compare what the bytes of two stacks are for, use `--buckets` with each profile, or tools/tls-memtest why"
)


def describe_diff(diff: Diff) -> list[str]:
    """All that there is to say, in the order in which a reader needs it."""
    summary = summarise_diff(diff)
    places = {row.part: describe_place(diff, row.part) for row in diff.rows}
    return [
        *describe_sides(diff),
        *describe_conditions(diff),
        *describe_totals(summary, places, describe_common_moment(diff)),
        *(describe_site(one, places[one.site.part]) for one in summary.largest_sites),
        *(describe_unjoined(one, places[one.part]) for one in summary.unjoined if not diff.is_of_one_profile),
        *describe_missing_names(summary),
    ]


def describe_common_moment(diff: Diff) -> str:
    """Return at which moment both sides are, or nothing where they differ."""
    return describe_moment(diff.new.moment) if diff.old.moment == diff.new.moment else ""


def describe_sides(diff: Diff) -> list[str]:
    """What OLD and NEW are, and first of all whether they have anything in common."""
    if diff.is_of_one_profile:
        old, new = (describe_moment(side.moment) for side in (diff.old, diff.new))
        return [f"OLD and NEW are two moments of {describe_side(diff.new)}: OLD {old}, NEW {new}."]
    strangers = find_strangers(diff)
    sides = f"OLD is {describe_side(diff.old)}; NEW is {describe_side(diff.new)}."
    return [describe_strangers(strangers), sides] if strangers else [sides]


def describe_strangers(strangers: Strangers) -> str:
    of_sessions = " of client or server sessions" if strangers.by_sessions else ""
    advice = BY_PURPOSE if strangers.are_two_stacks else ""
    return (
        f"OLD and NEW share no call stack{of_sessions}: they are two different programs, or name their functions "
        f"differently{advice}."
    )


def describe_side(side: DiffSide) -> str:
    run, profile = side.profile.run, side.profile
    if run is None:
        return f"{profile.file}, by {profiler_name(profile.tool)}"
    text = f"{stack_label(run)}, {run.suite}, N = {run.sessions:,}, by {profiler_name(profile.tool)}"
    return text if profile.of_one_pair else f"{text} ({posixpath.basename(profile.file)})"


def describe_conditions(diff: Diff) -> Iterator[str]:
    """Under which conditions the figures hold."""
    if diff.forced:
        yield f"Compared because of --force, although {'; '.join(diff.forced)}."
    yield from diff.notes
    if diff.old.moment != diff.new.moment and not diff.is_of_one_profile:
        yield f"The moments differ: OLD {describe_moment(diff.old.moment)}, NEW {describe_moment(diff.new.moment)}."
    new, when = diff.new.profile, describe_common_moment(diff) or "then"
    if new.unit == "requested" and new.sampled_every_bytes is None:
        yield f"Bytes and blocks are those requested and still live {when}."
    else:
        yield f"Bytes and blocks are those still live {when}. {describe_unit(new)}"
    if diff.old.sessions:
        yield (
            f"Figures of client and server are per session, above what was live at `{BASE}`; all others are of the "
            "whole process."
        )


def describe_totals(summary: DiffSummary, places: dict[Part, str], moment: str) -> Iterator[str]:
    if not summary.totals:
        yield "Neither OLD nor NEW holds any memory at this moment."
    elif not summary.has_changes:
        yield NO_CHANGE
    for total in summary.totals:
        yield describe_total(total, f"{places[total.part]} {moment}".rstrip())


def describe_total(total: PartChange, where: str) -> str:
    old_bytes, new_bytes, old_blocks, new_blocks = amounts = total.amounts
    both = f"OLD {format_size(old_bytes, old_blocks)}, NEW {format_size(new_bytes, new_blocks)}"
    if not amounts.more:
        return f"NEW holds as much as OLD {where}: {both}."
    share = "" if amounts.share is None else f" ({percent(amounts.share)})"
    size, direction = format_change(amounts.more, " B").rsplit(" ", 1)
    return f"NEW holds {size}{share} {direction} {where}: {both}."


def describe_site(one: SiteDifference, place: str) -> str:
    callers, holder = format_callers(one.site), one.site.only_holder
    if holder:
        size = one.amounts.old_bytes if holder == "OLD" else one.amounts.new_bytes
        return f"Only {holder} holds memory in {callers}: {format_amount(size)} B {place}."
    return f"NEW holds {format_change(one.amounts.more, ' B')} {place} in {callers}."


def describe_unjoined(unjoined: PartChange, place: str) -> str:
    old, new = format_amount(unjoined.amounts.old_bytes), format_amount(unjoined.amounts.new_bytes)
    return (
        f"{old} B of OLD and {new} B of NEW {place} could not be joined: these call stacks are in one profile only, "
        "or have other names in the other."
    )


def describe_missing_names(summary: DiffSummary) -> Iterator[str]:
    if summary.modules_without_debug_info:
        modules = ", ".join(summary.modules_without_debug_info)
        yield f"Function names are missing or guessed where there is no debug information: in {modules}."
    if summary.joins_by_module:
        yield "Frames without a name are joined by their module only, so that all of them in a module are one site."


def describe_place(diff: Diff, part: Part) -> str:
    """Whose memory it is, and of how many: `per client session`."""
    if part in ("client", "server"):
        return f"per {part} session" if diff.old.sessions else f"in all {part} sessions"
    is_foreign = all(row.part == "harness" for row in diff.rows) and diff.new.profile.run is None
    return "in the process" if is_foreign else PLACES[part]
