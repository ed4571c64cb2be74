"""Bulk transfer: how fast a stack sends and receives, and how much of its own cipher's speed is left."""

from tlsmem.stats import timed_rates
from tlsmem.stats.timed_selection import TimedSelection, TimedSeries
from tlsmem.tables.table import Cell, Column, Table, text_cell
from tlsmem.tables.timed import cells as timed_cells
from tlsmem.tables.timed import harness_overhead, published, shared_columns
from tlsmem.tables.timed.cells import format_number, sample_or_missing

COLUMNS = {
    "send_mib_per_s": "sending, MiB/s",
    "send_interval": "±",
    "receive_mib_per_s": "receiving, MiB/s",
    "receive_interval": "±",
    "cipher_share_percent": "of its cipher",
    "send_faults_per_mib": "faults/MiB sent",
    "receive_faults_per_mib": "received",
    "published_send": "published: sending",
    "published_receive": "receiving",
}
CAPTION = (
    "Application data by the time that the server's writes, or the client's reads, take: of one thread, as if it did "
    "nothing else. 1 MiB is 1,048,576 bytes; published MB/s are MiB/s too. Of its cipher: how fast it sends, of how "
    "fast the same library seals as many bytes by itself. Faults: minor page faults."
)
NO_SEALER = "its driver has no AEAD to call directly"


def share(series: TimedSeries) -> Cell:
    return timed_cells.share_cell(sample_or_missing(series, timed_rates.cipher_efficiency, NO_SEALER))


def faults(series: TimedSeries, part: str) -> Cell:
    found = sample_or_missing(series, timed_rates.faults_per_mebibyte(part), "not counted")
    return found if isinstance(found, Cell) else Cell(format_number(found.median), round(found.median, 4))


def row(series: TimedSeries) -> list[Cell]:
    rate = {part: sample_or_missing(series, timed_rates.mebibytes_per_second(part)) for part in ("send", "receive")}
    cells = [
        *timed_cells.median_and_interval_cells(rate["send"]),
        *timed_cells.median_and_interval_cells(rate["receive"]),
        share(series),
    ]
    cells += [faults(series, part) for part in rate]
    return cells + [
        published.nearest_published_cell(series.stack, series.work.suite, part, series.cpu) for part in rate
    ]


def transfer(timed: TimedSelection) -> Table:
    timed = timed.select_scenario("throughput")
    columns = [*shared_columns.work_columns(timed), Column("stack", "stack", left=True)]
    columns += [Column(key, heading) for key, heading in COLUMNS.items()]
    copying = (
        said := harness_overhead.describe_copying_share(timed)
    ) and f"{said}; without it “of its cipher” would be more."
    caption = " ".join(
        filter(
            None, [CAPTION, copying, shared_columns.describe_medians(timed), shared_columns.describe_conditions(timed)]
        )
    )
    made = Table("transfer", "Bulk transfer", caption, columns, headed=len(columns) - len(COLUMNS) - 1)
    for series in timed.every():
        made.rows.append([*shared_columns.work_cells(timed, series.work), text_cell(series.stack), *row(series)])
    return made
