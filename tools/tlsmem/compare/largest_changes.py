"""Which changes of a comparison are the largest: those that are said in sentences."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

from tlsmem.compare.comparison import HANDSHAKE, ComparedFigure, Comparison
from tlsmem.compare.figure_places import LAST_PHASES, TIMED_METERS
from tlsmem.compare.site_changes import CallSiteExplainer, SiteChange
from tlsmem.stats.change import Change

MAX_SENTENCES = 5
CLASSES = (("heap", "blocks", "rest"), ("rss", "peak-rss"), TIMED_METERS, ("allocations",))
PRIMARY_METERS = {"blocks": "heap", "peak-rss": "rss"}  # which tells of the change where both meters changed
UNEVEN_BYTES = 16  # by which one pair's call sites may differ where sessions are not all alike


@dataclass(frozen=True)
class LargeChange:
    row: ComparedFigure
    also: tuple[ComparedFigure, ...] = ()  # other suites and settings of the stack, with the same difference
    moved: tuple[SiteChange, ...] = ()  # call sites that cancel out, of a figure that is the same


def select_largest(comparison: Comparison, most: int = MAX_SENTENCES) -> list[LargeChange]:
    """Return the leaks, then the largest changes by share, the largest first.

    Of each suite, role and meter the stage that changed most. Where there are too many, the largest of each class of
    meters is chosen before the second of any: what code does to live heap, to RSS and to time are not of one scale."""
    leaks = find_leaks(comparison)
    leaked = {(id(row.match), row.place.role, row.change.amount) for row in leaks}
    largest: dict[tuple, ComparedFigure] = {}
    for row in skip_implied(comparison.changed):
        if row.place.meter == "heap" and (id(row.match), row.place.role, row.change.amount) in leaked:
            continue
        key = (id(row.match), row.place.role, row.place.meter)
        if key not in largest or sort_weight(row) > sort_weight(largest[key]):
            largest[key] = row
    changes = merge_equal(sorted(largest.values(), key=lambda row: -share(row.change)))
    by_class = ([one for one in changes if one.row.place.meter in meters] for meters in CLASSES)
    chosen = list(filter(None, chain.from_iterable(zip_longest(*by_class))))[:most]
    return [*merge_equal(leaks), *sorted(chosen, key=lambda one: -share(one.row.change))][:most]


def select_with_moves(comparison: Comparison, explained: CallSiteExplainer) -> list[LargeChange]:
    """Return the largest changes, and after them what moved."""
    return [*select_largest(comparison), *find_moves(comparison, explained)]


def is_leak(row: ComparedFigure) -> bool:
    """Return whether closed sessions keep more live heap than before."""
    change = row.change
    return row.place.meter == "heap" and row.place.phase in LAST_PHASES and change.changed and change.better is False


def find_leaks(comparison: Comparison) -> list[ComparedFigure]:
    """Return of each suite and role what closed sessions keep, the largest first; of a pair only what no role has."""
    found: dict[tuple, ComparedFigure] = {}
    for row in skip_implied(filter(is_leak, comparison.rows)):
        key = (id(row.match), row.place.role)
        if key not in found or sort_weight(row) > sort_weight(found[key]):
            found[key] = row
    return sorted(found.values(), key=lambda row: -row.change.amount)


def find_moves(comparison: Comparison, explained: CallSiteExplainer, most: int = MAX_SENTENCES) -> list[LargeChange]:
    """Return established sessions whose live heap is the same and whose call sites moved, or cancel out."""
    found = []
    for row in comparison.rows:
        if row.place.phase != HANDSHAKE or not explained.is_unchanged_role(row):
            continue
        try:
            sites = [one for one in explained.sites(row) if one.is_site]
        except ValueError:  # no call sites are known
            continue
        least = UNEVEN_BYTES if max(row.old.noise, row.new.noise) else 0
        if (sites and max(abs(one.bytes) for one in sites) > least) or any(one.blocks for one in sites):
            found.append(LargeChange(row, moved=tuple(sites)))
    return found[:most]


def sort_weight(row: ComparedFigure) -> tuple:
    """By amount; of equals that which lasts."""
    return abs(row.change.amount), row.place.phase == HANDSHAKE


def share(change: Change) -> float:
    """Of OLD's; from nothing to something is all."""
    return 1.0 if change.share is None else abs(change.share)


def skip_implied(rows: Iterable[ComparedFigure]) -> Iterator[ComparedFigure]:
    """All but those that another tells of too: blocks of a heap that changed, pairs whose roles did, allocations of as
    many blocks as are live more."""
    changed = list(rows)
    known = {(id(row.match), row.place.role, row.place.meter) for row in changed}
    live_blocks = {(id(row.match), row.place): row.change.amount for row in changed if row.place.meter == "blocks"}
    for row in changed:
        match, role, meter = id(row.match), row.place.role, row.place.meter
        primary = (match, "pair" if role == "process" else role, PRIMARY_METERS.get(meter))
        if meter == "allocations" and row.change.amount == live_blocks.get((match, row.place._replace(meter="blocks"))):
            continue
        roles_changed = any((match, one, meter) in known for one in ("client", "server"))
        if primary not in known and not (role == "pair" and roles_changed):
            yield row


def merge_equal(rows: Sequence[ComparedFigure]) -> list[LargeChange]:
    """Exact differences that are the same in several suites and settings of a stack are one change."""
    groups: dict[tuple, list[ComparedFigure]] = {}
    for row in rows:
        key = (row.match.stack, *row.place[1:], row.change.amount)
        groups.setdefault(key if row.old.exact else (*key, id(row)), []).append(row)
    return [LargeChange(first, tuple(others)) for first, *others in groups.values()]
