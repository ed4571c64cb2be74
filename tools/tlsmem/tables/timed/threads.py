"""Threads that share a server's context: what each still does, of what one does alone."""

from collections.abc import Iterator
from dataclasses import replace

from tlsmem.stats import timed_rates, timed_summary
from tlsmem.stats.timed_rates import Quantity
from tlsmem.stats.timed_selection import TimedSelection, TimedSeries, Work
from tlsmem.stats.timed_summary import Ratio, Sample
from tlsmem.tables.table import Cell, Column, Table, missing_cell, percent, text_cell, with_note
from tlsmem.tables.timed import cells, shared_columns
from tlsmem.tables.timed.cells import sample_or_missing
from tlsmem.tables.timed.latency import PARTS_BY_SCENARIO

UNITS = {"throughput": "MiB/s", "handshake": "handshakes/s"}
SAID = ("threads",)  # in a column of this table's own
ALONE = "not measured with one thread"
CAPTION = (
    "Rate of each thread, of its part's own time; of one thread: that by the rate with one thread, 100 % where threads "
    "do not hinder each other. All have a client's context of their own and share the server's, with its keys, store "
    "and tickets."
)


def rate_quantity(work: Work, part: str) -> Quantity:
    return timed_rates.mebibytes_per_second(part) if work.scenario == "throughput" else timed_rates.per_second(part)


def share(series: TimedSeries, one: TimedSeries, part: str) -> list[Cell]:
    """Of one thread's rate, with the ends of the ratio's interval."""
    if series.work.threads == 1 and series.runs():
        return [Cell("100 %", 100.0), Cell("", None)]
    ours, alone = (sample_or_missing(each, rate_quantity(series.work, part)) for each in (series, one))
    if not isinstance(ours, Sample):
        return [ours] * 2
    if not isinstance(alone, Sample):
        return [missing_cell(ALONE)] * 2
    ratio = Ratio(alone, ours)
    interval = ratio.interval
    shown = Cell(percent(ratio.value), round(100 * ratio.value, 2), ratio.note)
    if not interval:
        return [shown, missing_cell(ratio.note or timed_summary.FEW_REPEATS_NOTE)]
    half = max(interval.high - ratio.value, ratio.value - interval.low)
    return [shown, Cell(percent(half), {"low": round(interval.low, 4), "high": round(interval.high, 4)})]


def ratios_to_one_thread(timed: TimedSelection, work: Work, part: str) -> Iterator[Ratio]:
    """Of each stack, where it was measured with one thread too."""
    for stack in timed.stacks:
        found = [timed.series(stack, each).runs() for each in (replace(work, threads=1), work)]
        alone, ours = (timed_summary.sample_from_runs(runs, rate_quantity(work, part)) for runs in found)
        if alone and ours and work.threads > 1:
            yield Ratio(alone, ours)


def row(timed: TimedSelection, series: TimedSeries, part: str) -> list[Cell]:
    work = series.work
    count = with_note(Cell(str(work.threads), work.threads), shared_columns.why_threads_wait(work, series.runs()))
    rate = cells.median_and_interval_cells(sample_or_missing(series, rate_quantity(work, part)))
    of_one = share(series, timed.series(series.stack, replace(work, threads=1)), part)
    return [count, text_cell(UNITS[work.scenario]), *rate, *of_one]


def several(timed: TimedSelection) -> dict[Work, list[Work]]:
    """Works that were measured with several numbers of threads, by the same with one."""
    found: dict[Work, list[Work]] = {}
    for work in timed.works:
        found.setdefault(replace(work, threads=1), []).append(work)
    return {alone: works for alone, works in found.items() if len(works) > 1}


def threads(timed: TimedSelection) -> Table:
    alike = several(timed)
    timed = timed.where(lambda work: replace(work, threads=1) in alike)
    columns = shared_columns.work_columns(timed, SAID)
    headed = len(columns) + 2
    columns += [Column("part", "part", left=True), Column("stack", "stack", left=True), Column("threads", "threads")]
    columns += [Column("unit", "each thread's", left=True), Column("rate", "rate"), Column("interval", "±")]
    columns += [Column("of_one_percent", "of one thread"), Column("of_one_interval", "±")]
    caption = f"{CAPTION} {shared_columns.describe_medians(timed)} {shared_columns.describe_runs(timed)}"
    made = Table("threads", "Threads", caption, columns, headed=headed)
    for alone, works in alike.items():
        for part in PARTS_BY_SCENARIO[alone.scenario]:
            for stack in timed.stacks:
                found = [series for work in works if (series := timed.series(stack, work)).records]
                named = [*shared_columns.work_cells(timed, alone, SAID), text_cell(part), text_cell(stack)]
                made.rows += [[*named, *row(timed, series, part)] for series in found if len(found) > 1]
    return made
