"""From requested to resident: what the allocator and the kernel make of the bytes that were asked for."""

from fractions import Fraction
from itertools import pairwise, starmap

import books
import costs
from accounts import AT, at_end, each, figure, named, names, requested
from records import Phase, Record
from selection import Selection
from settings import constant
from tables import Cell, Column, Table, hole, word

COLUMNS = (
    ("requested_bytes", "requested"),
    ("rounding_bytes", "rounding and headers"),
    ("usable_bytes", "usable"),
    ("free_bytes", "held free"),
    ("held_bytes", "allocator-held"),
    ("untouched_bytes", "untouched or given back"),
    ("resident_bytes", "resident"),
)
Step = tuple[Fraction | None, str | None]  # bytes per pair, or why they are not known


def step(runs: list[Record], meaning: dict[str, tuple[str, ...]], of: str | None = None) -> Step:
    """A figure of all allocators' books together, or of one's."""
    for run in runs:
        phase = costs.phase_of(run, AT)
        why = books.untold(meaning, phase)
        if why and (of is None or of not in books.told(meaning, phase)):
            return None, why
    told = at_end(lambda phase: sum(value for name, value in books.told(meaning, phase).items() if of in (None, name)))
    slope = costs.slope_per_pair(runs, told)
    return slope, None if slope is not None else "fewer than two N, and a total divided by N is not a slope"


def between(before: Step, after: Step, sign: int = 1) -> Cell:
    """What a step adds; of the last step, what it loses."""
    for amount, why in (before, after):
        if amount is None:
            return hole(why)
    return figure(sign * (after[0] - before[0]), "+")


def reached(one: Step) -> Cell:
    return hole(one[1]) if one[0] is None else figure(one[0])


def resident(phase: Phase) -> int:
    return phase.rss_anon_bytes


def row(runs: list[Record], asked: Step, of: str | None = None) -> list[Cell]:
    """Steps and what each adds. Of one allocator among two: its usable and held alone, for what is resident is told of
    the process."""
    live, kept = step(runs, books.USABLE, of), step(runs, books.HELD, of)
    last = (costs.slope_per_pair(runs, at_end(resident)), "fewer than two N, and a total divided by N is not a slope")
    if of:
        last = (None, "the kernel tells of the process, not of an allocator")
    steps = (asked, live, kept, last)
    cells = [reached(asked)]
    for before, after in pairwise(steps):
        cells += [between(before, after), reached(after)]
    return cells


def allocators(runs: list[Record]) -> list[str]:
    return list(costs.phase_of(runs[0], AT).allocator or {}) if runs else []


def waterfall(selection: Selection) -> Table:
    caption = (
        f"Bytes per pair at `{AT}`: requested from heap runs, exact; the others are slopes by least squares through "
        "the means of RSS runs. Usable and allocator-held are the allocator's own figures, resident is RssAnon. What "
        f"lies between two of them is named and signed. {constant(selection)}."
    )
    columns = [*named(selection), Column("books", "books of", left=True), *starmap(Column, COLUMNS)]
    table = Table("waterfall", "From requested to resident", caption, columns)
    for stack, setting, process, series in each(selection):
        runs, asked = series.full("rss"), requested(selection, stack, setting, process)
        told = allocators(runs)
        head = names(selection, stack, setting, process)
        table.rows.append([*head, word(" + ".join(told) or "none"), *row(runs, (asked.amount, asked.why))])
        for one in told if len(told) > 1 else ():
            unseen = (None, "requested bytes are not told apart by allocator")
            table.rows.append([*head, word(f"of these {one}"), *row(runs, unseen, one)])
    return table
