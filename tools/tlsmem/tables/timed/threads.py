"""Threads that share a server's context: what each still does, of what one does alone."""

from collections.abc import Iterator
from dataclasses import replace

from tlsmem.stats import timed_rates, timed_summary
from tlsmem.stats.timed_rates import Quantity
from tlsmem.stats.timed_selection import Timed, TimedSeries, Work
from tlsmem.stats.timed_summary import Factor, Figure
from tlsmem.tables.table import Cell, Column, Table, hole, noted, percent, word
from tlsmem.tables.timed import cells as timed_cells
from tlsmem.tables.timed import shared_columns
from tlsmem.tables.timed.cells import of_series
from tlsmem.tables.timed.latency import PARTS

UNITS = {"throughput": "MiB/s", "handshake": "handshakes/s"}
SAID = ("threads",)  # in a column of this table's own
ALONE = "not measured with one thread"
CAPTION = (
    "Rate of each thread, of its part's own time; of one thread: that by the rate with one thread, 100 % where threads "
    "do not hinder each other. All have a client's context of their own and share the server's, with its keys, store "
    "and tickets."
)


def quantity(work: Work, part: str) -> Quantity:
    return timed_rates.mebibytes_per_second(part) if work.scenario == "throughput" else timed_rates.per_second(part)


def share(series: TimedSeries, one: TimedSeries, part: str) -> list[Cell]:
    """Of one thread's rate, with the ends of the ratio's interval."""
    if series.work.threads == 1 and series.runs():
        return [Cell("100 %", 100.0), Cell("", None)]
    ours, alone = (of_series(each, quantity(series.work, part)) for each in (series, one))
    if not isinstance(ours, Figure):
        return [ours] * 2
    if not isinstance(alone, Figure):
        return [hole(ALONE)] * 2
    ratio = Factor(alone, ours)
    interval = ratio.interval
    half = interval and max(interval.high - ratio.value, ratio.value - interval.low)
    ends = interval and {"low": round(interval.low, 4), "high": round(interval.high, 4)}
    shown = Cell(percent(ratio.value), round(100 * ratio.value, 2), ratio.note)
    return [shown, Cell(percent(half), ends) if interval else hole(ratio.note or timed_summary.FEW)]


def by_one(timed: Timed, work: Work, part: str) -> Iterator[Factor]:
    """Of each stack, where it was measured with one thread too."""
    for stack in timed.stacks:
        found = [timed.series(stack, each).runs() for each in (replace(work, threads=1), work)]
        alone, ours = (timed_summary.figure(runs, quantity(work, part)) for runs in found)
        if alone and ours and work.threads > 1:
            yield Factor(alone, ours)


def row(timed: Timed, series: TimedSeries, part: str) -> list[Cell]:
    work = series.work
    count = noted(Cell(str(work.threads), work.threads), shared_columns.too_many(work, series.runs()))
    rate = timed_cells.pair(of_series(series, quantity(work, part)))
    of_one = share(series, timed.series(series.stack, replace(work, threads=1)), part)
    return [count, word(UNITS[work.scenario]), *rate, *of_one]


def several(timed: Timed) -> dict[Work, list[Work]]:
    """Works that were measured with several numbers of threads, by the same with one."""
    found: dict[Work, list[Work]] = {}
    for work in timed.works:
        found.setdefault(replace(work, threads=1), []).append(work)
    return {alone: works for alone, works in found.items() if len(works) > 1}


def threads(timed: Timed) -> Table:
    alike = several(timed)
    timed = timed.where(lambda work: replace(work, threads=1) in alike)
    columns = shared_columns.columns_of(timed, SAID)
    headed = len(columns) + 2
    columns += [Column("part", "part", left=True), Column("stack", "stack", left=True), Column("threads", "threads")]
    columns += [Column("unit", "each thread's", left=True), Column("rate", "rate"), Column("interval", "±")]
    columns += [Column("of_one_percent", "of one thread"), Column("of_one_interval", "±")]
    caption = f"{CAPTION} {shared_columns.over_repeats(timed)} {shared_columns.made_as(timed)}"
    made = Table("threads", "Threads", caption, columns, headed=headed)
    for alone, works in alike.items():
        for part in PARTS[alone.scenario]:
            for stack in timed.stacks:
                found = [series for work in works if (series := timed.series(stack, work)).records]
                named = [*shared_columns.cells_of(timed, alone, SAID), word(part), word(stack)]
                made.rows += [[*named, *row(timed, series, part)] for series in found if len(found) > 1]
    return made
