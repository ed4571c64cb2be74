"""A diff in words. Every sentence names OLD and NEW: a reader must not need to guess which side a sign is of."""

import posixpath
from collections.abc import Iterator

from tlsmem.explore.diff.profile_diff import Diff, DiffSide
from tlsmem.explore.diff.rows import Part
from tlsmem.explore.diff.site_text import describe_moment, format_amount, format_callers, format_change, format_size
from tlsmem.explore.diff.summary import (
    DiffSummary,
    PartChange,
    SiteDifference,
    Strangers,
    find_strangers,
    summarise_diff,
)
from tlsmem.profile.heap_profile import BASE, profiler_name
from tlsmem.stats.comparability import stack_label
from tlsmem.tables.table import percent

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
        *describe_totals(summary, places, describe_moment(diff.new.moment)),
        *(describe_site(one, places[one.site.part]) for one in summary.largest_sites),
        *(describe_unjoined(one, places[one.part]) for one in summary.unjoined),
        *describe_missing_names(summary),
    ]


def describe_sides(diff: Diff) -> list[str]:
    """What OLD and NEW are, and first of all whether they have anything in common."""
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
    if diff.old.moment != diff.new.moment:
        yield f"The moments differ: OLD {describe_moment(diff.old.moment)}, NEW {describe_moment(diff.new.moment)}."
    yield f"Bytes and blocks are those requested and still live {describe_moment(diff.new.moment)}."
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
        yield describe_total(total, f"{places[total.part]} {moment}")


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
