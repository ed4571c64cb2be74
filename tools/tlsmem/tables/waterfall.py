"""From requested to resident: what the allocator and the kernel make of the bytes that were asked for."""

from fractions import Fraction
from itertools import pairwise, starmap

from tlsmem.schema.records import Phase, Record
from tlsmem.stats import allocator_statistics, session_cost
from tlsmem.stats.selection import Selection, Series
from tlsmem.tables import rss_accounts
from tlsmem.tables.rss_accounts import AT, Measure, at_end, slope_per_pair, without_slope
from tlsmem.tables.settings import constant
from tlsmem.tables.table import Cell, Column, Table, hole, word

COLUMNS = (
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
Step = tuple[Fraction | None, str | None]  # bytes per pair, or why they are not known


def step(series: Series, meaning: dict[str, tuple[str, ...]], of: str | None = None) -> Step:
    """A figure of all allocators' books together, or of one's."""
    runs = series.full("rss")
    for phase in (session_cost.phase_of(run, AT) for run in runs):
        why = allocator_statistics.untold(meaning, phase)
        if why and (of is None or of not in allocator_statistics.told(meaning, phase)):
            return None, why

    def measure(phase: Phase) -> int:
        told = allocator_statistics.told(meaning, phase)
        return sum(told[name] for name in told if of in (None, name))

    return slope(series, measure)


def slope(series: Series, measure: Measure) -> Step:
    return slope_per_pair(series.full("rss"), at_end(measure)), without_slope(series)


def between(before: Step, after: Step) -> Cell:
    """What a step adds, or with a minus loses."""
    for amount, why in (before, after):
        if amount is None:
            return hole(why)
    return rss_accounts.figure(after[0] - before[0], "+")


def reached(one: Step) -> Cell:
    return hole(one[1]) if one[0] is None else rss_accounts.figure(one[0])


def row(series: Series, asked: Step, of: str | None = None) -> list[Cell]:
    """Steps and what each adds. Of one allocator among two only what its own books tell."""
    live, kept = possible(
        asked, step(series, allocator_statistics.USABLE, of), step(series, allocator_statistics.HELD, of)
    )
    resident = (None, WHOLE) if of else slope(series, lambda phase: phase.rss_anon_bytes)
    cells = [reached(asked)]
    for before, after in pairwise((asked, live, kept, resident)):
        cells += [between(before, after), reached(after)]
    return cells


def possible(asked: Step, live: Step, kept: Step) -> tuple[Step, Step]:
    """Usable and held, but for those that cannot be: an allocator gives out no less than is requested, and has it."""
    if kept[0] is not None and kept[0] < max(asked[0] or 0, live[0] or 0):
        kept = None, allocator_statistics.COARSE
    if None not in (asked[0], live[0]) and live[0] < asked[0]:
        live = None, allocator_statistics.COARSE
    return live, kept


def allocators(runs: list[Record]) -> list[str]:
    return list(session_cost.phase_of(runs[0], AT).allocator or {}) if runs else []


def waterfall(selection: Selection) -> Table:
    caption = (
        f"Bytes per pair, in a process of one role per session, at `{AT}`: requested from heap runs, exact; the "
        "others are slopes by least squares through "
        "the means of RSS runs. Usable and allocator-held are the allocator's own figures, resident is RssAnon. What "
        f"lies between two of them is named and signed. {constant(selection)}."
    )
    columns = [*rss_accounts.named(selection), Column("books", "books of", left=True), *starmap(Column, COLUMNS)]
    table = Table("waterfall", "From requested to resident", caption, columns)
    for stack, setting, process, series in rss_accounts.each(selection) if rss_accounts.have_books(selection) else ():
        asked, told = rss_accounts.requested(selection, stack, setting, process), allocators(series.full("rss"))
        head = rss_accounts.names(selection, series)
        table.rows.append([*head, word(" + ".join(told) or "none"), *row(series, (asked.amount, asked.why))])
        for one in told if len(told) > 1 else ():
            table.rows.append([*head, word(f"of these {one}"), *row(series, (None, APART), one)])
    return table
