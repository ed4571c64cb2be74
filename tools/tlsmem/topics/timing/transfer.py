"""Bulk transfer: how fast a stack sends and receives, and how much of its own cipher's speed is left."""

from collections.abc import Callable

from tlsmem.schema.harness_output import PartName
from tlsmem.stats import timed_rates
from tlsmem.stats.missing import Missing
from tlsmem.stats.timed_selection import TimedSelection
from tlsmem.stats.timed_summary import Sample
from tlsmem.tables.table import Column, Table, percent
from tlsmem.tables.timed_cells import interval_cell, median_cell, median_percent_cell
from tlsmem.topics.timing import harness_overhead
from tlsmem.topics.timing.captions import describe_conditions, describe_medians, join_sentences
from tlsmem.topics.timing.published import Published, nearest_published, published_cell
from tlsmem.topics.timing.rows import STACK, SeriesRow, work_columns

CAPTION = (
    "Application data per second of the server's writes, or of the client's reads, for one thread as if it did nothing "
    "else. 1 MiB is 1,048,576 bytes; published MB/s are MiB/s too. Of its cipher: send rate relative to the rate at "
    "which the same library seals as many bytes. Faults: minor page faults."
)
COPYING = "The wire’s copying is up to {} of sending and {} of receiving (table harness)"
NO_SEALER = Missing("its driver has no AEAD to call directly")
NOT_COUNTED = Missing("not counted")


def rate(part: PartName) -> Callable[[SeriesRow], Sample | Missing]:
    return lambda row: row.measure(timed_rates.mebibytes_per_second(part))


def faults(part: PartName) -> Callable[[SeriesRow], Sample | Missing]:
    return lambda row: row.measure(timed_rates.faults_per_mebibyte(part), NOT_COUNTED)


def published(part: PartName) -> Callable[[SeriesRow], Published | Missing]:
    return lambda row: nearest_published(row.series, part)


COLUMNS = (
    Column("send_mib_per_s", "sending, MiB/s", value=rate("send"), form=median_cell),
    Column("send_interval", "±", value=rate("send"), form=interval_cell),
    Column("receive_mib_per_s", "receiving, MiB/s", value=rate("receive"), form=median_cell),
    Column("receive_interval", "±", value=rate("receive"), form=interval_cell),
    Column(
        "cipher_share_percent",
        "of its cipher",
        value=lambda row: row.measure(timed_rates.cipher_efficiency, NO_SEALER),
        form=median_percent_cell,
    ),
    Column("send_faults_per_mib", "faults/MiB sent", value=faults("send"), form=median_cell),
    Column("receive_faults_per_mib", "received", value=faults("receive"), form=median_cell),
    Column("published_send", "published: sending", value=published("send"), form=published_cell),
    Column("published_receive", "receiving", value=published("receive"), form=published_cell),
)


def transfer(timed: TimedSelection) -> Table:
    timed = timed.select_scenario("throughput")
    work = work_columns(timed)
    copying = (phrase := describe_copying(timed)) and f"{phrase}; without it “of its cipher” would be more."
    caption = join_sentences(CAPTION, copying, describe_medians(timed), describe_conditions(timed))
    table = Table("transfer", "Bulk transfer", caption, [*work, STACK, *COLUMNS], headed=len(work))
    table.add_rows(map(SeriesRow, timed.every()))
    return table


def describe_copying(timed: TimedSelection) -> str:
    """The beginning of a sentence; an empty text where it was not measured."""
    shares = harness_overhead.largest_shares(timed)
    return COPYING.format(*map(percent, shares)) if shares else ""
