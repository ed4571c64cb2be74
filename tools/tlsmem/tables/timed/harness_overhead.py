"""The table `harness`: what of a figure is the harness's at most."""

from collections.abc import Callable

from tlsmem.stats import harness_overhead, timed_rates
from tlsmem.stats.missing import Missing
from tlsmem.stats.timed_selection import TimedSelection
from tlsmem.stats.timed_summary import Sample
from tlsmem.tables.table import Column, Table
from tlsmem.tables.timed.captions import describe_conditions, join_sentences
from tlsmem.tables.timed.cells import median_cell, median_percent_cell
from tlsmem.tables.timed.rows import SCENARIO, STACK, SeriesRow, work_columns

CAPTION = (
    "Time of the wire's copying, per MiB of application data or per handshake, both ways, measured separately after "
    "the rounds. Clock: two readings, one after the other. Share: the most of a part that can be the harness's: for a "
    "transfer, the copying in one direction and one reading; for a handshake, all copying, as if it were this role's "
    f"alone, and {harness_overhead.CLOCK_READINGS} readings."
)
NOT_MEASURED = Missing("the harness did not measure it")


def wire(name: str) -> Callable[[SeriesRow], Sample | Missing]:
    return lambda row: row.measure(harness_overhead.wire_us(name), NOT_MEASURED)


def share(at: int) -> Callable[[SeriesRow], Sample | Missing]:
    """Of the first or the second of the scenario's parts."""

    def measure(row: SeriesRow) -> Sample | Missing:
        part = timed_rates.MAIN_PARTS[row.work.scenario][at]
        return row.measure(harness_overhead.overhead_share(part), NOT_MEASURED)

    return measure


COLUMNS = (
    Column("wire_write_us", "wire, written, µs", value=wire("wire_write"), form=median_cell),
    Column("wire_read_us", "read, µs", value=wire("wire_read"), form=median_cell),
    Column(
        "clock_ns",
        "clock, ns",
        value=lambda row: row.measure(timed_rates.mean_interval_ns("clock"), NOT_MEASURED),
        form=median_cell,
    ),
    Column("first_share_percent", "of sending, or of the client", value=share(0), form=median_percent_cell),
    Column("second_share_percent", "of receiving, or of the server", value=share(1), form=median_percent_cell),
)


def harness_overhead_table(timed: TimedSelection) -> Table:
    names = [*work_columns(timed), SCENARIO, STACK]
    caption = join_sentences(CAPTION, describe_conditions(timed))
    table = Table("harness", "The harness’s own share", caption, [*names, *COLUMNS], headed=len(names) - 1)
    table.add_rows(map(SeriesRow, timed.every()))
    return table
