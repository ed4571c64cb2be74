"""The table `harness`: what of a timed figure is the harness's at most: the copying of its wire, and its readings of
the clock."""

from collections.abc import Callable, Iterator

from tlsmem.schema.harness_output import PartName
from tlsmem.stats import timed_rates, timed_summary
from tlsmem.stats.missing import Missing
from tlsmem.stats.timed_rates import MAIN_PARTS, Quantity
from tlsmem.stats.timed_selection import TimedSelection
from tlsmem.stats.timed_summary import Sample
from tlsmem.store.record import Record
from tlsmem.tables.table import Column, Table
from tlsmem.tables.timed_cells import median_cell, median_percent_cell
from tlsmem.topics.timing.captions import describe_conditions, join_sentences
from tlsmem.topics.timing.rows import SCENARIO, STACK, SeriesRow, work_columns

CLOCK_READINGS = 4  # of a role in a handshake, at most: one for each step
WIRES: tuple[PartName, ...] = ("wire_write", "wire_read")
WIRE_OF_PART: dict[str, PartName] = {"send": "wire_write", "receive": "wire_read"}  # of transfers: each is all of it


def wire_us(wire: str) -> Quantity:
    """Return the quantity µs that the wire takes per MiB of application data, or per handshake."""

    def measure(record: Record) -> float | None:
        each_us = timed_rates.mean_interval_us(wire)(record)
        by = timed_rates.mebibytes_per_interval(record, "send") if record.scenario == "throughput" else 1
        return timed_rates.divide(each_us, by)

    return measure


def overhead_share(part: str) -> Quantity:
    """Return the quantity the harness's time over the part's: its wire, or all copying where the part has none of its
    own, and the readings of the clock."""
    wires = (WIRE_OF_PART[part],) if part in WIRE_OF_PART else WIRES
    readings = 1 if part in WIRE_OF_PART else CLOCK_READINGS

    def measure(record: Record) -> float | None:
        copying = [timed_rates.mean_interval_ns(wire)(record) for wire in wires]
        clock, total = timed_rates.mean_interval_ns("clock")(record), timed_rates.mean_interval_ns(part)(record)
        known = [time for time in copying if time is not None]
        if clock is None or len(known) < len(wires):
            return None
        return timed_rates.divide(sum(known) + readings * clock, total)

    return measure


def largest_shares(timed: TimedSelection) -> list[float]:
    """Return the largest median share of sending and of receiving; an empty list where one was not measured."""

    def medians(part: str) -> Iterator[float]:
        for series in timed.select_scenario("throughput").every():
            if found := timed_summary.sample_from_runs(series.runs(), overhead_share(part)):
                yield found.median

    shares = [max(medians(part), default=None) for part in MAIN_PARTS["throughput"]]
    return [share for share in shares if share is not None] if None not in shares else []


CAPTION = (
    "Time of the wire's copying, per MiB of application data or per handshake, both ways, measured separately after "
    "the rounds. Clock: two readings, one after the other. Share: the most of a part that can be the harness's: for a "
    "transfer, the copying in one direction and one reading; for a handshake, all copying, as if it were this role's "
    f"alone, and {CLOCK_READINGS} readings."
)
NOT_MEASURED = Missing("the harness did not measure it")


def wire(name: str) -> Callable[[SeriesRow], Sample | Missing]:
    return lambda row: row.measure(wire_us(name), NOT_MEASURED)


def share(at: int) -> Callable[[SeriesRow], Sample | Missing]:
    """Of the first or the second of the scenario's parts."""

    def measure(row: SeriesRow) -> Sample | Missing:
        part = timed_rates.MAIN_PARTS[row.work.scenario][at]
        return row.measure(overhead_share(part), NOT_MEASURED)

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
