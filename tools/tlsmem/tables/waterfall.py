"""From requested to resident: what the allocator and the kernel make of the bytes that were asked for."""

from fractions import Fraction
from itertools import pairwise, starmap

from tlsmem.schema.records import Phase, Record
from tlsmem.stats import allocator_statistics, session_cost
from tlsmem.stats.exact_slope import ESTABLISHED, PhaseQuantity, quantity_at_end, slope_per_pair
from tlsmem.stats.rss_line import why_no_line
from tlsmem.stats.selection import Selection, Series
from tlsmem.tables import rss_accounts
from tlsmem.tables.settings import describe_common_settings
from tlsmem.tables.table import Cell, Column, Table, missing_cell, text_cell

STAGE_COLUMNS = (
    ("requested_bytes", "requested"),
    ("rounding_bytes", "rounding and headers"),
    ("usable_bytes", "usable"),
    ("free_bytes", "held free"),
    ("held_bytes", "allocator-held"),
    ("untouched_bytes", "untouched or given back"),
    ("resident_bytes", "resident"),
)
APART = "requested bytes are not told apart by allocator"
WHOLE = "the kernel tells of the process, not of an allocator"
AmountOrReason = tuple[Fraction | None, str | None]  # bytes per pair, or why they are not known


def step(series: Series, meaning: dict[str, tuple[str, ...]], of: str | None = None) -> AmountOrReason:
    """A figure of all allocators' books together, or of one's."""
    runs = series.full("rss")
    for phase in (session_cost.phase_of(run, ESTABLISHED) for run in runs):
        why = allocator_statistics.unknown_reason(meaning, phase)
        if why and (of is None or of not in allocator_statistics.read_statistics(meaning, phase)):
            return None, why

    def measure(phase: Phase) -> int:
        told = allocator_statistics.read_statistics(meaning, phase)
        return sum(told[name] for name in told if of in (None, name))

    return slope(series, measure)


def slope(series: Series, measure: PhaseQuantity) -> AmountOrReason:
    why = why_no_line(series)
    return slope_per_pair(series.full("rss"), quantity_at_end(measure)), why.reason if why else None


def between(before: AmountOrReason, after: AmountOrReason) -> Cell:
    """What a step adds, or with a minus loses."""
    for amount, why in (before, after):
        if amount is None:
            return missing_cell(why)
    return rss_accounts.bytes_cell(after[0] - before[0], "+")


def amount_cell(one: AmountOrReason) -> Cell:
    return missing_cell(one[1]) if one[0] is None else rss_accounts.bytes_cell(one[0])


def row(series: Series, asked: AmountOrReason, of: str | None = None) -> list[Cell]:
    """Steps and what each adds. Of one allocator among two only what its own books tell."""
    live, kept = drop_impossible_amounts(
        asked,
        step(series, allocator_statistics.LIVE_FIELDS, of),
        step(series, allocator_statistics.OBTAINED_FIELDS, of),
    )
    resident = (None, WHOLE) if of else slope(series, lambda phase: phase.rss_anon_bytes)
    cells = [amount_cell(asked)]
    for before, after in pairwise((asked, live, kept, resident)):
        cells += [between(before, after), amount_cell(after)]
    return cells


def drop_impossible_amounts(
    asked: AmountOrReason, live: AmountOrReason, kept: AmountOrReason
) -> tuple[AmountOrReason, AmountOrReason]:
    """Usable and held, but for those that cannot be: an allocator gives out no less than is requested, and has it."""
    if kept[0] is not None and kept[0] < max(asked[0] or 0, live[0] or 0):
        kept = None, allocator_statistics.COARSE_NOTE
    if None not in (asked[0], live[0]) and live[0] < asked[0]:
        live = None, allocator_statistics.COARSE_NOTE
    return live, kept


def allocators(runs: list[Record]) -> list[str]:
    return list(session_cost.phase_of(runs[0], ESTABLISHED).allocator or {}) if runs else []


def waterfall(selection: Selection) -> Table:
    caption = (
        f"Bytes per pair, in a process of one role per session, at `{ESTABLISHED}`: requested from "
        "heap runs, exact; the "
        "others are slopes by least squares through "
        "the means of RSS runs. Usable and allocator-held are the allocator's own figures, resident is RssAnon. What "
        f"lies between two of them is named and signed. {describe_common_settings(selection)}."
    )
    columns = [
        *rss_accounts.row_name_columns(selection),
        Column("books", "books of", left=True),
        *starmap(Column, STAGE_COLUMNS),
    ]
    table = Table("waterfall", "From requested to resident", caption, columns)
    for stack, setting, process, series in (
        rss_accounts.processes_with_rss(selection) if rss_accounts.has_allocator_statistics(selection) else ()
    ):
        asked, told = (
            rss_accounts.requested_per_pair(selection, stack, setting, process),
            allocators(series.full("rss")),
        )
        head = rss_accounts.row_name_cells(selection, series)
        table.rows.append([*head, text_cell(" + ".join(told) or "none"), *row(series, (asked.amount, asked.why))])
        for one in told if len(told) > 1 else ():
            table.rows.append([*head, text_cell(f"of these {one}"), *row(series, (None, APART), one)])
    return table
