"""Which changes of a comparison are the largest: those that are said in sentences."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest

from tlsmem.compare.comparison import HANDSHAKE, ComparedFigure, Comparison
from tlsmem.compare.figure_places import CUMULATIVE_METERS, LAST_PHASES, TIMED_METERS, Place, recorded_phase
from tlsmem.compare.site_changes import CallSiteExplainer, SiteChange
from tlsmem.config.choices import PEAK
from tlsmem.stats.change import Change
from tlsmem.stats.repeats import Number

MAX_SENTENCES = 5
CLASSES = (("heap", "blocks", "rest"), ("rss", "peak-rss"), TIMED_METERS, CUMULATIVE_METERS)
LIVE_METERS = {"allocations": "blocks", "allocated": "heap"}  # what is still live of that
PRIMARY_METERS = {"blocks": "heap", "peak-rss": "rss"}  # which tells of the change where both meters changed
NO_SESSION = (*LAST_PHASES, PEAK)  # a peak is in one of the phases, and after the others there is no session
UNEVEN_BYTES = 16  # by which one pair's call sites may differ where sessions are not all alike


@dataclass(frozen=True)
class LargeChange:
    row: ComparedFigure
    also: tuple[ComparedFigure, ...] = ()  # other suites and settings of the stack, with the same difference
    moved: tuple[SiteChange, ...] = ()  # call sites that cancel out, of a figure that is the same


def select_largest(comparison: Comparison, most: int = MAX_SENTENCES) -> list[LargeChange]:
    """Return the leaks, then the largest changes by share, the largest first.

    Of each suite, role and meter the stage that changed most, or the first phase in which it changed as much. Where
    there are too many, the largest of each class of meters is chosen before the second of any: what code does to live
    heap, to RSS and to time are not of one scale."""
    leaks = find_leaks(comparison)
    leaked = {(id(row.match), row.place.role, row.change.amount) for row in leaks}
    largest: dict[tuple[int, str, str], ComparedFigure] = {}
    for row in skip_implied(comparison.changed):
        if row.place.meter == "heap" and (id(row.match), row.place.role, row.change.amount) in leaked:
            continue
        key = (id(row.match), row.place.role, row.place.meter)
        if key not in largest or sort_weight(row) > sort_weight(largest[key]):
            largest[key] = row
    changes = merge_equal(sorted(largest.values(), key=lambda row: -share(row.change)))
    by_class = ([one for one in changes if one.row.place.meter in meters] for meters in CLASSES)
    chosen = list(filter(None, chain.from_iterable(zip_longest(*by_class))))[:most]
    chosen = [*merge_equal(leaks), *sorted(chosen, key=lambda one: -share(one.row.change))][:most]
    return [replace(one, row=find_start(one.row, comparison)) for one in chosen]


def find_start(row: ComparedFigure, comparison: Comparison) -> ComparedFigure:
    """Return the figure of the first phase with the same difference; tables may not show that phase."""
    phases = list_phases(row, comparison) if row.place.meter in LIVE_METERS.values() and not is_leak(row) else []
    return next((one for one in phases if one.change.amount == row.change.amount and one.change.changed), row)


def find_smaller_start(row: ComparedFigure, comparison: Comparison) -> ComparedFigure | None:
    """Return the first phase of an unbroken change in the same direction before this one, if any."""
    phases = list_phases(row, comparison) if row.place.meter in LIVE_METERS.values() else []
    earlier = phases[: phases.index(row)] if row in phases else []
    since = None
    for one in reversed(earlier):
        if one.change.better != row.change.better:
            break
        since = one
    return since


def list_phases(row: ComparedFigure, comparison: Comparison) -> list[ComparedFigure]:
    """Return the figures at the ends of all phases with a session of its kind, in the order of a run."""
    kind = row.place._replace(phase="")
    found = [
        one
        for one in (*comparison.rows, *comparison.between)
        if one.match is row.match and one.place._replace(phase="") == kind and one.place.phase not in NO_SESSION
    ]
    order = {phase.phase: at for run in row.match.old for at, phase in enumerate(run.phases)}
    return sorted(found, key=lambda one: order[recorded_phase(one.place.phase)])


def find_end(row: ComparedFigure, comparison: Comparison) -> ComparedFigure | None:
    """Return the last phase of the unbroken change; None if it lasts as long as the session."""
    phases = list_phases(row, comparison)
    later = phases[phases.index(row) :] if row in phases else [row]
    ends = [at for at, one in enumerate(later) if not one.change.changed or one.change.better != row.change.better]
    return later[ends[0] - 1] if ends else None


def select_with_moves(comparison: Comparison, explained: CallSiteExplainer) -> list[LargeChange]:
    """Return the largest changes, and after them what moved."""
    return [*select_largest(comparison), *find_moves(comparison, explained)]


def is_leak(row: ComparedFigure) -> bool:
    """Return whether closed sessions keep more live heap than before."""
    change = row.change
    return row.place.meter == "heap" and row.place.phase in LAST_PHASES and change.changed and change.better is False


def find_leaks(comparison: Comparison) -> list[ComparedFigure]:
    """Return of each suite and role what closed sessions keep, the largest first; of a pair only what no role has."""
    found: dict[tuple[int, str], ComparedFigure] = {}
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


def sort_weight(row: ComparedFigure) -> tuple[Number, bool]:
    """By amount; of equals that which lasts."""
    amount = row.change.amount
    return max(amount, -amount), row.place.phase == HANDSHAKE  # abs() of a union has no type


def share(change: Change) -> float:
    """Of OLD's; from nothing to something is all."""
    return 1.0 if change.share is None else abs(change.share)


def skip_implied(rows: Iterable[ComparedFigure]) -> Iterator[ComparedFigure]:
    """All but those that another tells of too: blocks of a heap that changed, pairs whose roles did, allocations of as
    many blocks, or bytes, as are live more, and bytes of allocations that changed in the same direction."""
    changed = list(rows)
    known = {(id(row.match), row.place.role, row.place.meter) for row in changed}
    amounts = {(id(row.match), row.place): row.change.amount for row in changed}
    for row in changed:
        match, role, meter = id(row.match), row.place.role, row.place.meter
        primary = (match, "pair" if role == "process" else role, PRIMARY_METERS.get(meter))
        if meter in LIVE_METERS:
            live, blocks = (
                amounts.get((match, row.place._replace(meter=one))) for one in (LIVE_METERS[meter], "blocks")
            )
            allocations = amounts.get((match, row.place._replace(meter="allocations")))
            if live is not None and abs(float(row.change.amount - live)) <= float(row.new.noise) * (
                meter == "allocated"
            ):
                continue
            if meter == "allocated" and allocations not in (None, blocks) and allocations * row.change.amount > 0:
                continue
        roles_changed = any((match, one, meter) in known for one in ("client", "server"))
        if primary not in known and not (role == "pair" and roles_changed):
            yield row


def merge_equal(rows: Sequence[ComparedFigure]) -> list[LargeChange]:
    """Exact differences that are the same in several suites and settings of a stack are one change."""
    groups: dict[tuple[str, Place, Number, int | None], list[ComparedFigure]] = {}
    for row in rows:
        key = (row.match.stack, row.place._replace(suite=""), row.change.amount, None if row.old.exact else id(row))
        groups.setdefault(key, []).append(row)
    return [LargeChange(first, tuple(others)) for first, *others in groups.values()]
