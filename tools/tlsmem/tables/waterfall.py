"""From requested to resident: what the allocator and the kernel make of the bytes that were asked for."""

from fractions import Fraction
from itertools import pairwise, starmap

from tlsmem.schema.harness_output import Phase
from tlsmem.schema.records import Record
from tlsmem.stats import allocator_statistics, session_cost
from tlsmem.stats.exact_slope import ESTABLISHED, PhaseQuantity, quantity_at_end, slope_per_pair
from tlsmem.stats.missing import Missing
from tlsmem.stats.rss_breakdown import COARSE, requested_per_pair
from tlsmem.stats.rss_line import why_no_line
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Series
from tlsmem.tables import rss_accounts
from tlsmem.tables.settings import describe_common_settings
from tlsmem.tables.table import Cell, Column, Table, missing_cell, text_cell, value_cell

STAGE_COLUMNS = (
    ("requested_bytes", "requested"),
    ("rounding_bytes", "rounding and headers"),
    ("usable_bytes", "usable"),
    ("free_bytes", "held free"),
    ("held_bytes", "allocator-held"),
    ("untouched_bytes", "untouched or given back"),
    ("resident_bytes", "resident"),
)
APART = Missing("requested bytes are not told apart by allocator")
WHOLE = Missing("the kernel tells of the process, not of an allocator")
Amount = Fraction | Missing  # bytes per pair


def step(series: Series, meaning: dict[str, tuple[str, ...]], of: str | None = None) -> Amount:
    """A figure of all allocators' books together, or of one's."""
    runs = series.full("rss")
    for phase in (session_cost.phase_of(run, ESTABLISHED) for run in runs):
        why = allocator_statistics.unknown_reason(meaning, phase)
        if why and (of is None or of not in allocator_statistics.read_statistics(meaning, phase)):
            return Missing(why)

    def measure(phase: Phase) -> int:
        told = allocator_statistics.read_statistics(meaning, phase)
        return sum(told[name] for name in told if of in (None, name))

    return slope(series, measure)


def slope(series: Series, measure: PhaseQuantity) -> Amount:
    if why := why_no_line(series):
        return why
    found = slope_per_pair(series.full("rss"), quantity_at_end(measure))
    assert found is not None
    return found


def between(before: Amount, after: Amount) -> Cell:
    """What a step adds, or with a minus loses."""
    if isinstance(before, Missing):
        return missing_cell(before.reason)
    return value_cell(after, lambda amount: rss_accounts.bytes_cell(amount - before, "+"))


def amount_cell(one: Amount) -> Cell:
    return value_cell(one, rss_accounts.bytes_cell)


def row(series: Series, asked: Amount, of: str | None = None) -> list[Cell]:
    """Steps and what each adds. Of one allocator among two only what its own books tell."""
    live, kept = drop_impossible_amounts(
        asked,
        step(series, allocator_statistics.LIVE_FIELDS, of),
        step(series, allocator_statistics.OBTAINED_FIELDS, of),
    )
    resident = WHOLE if of else slope(series, lambda phase: phase.rss_anon_bytes)
    cells = [amount_cell(asked)]
    for before, after in pairwise((asked, live, kept, resident)):
        cells += [between(before, after), amount_cell(after)]
    return cells


def drop_impossible_amounts(asked: Amount, live: Amount, kept: Amount) -> tuple[Amount, Amount]:
    """Usable and held, but for those that cannot be: an allocator gives out no less than is requested, and has it."""
    least = max(0 if isinstance(one, Missing) else one for one in (asked, live))
    if not isinstance(kept, Missing) and kept < least:
        kept = COARSE
    if not isinstance(asked, Missing) and not isinstance(live, Missing) and live < asked:
        live = COARSE
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
            requested_per_pair(selection, stack, setting, process),
            allocators(series.full("rss")),
        )
        head = rss_accounts.row_name_cells(selection, series)
        table.rows.append([*head, text_cell(" + ".join(told) or "none"), *row(series, asked)])
        for one in told if len(told) > 1 else ():
            table.rows.append([*head, text_cell(f"of these {one}"), *row(series, APART, one)])
    return table
