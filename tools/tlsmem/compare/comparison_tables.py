"""A comparison as tables: a figure of each side, and how much more or less that is; by meter, and call sites."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

from tlsmem.compare import change_text, largest_changes
from tlsmem.compare.comparison import SETTINGS, ComparedFigure, Comparison, describe_setting
from tlsmem.compare.figure_places import CUMULATIVE_METERS, TIMED_METERS, readable_phase
from tlsmem.compare.run_matching import Match
from tlsmem.compare.site_changes import (
    UNEXPLAINED,
    UNEXPLAINED_REASON,
    CallSiteExplainer,
    SiteChange,
    describe_callers,
    format_difference,
    format_unit,
    sum_changes,
)
from tlsmem.explore.diff.site_text import format_amount
from tlsmem.schema.roles import ROLES
from tlsmem.stats.change import SAME, UNKNOWN, Change
from tlsmem.tables.table import Cell, Heading, Table, missing_cell, optional, text_cell
from tlsmem.tables.timed_cells import describe_gap

SITES = 10  # rows of a role's
TITLES = {
    "heap": "Live heap per session",
    "allocations": "Allocations per handshake",
    "allocated": "Bytes allocated per handshake",
    "rest": "Process-wide tables of the library",
    "rss": "RSS per session",
    "peak-rss": "Peak RSS of the process",
    "time": "Handshakes and transfer",
}
CAPTIONS = {
    "heap": "Live heap per additional session of the role, in bytes and in blocks.",
    "allocations": "Blocks that each additional session allocates up to the end of the phase, freed or not.",
    "allocated": "Bytes that each additional session allocates up to the end of the phase, freed or not.",
    "rest": "Live heap that grows with N and stays when all sessions are closed: growth from the smaller N to this.",
    "rss": "Slope of RSS over the number of sessions, in bytes; median of repeats.",
    "peak-rss": "Bytes at this N, which counts clients and servers; median of repeats.",
    "time": "Rate of one thread, as if it did nothing else; median of repeats. Transfer is in MiB/s.",
}
PAIRS = " Pair: a client and its server together."
OTHERS, IN_ALL = "{} other site{}", "total, unchanged sites included"
NO_SITE = "no call stack covers it"
SiteCells = Callable[[SiteChange], list[Cell]]
LiveChanges = tuple[Change, Change]  # of bytes and of blocks


def build_tables(comparison: Comparison, explained: CallSiteExplainer | None = None) -> list[Table]:
    """Those that have rows; what has none is said by the last."""
    explained = explained or CallSiteExplainer(comparison)
    groups = {name: (name,) for name in TITLES} | {"time": TIMED_METERS}
    made = [meter_table(name, comparison, explained, meters) for name, meters in groups.items()]
    allocations = allocation_sites(comparison, explained)  # where they are not known, the sentence of a change says so
    sites = call_sites(comparison, explained)
    made += [sites, sites_below(comparison, explained), *([allocations] if allocations.rows else [])]
    return [table for table in made if table.rows or table.without]


def meter_table(name: str, comparison: Comparison, explained: CallSiteExplainer, meters: Sequence[str]) -> Table:
    rows = sort_by_size([row for row in comparison.rows if row.place.meter in meters])
    old, new = comparison.sides
    figures = [Heading("old", old), Heading("new", new), Heading("difference", f"{new} has")]
    figures += [optional(Heading("blocks", "blocks"))] if name == "heap" else []
    columns = [*names_of(comparison), *place_columns(name), *figures]
    caption = CAPTIONS[name] + PAIRS * (name == "rss" and any(row.place.role == "pair" for row in rows))
    made = Table(name, TITLES[name], caption, columns, headed=headed(comparison))
    for row in rows:
        place = [text_cell(row.place.role), text_cell(readable_phase(row.place.phase)), *at(name, row)]
        cells = [number(row.change.old), number(row.change.new), difference_cell(row)]
        cells += [blocks(explained.need_beside(row, "blocks").change)] if name == "heap" else []
        made.rows.append([*names(row.match), *place, *cells])
    return made


def sort_by_size(rows: Sequence[ComparedFigure]) -> list[ComparedFigure]:
    """Return the rows by the size of the change, the largest first; those of a suite and setting stay together."""
    largest: dict[int, tuple[bool, float]] = {}
    for row in rows:
        largest[id(row.match)] = max(change_size(row), largest.get(id(row.match), (False, 0.0)))
    first = {match: at for at, match in enumerate(sorted(largest, key=lambda match: largest[match], reverse=True))}
    return sorted(rows, key=lambda row: (first[id(row.match)], *(-one for one in change_size(row))))


def change_size(row: ComparedFigure) -> tuple[bool, float]:
    """Return whether it changed, and by how much: of figures in several units by which share."""
    timed = row.place.meter in TIMED_METERS
    return row.change.changed, largest_changes.share(row.change) if timed else abs(float(row.change.amount))


def place_columns(name: str) -> list[Heading]:
    found = [Heading("role", "role", left=True), Heading("phase", "phase", left=True)]
    if name == "time":
        return [*found, Heading("meter", "figure", left=True)]
    return [*found, Heading("sessions", "N")] if name in ("peak-rss", "rest") else found


def at(name: str, row: ComparedFigure) -> list[Cell]:
    if name == "time":
        return [text_cell(change_text.METER_NAMES[row.place.meter])]
    return [Cell(f"{row.place.sessions:,}", row.place.sessions)] if name in ("peak-rss", "rest") else []


def names_of(comparison: Comparison) -> list[Heading]:
    """Suite, stack and setting; people are shown what varies."""
    columns = [Heading("suite", "suite", left=True)]
    for name in SETTINGS:
        usual = None if name in comparison.varying else describe_setting(comparison.rows[0].match, name)
        columns.append(Heading(name, name, left=True, usual=usual))
    return columns


def headed(comparison: Comparison) -> int:
    """Of names_of's columns those that people are shown."""
    return 1 + len(comparison.varying)


def names(match: Match) -> list[Cell]:
    return [text_cell(match.suite), *(text_cell(describe_setting(match, name)) for name in SETTINGS)]


def number(value: Fraction | float) -> Cell:
    return Cell(change_text.format_number(value), plain(value))


def plain(value: Fraction | float) -> int | float:
    """For programs."""
    if isinstance(value, Fraction) and value.denominator == 1:
        return int(value)
    return round(float(value), 4)


def difference_cell(row: ComparedFigure) -> Cell:
    """The direction is in words for people, in the sign for programs."""
    change, unit = row.change, row.old.unit
    share = None if change.share is None else round(change.share, 6)
    data: dict[str, str | float | None] = {"amount": plain(change.amount), "share": share, "verdict": change.verdict}
    if change.low is not None and change.high is not None:
        data |= {"low": round(change.low, 4), "high": round(change.high, 4)}
    note = "; ".join(filter(None, (change.note, change.gap and describe_gap(change.gap))))
    return Cell(words(change, unit), data, note or None)


def words(change: Change, unit: str) -> str:
    if change.verdict in (SAME, UNKNOWN):
        return change.verdict
    share = "" if change.share is None else f" ({change_text.format_percent(change)})"
    way = "fewer" if unit == "blocks" and change.amount < 0 else change.direction
    size: Fraction | float = max(change.amount, -change.amount)  # abs() of a union has no type
    return f"{change_text.format_number(size)} {format_unit(size, unit)} {way}{share}"


def blocks(change: Change) -> Cell:
    data = {"old": plain(change.old), "new": plain(change.new), "verdict": change.verdict}
    return Cell(f"{format_amount(Fraction(change.old))} -> {format_amount(Fraction(change.new))}", data)


def call_sites(comparison: Comparison, explained: CallSiteExplainer) -> Table:
    """Of each suite and role the stage whose live heap changed most; rows add up to what one more session adds."""
    old, new = comparison.sides
    figures = [Heading("more_bytes", f"{new} has"), Heading("blocks", "blocks")]
    figures += [optional(Heading("old_bytes", old)), optional(Heading("new_bytes", new))]
    caption = (
        "Which call sites the difference of live heap per session comes from, innermost caller first. For each suite "
        "and role, the table has the phase that changed most. The rows of a suite and role add up to the difference in "
        "that phase, to the byte and block."
    )
    made = Table("sites", "Call sites", caption, site_columns(comparison, figures), headed=headed(comparison) + 2)
    for row in changed_most(comparison, explained):
        beside = explained.need_beside(row, "blocks").change
        add_site_rows(made, row, explained, live_cells, (row.change, beside))
    return made


def sites_below(comparison: Comparison, explained: CallSiteExplainer) -> Table:
    """The call sites of each row of `call_sites` that sums up several."""
    new = comparison.sides[1]
    figures = [Heading("more_bytes", f"{new} has"), Heading("blocks", "blocks")]
    figures += [optional(Heading("old_bytes", comparison.sides[0])), optional(Heading("new_bytes", new))]
    caption = "The call sites that one row of the table above sums up; all are below its first function."
    columns = site_columns(comparison, figures)
    made = Table("sites-below", "Call sites below one caller", caption, columns, headed=headed(comparison) + 2)
    for row in changed_most(comparison, explained):
        head = [*names(row.match), text_cell(row.place.role), text_cell(readable_phase(row.place.phase))]
        with contextlib.suppress(ValueError):  # no call sites are known, as the table above says
            parts = [part for one in explained.sites(row) for part in one.parts]
            made.rows += [[*head, *figures] for figures in list_sites(parts, live_cells)]
    return made


def allocation_sites(comparison: Comparison, explained: CallSiteExplainer) -> Table:
    """For each suite and role that allocates more or less, in blocks or in bytes; rows add up to the difference."""
    old, new = comparison.sides
    figures = [Heading("more_blocks", f"{new} has"), Heading("bytes", "bytes")]
    figures += [optional(Heading("old_blocks", old)), optional(Heading("new_blocks", new))]
    caption = (
        "Which call sites the difference of allocations per session comes from, in blocks, freed or not; innermost "
        "caller first. The rows of a suite and role add up to its difference, in blocks or in bytes."
    )
    columns = site_columns(comparison, figures)
    made = Table("allocation-sites", "Call sites of allocations", caption, columns, headed=headed(comparison) + 2)
    for row in comparison.changed:
        told = row.place.meter == "allocated" and explained.need_beside(row, "allocations").change.changed
        if row.place.meter in CUMULATIVE_METERS and row.place.role in ROLES and not told:
            add_site_rows(made, row, explained, allocation_cells, None)
    return made


def site_columns(comparison: Comparison, figures: Sequence[Heading]) -> list[Heading]:
    return [*names_of(comparison), *place_columns("heap"), Heading("callers", "by", left=True), *figures]


def add_site_rows(
    made: Table, row: ComparedFigure, explained: CallSiteExplainer, cells: SiteCells, live: LiveChanges | None
) -> None:
    """Add the rows of a figure, or what says why its call sites are not known."""
    head = [*names(row.match), text_cell(row.place.role), text_cell(readable_phase(row.place.phase))]
    try:
        made.rows += [[*head, *figures] for figures in site_rows(row, explained, cells, live)]
    except ValueError as error:
        made.without.append(f"{row.match.stack}, {row.place}: {error}")


def changed_most(comparison: Comparison, explained: CallSiteExplainer) -> list[ComparedFigure]:
    """Of each role; where bytes did not change and blocks did too, or where call sites moved."""
    found: dict[tuple[int, str], ComparedFigure] = {}
    for row in comparison.rows:
        key = (id(row.match), row.place.role)
        if row.place.meter != "heap" or row.place.role not in ROLES:
            continue
        changed = row.change.changed or explained.need_beside(row, "blocks").change.changed
        if changed and (key not in found or largest_changes.sort_weight(row) > largest_changes.sort_weight(found[key])):
            found[key] = row
    for move in largest_changes.find_moves(comparison, explained, len(comparison.rows)):
        found.setdefault((id(move.row.match), move.row.place.role), move.row)
    return [largest_changes.find_start(row, comparison) for row in found.values()]


def site_rows(
    row: ComparedFigure, explained: CallSiteExplainer, cells: SiteCells, live: LiveChanges | None
) -> Iterator[list[Cell]]:
    """The largest, what others come to, what is unexplained, and the row's own difference, which is their sum."""
    found = explained.sites(row)
    sites = [one for one in found if one.is_site]
    yield from list_sites(sites, cells)
    for one in found[len(sites) :]:
        two_missing = [missing_cell(NO_SITE)] * 2
        yield [Cell(UNEXPLAINED, UNEXPLAINED, UNEXPLAINED_REASON), *cells(one)[:2], *two_missing]
    if live:
        size, blocks = live
        total = sum_changes([])._replace(
            bytes=Fraction(size.amount),
            old_bytes=Fraction(size.old),
            new_bytes=Fraction(size.new),
            blocks=Fraction(blocks.amount),
            old_blocks=Fraction(blocks.old),
            new_blocks=Fraction(blocks.new),
        )
    else:
        blocks_row = row if row.place.meter == "allocations" else explained.need_beside(row, "allocations")
        old, new = Fraction(blocks_row.change.old), Fraction(blocks_row.change.new)
        total = sum_changes(found)._replace(old_blocks=old, new_blocks=new)
    yield [text_cell(IN_ALL), *cells(total)]


def list_sites(sites: Sequence[SiteChange], cells: SiteCells) -> Iterator[list[Cell]]:
    """The largest changes, and the sum of the others."""
    for one in sites[:SITES]:
        yield [Cell(describe_callers(one), " < ".join(one.callers)), *cells(one)]
    if others := sites[SITES:]:
        yield [text_cell(OTHERS.format(len(others), "s"[: len(others) > 1])), *cells(sum_changes(others))]


def live_cells(one: SiteChange) -> list[Cell]:
    return [*differences(one), number(one.old_bytes), number(one.new_bytes)]


def allocation_cells(one: SiteChange) -> list[Cell]:
    size, blocks = differences(one)
    return [blocks, size, number(one.old_blocks), number(one.new_blocks)]


def differences(one: SiteChange) -> list[Cell]:
    return [
        Cell(format_difference(one.bytes, "B"), plain(one.bytes)),
        Cell(format_difference(one.blocks), plain(one.blocks)),
    ]
