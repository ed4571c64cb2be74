"""What else the machine did while runs were timed, and how far their repeats lie apart."""

from collections.abc import Callable
from dataclasses import dataclass

from tlsmem.stats import timed_rates
from tlsmem.stats.bootstrap import Interval
from tlsmem.stats.missing import Missing, map_present
from tlsmem.stats.timed_selection import TimedSelection
from tlsmem.store.record import Record
from tlsmem.tables.table import Cell, Column, Table
from tlsmem.tables.timed_cells import number_cell, percent_cell
from tlsmem.topics.timing import warnings
from tlsmem.topics.timing.captions import describe_conditions, join_sentences
from tlsmem.topics.timing.rows import SCENARIO, STACK, SeriesRow, count_cell, work_columns

CAPTION = (
    "Spread: the fastest repeat less the slowest, relative to the median. Other columns show the largest value of any "
    "repeat: runnable tasks in the minute before; CPUs used by other processes; the share of all CPUs that the "
    "hypervisor took; the clock of the run's CPUs, lowest to highest; involuntary context switches of a thread per "
    "second."
)
UNSEEN = Missing("the machine does not report it")
ONCE = Missing("one repeat")


@dataclass(frozen=True)
class NoiseRow(SeriesRow):
    def spread(self, at: int) -> float | Missing:
        """Of the first or the second of the scenario's parts."""
        scenario = self.work.scenario
        found = self.measure(timed_rates.rate(scenario, timed_rates.MAIN_PARTS[scenario][at]))
        return map_present(lambda sample: ONCE if sample.spread is None else sample.spread, found)

    def most(self, figure: Callable[[Record], float]) -> float | Missing:
        """The most of any repeat."""
        values = [max(0.0, figure(run)) for run in self.series.runs() if run.noise]
        return max(values) if values else Missing(self.series.reason())

    @property
    def preemptions(self) -> float | Missing:
        each = [warnings.preemptions_per_second(run) for run in self.series.runs()]
        return max(each) if each else Missing(self.series.reason())

    @property
    def clock(self) -> Interval | Missing:
        """The lowest and the highest frequency, in MHz."""
        runs = self.series.runs()
        seen = [mhz for run in runs if run.noise and run.noise.mhz for mhz in run.noise.mhz]
        if seen:
            return Interval(min(seen), max(seen))
        return UNSEEN if runs else Missing(self.series.reason())


def clock_cell(mhz: Interval) -> Cell:
    same = round(mhz.low) == round(mhz.high)
    return Cell(f"{mhz.high:,.0f}" if same else f"{mhz.low:,.0f}–{mhz.high:,.0f}", mhz.rounded())


COLUMNS = (
    Column("repeats", "repeats", value=lambda row: len(row.series.runs()), form=count_cell),
    Column("first_spread", "spread: sending, client", value=lambda row: row.spread(0), form=percent_cell),
    Column("second_spread", "receiving, server", value=lambda row: row.spread(1), form=percent_cell),
    Column("load", "load", value=lambda row: row.most(warnings.load), form=number_cell),
    Column("busy_cpus", "others’ CPUs", value=lambda row: row.most(warnings.busy_cpus), form=number_cell),
    Column("steal_percent", "stolen", value=lambda row: row.most(warnings.stolen_share), form=percent_cell),
    Column("mhz", "MHz", value=lambda row: row.clock, form=clock_cell),
    Column("preempted_per_s", "preempted/s", value=lambda row: row.preemptions, form=number_cell),
)


def noise(timed: TimedSelection) -> Table:
    names = [*work_columns(timed), SCENARIO, STACK]
    caption = join_sentences(CAPTION, describe_conditions(timed))
    table = Table("noise", "Noise", caption, [*names, *COLUMNS], headed=len(names) - 1)
    table.add_rows(map(NoiseRow, timed.every()))
    return table
