"""How long single intervals took: percentiles, from the histograms of all threads and repeats."""

from tlsmem.config import timed_matrix
from tlsmem.schema.harness_output import PartName, Scenario
from tlsmem.stats import timed_rates
from tlsmem.stats.timed_rates import Latencies
from tlsmem.stats.timed_selection import SCENARIOS, TimedSelection, TimedSeries, Work
from tlsmem.tables.table import Cell, Column, Table, integer_cell, missing_cell, text_cell
from tlsmem.tables.timed import shared_columns

PARTS_BY_SCENARIO: dict[Scenario, tuple[PartName, ...]] = {
    "throughput": ("send", "receive"),
    "handshake": ("client", "server"),
}
HEADINGS = {  # those of timed_rates.PERCENTILES, and the longest
    "p50": "P50, µs",
    "p90": "P90",
    "p99": "P99",
    "p999": "P99.9",
    "max": "max",
}
CAPTION = (
    "Of single intervals, of all threads and repeats together: of a role in one handshake, construction apart, or of "
    "one round of a transfer: a write, or as many small ones as make 64 KiB. From histograms of three digits."
)


A_HANDSHAKE = "a handshake"


def interval(work: Work) -> str:
    """What one of them is."""
    if not work.size_bytes:
        return A_HANDSHAKE
    count = timed_matrix.writes_per_round(work.size_bytes)
    return "a write" if count == 1 else f"{count:,} writes"


def microseconds(ns: int) -> Cell:
    us = ns / 1000
    return Cell(f"{us:,.0f}" if us >= 1000 else f"{us:,.1f}", us)


def percentile(found: Latencies, percent: float) -> Cell:
    """Missing where so few intervals have none beyond it."""
    if found.intervals * (100 - percent) < 100:
        return missing_cell(f"of {found.intervals:,} intervals")
    return microseconds(found.at_percentile(percent))


def cells(series: TimedSeries, part: str) -> list[Cell]:
    found = timed_rates.latencies(series.runs(), part)
    if not found:
        return [missing_cell(series.reason() if not series.runs() else "no histogram")] * (len(HEADINGS) + 1)
    ends = [percentile(found, percent) for percent in timed_rates.PERCENTILES]
    return [integer_cell(found.intervals), *ends, microseconds(found.max_ns)]


def latency(timed: TimedSelection) -> Table:
    columns = [
        *shared_columns.work_columns(timed),
        Column("part", "part", left=True),
        Column("stack", "stack", left=True),
    ]
    columns += [Column("interval", "each", left=True, usual=A_HANDSHAKE), Column("intervals", "intervals")]
    columns += [Column(f"{key}_us", heading) for key, heading in HEADINGS.items()]
    caption = " ".join(filter(None, [CAPTION, shared_columns.describe_conditions(timed)]))
    made = Table("latency", "Latency", caption, columns, headed=len(shared_columns.work_columns(timed)) + 1)
    for scenario in SCENARIOS:
        for work in (one for one in timed.works if one.scenario == scenario):
            for part in PARTS_BY_SCENARIO[scenario]:
                for series in timed.series_of_work(work):
                    named = [
                        *shared_columns.work_cells(timed, work),
                        text_cell(part),
                        text_cell(series.stack),
                        text_cell(interval(work)),
                    ]
                    made.rows.append([*named, *cells(series, part)])
    return made
