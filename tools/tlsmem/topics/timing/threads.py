"""Threads that share a server's context: what each still does, of what one does alone."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from tlsmem.stats import timed_rates, timed_summary
from tlsmem.stats.missing import Missing, map_present, replace_missing
from tlsmem.stats.timed_selection import TimedSelection, TimedSeries, Work
from tlsmem.stats.timed_summary import FEW_REPEATS, Ratio
from tlsmem.tables.table import Cell, Column, Table, missing_cell, percent
from tlsmem.tables.timed_cells import describe_gap, interval_cell, median_cell
from tlsmem.topics.timing.captions import describe_medians, describe_runs, join_sentences
from tlsmem.topics.timing.rows import PART, RATE_UNITS, STACK, PartRow, work_columns

NOT_ALONE = Missing("not measured with one thread")
WAITING = "more threads than the {} CPUs: threads wait for one another"
CAPTION = (
    "Rate of each thread, by the time of its part. Of one thread: that rate relative to the rate with one thread; 100 "
    "% if threads do not slow each other. Each thread has its own client context; all share the server's, with its "
    "keys, store and tickets."
)


@dataclass(frozen=True)
class ThreadsRow(PartRow):
    alone: TimedSeries  # the same with one thread

    @cached_property
    def speedup(self) -> Ratio | Missing | None:
        """The rate over that with one thread; None where this is the one thread."""
        if self.work.threads == 1 and self.series.runs():
            return None
        alone = timed_summary.measure(self.alone, timed_rates.rate(self.work.scenario, self.part))
        return map_present(lambda ours, alone: Ratio(alone, ours), self.rate, replace_missing(alone, NOT_ALONE))


def threads_cell(series: TimedSeries) -> Cell:
    """With a note where threads had to share a CPU."""
    count, runs = series.work.threads, series.runs()
    cpus = runs[0].machine.cpus if runs else count
    return Cell(str(count), count, WAITING.format(cpus) if count > cpus else None)


def ratio_percent_cell(ratio: Ratio | None) -> Cell:
    if not ratio:
        return Cell("100 %", 100.0)
    return Cell(percent(ratio.value), round(100 * ratio.value, 2), ratio.gap and describe_gap(ratio.gap))


def ratio_interval_cell(ratio: Ratio | None) -> Cell:
    """How far the ends of the interval are from the ratio, the wider half."""
    if not ratio:
        return Cell("", None)
    interval = ratio.interval
    if not interval:
        return missing_cell(describe_gap(ratio.gap) if ratio.gap else FEW_REPEATS.reason)
    half = max(interval.high - ratio.value, ratio.value - interval.low)
    return Cell(percent(half), {"low": round(interval.low, 4), "high": round(interval.high, 4)})


COLUMNS = (
    Column("threads", "threads", value=lambda row: row.series, form=threads_cell),
    Column("unit", "each thread's", left=True, value=lambda row: RATE_UNITS[row.work.scenario]),
    Column("rate", "rate", value=lambda row: row.rate, form=median_cell),
    Column("interval", "±", value=lambda row: row.rate, form=interval_cell),
    Column("of_one_percent", "of one thread", value=lambda row: row.speedup, form=ratio_percent_cell),
    Column("of_one_interval", "±", value=lambda row: row.speedup, form=ratio_interval_cell),
)


def works_over_threads(timed: TimedSelection) -> dict[Work, list[Work]]:
    """Works that were measured with several numbers of threads, by the same with one."""
    found: dict[Work, list[Work]] = {}
    for work in timed.works:
        found.setdefault(replace(work, threads=1), []).append(work)
    return {alone: works for alone, works in found.items() if len(works) > 1}


def rows(timed: TimedSelection) -> Iterator[ThreadsRow]:
    """By work, part and stack, with the numbers of threads below each other, where there are several."""
    for alone, works in works_over_threads(timed).items():
        for part in timed_rates.MAIN_PARTS[alone.scenario]:
            for stack in timed.stacks:
                found = [series for work in works if (series := timed.series(stack, work)).records]
                for series in found if len(found) > 1 else ():
                    yield ThreadsRow(series, part, timed.series(stack, alone))


def threads(timed: TimedSelection) -> Table:
    several = works_over_threads(timed)
    timed = timed.where(lambda work: replace(work, threads=1) in several)
    work = work_columns(timed, without=("threads",))
    caption = join_sentences(CAPTION, describe_medians(timed), describe_runs(timed))
    table = Table("threads", "Threads", caption, [*work, PART, STACK, *COLUMNS], headed=len(work) + 2)
    table.add_rows(rows(timed))
    return table
