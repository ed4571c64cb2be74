"""How long single intervals took: percentiles, from the histograms of all threads and repeats."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from tlsmem.config import timed_matrix
from tlsmem.stats import timed_rates
from tlsmem.stats.missing import Missing, map_present
from tlsmem.stats.timed_rates import Latencies
from tlsmem.stats.timed_selection import TimedSelection
from tlsmem.tables.table import Cell, Column, Table, integer_cell
from tlsmem.topics.timing.captions import describe_conditions, join_sentences
from tlsmem.topics.timing.rows import PART, STACK, PartRow, part_rows, work_columns

CAPTION = (
    "Single intervals of all threads and repeats: one role in one handshake without construction, or one round of a "
    "transfer (a write, or as many small ones as make 64 KiB). From histograms of three digits."
)
A_HANDSHAKE = "a handshake"
NO_HISTOGRAM = "no histogram"


@dataclass(frozen=True)
class LatencyRow(PartRow):
    @property
    def interval(self) -> str:
        """What one of the intervals is."""
        if not self.work.size_bytes:
            return A_HANDSHAKE
        count = timed_matrix.writes_per_round(self.work.size_bytes)
        return "a write" if count == 1 else f"{count:,} writes"

    @cached_property
    def latencies(self) -> Latencies | Missing:
        runs = self.series.runs()
        return timed_rates.latencies(runs, self.part) or Missing(NO_HISTOGRAM if runs else self.series.reason())

    def ns_at_percentile(self, percent: float) -> int | Missing:
        """Missing where so few intervals have none beyond it."""

        def find(latencies: Latencies) -> int | Missing:
            if latencies.intervals * (100 - percent) < 100:
                return Missing(f"of {latencies.intervals:,} intervals")
            return latencies.at_percentile(percent)

        return map_present(find, self.latencies)


def microseconds_cell(ns: int) -> Cell:
    us = ns / 1000
    return Cell(f"{us:,.0f}" if us >= 1000 else f"{us:,.1f}", us)


def intervals_cell(found: Latencies) -> Cell:
    return integer_cell(found.intervals)


def longest_cell(found: Latencies) -> Cell:
    return microseconds_cell(found.max_ns)


def percentile(percent: float) -> Callable[[LatencyRow], int | Missing]:
    return lambda row: row.ns_at_percentile(percent)


COLUMNS = (  # percentiles are those of timed_rates.PERCENTILES
    Column("interval", "each", left=True, usual=A_HANDSHAKE, value=lambda row: row.interval),
    Column("intervals", "intervals", value=lambda row: row.latencies, form=intervals_cell),
    Column("p50_us", "P50, µs", value=percentile(50), form=microseconds_cell),
    Column("p90_us", "P90", value=percentile(90), form=microseconds_cell),
    Column("p99_us", "P99", value=percentile(99), form=microseconds_cell),
    Column("p999_us", "P99.9", value=percentile(99.9), form=microseconds_cell),
    Column("max_us", "max", value=lambda row: row.latencies, form=longest_cell),
)


def latency(timed: TimedSelection) -> Table:
    work = work_columns(timed)
    caption = join_sentences(CAPTION, describe_conditions(timed))
    table = Table("latency", "Latency", caption, [*work, PART, STACK, *COLUMNS], headed=len(work) + 1)
    table.add_rows(part_rows(timed, LatencyRow))
    return table
