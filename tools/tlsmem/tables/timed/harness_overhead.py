"""What of a figure is the harness's at most: the copying of its wire, and its readings of the clock."""

from tlsmem.schema.records import Record
from tlsmem.stats import timed_rates, timed_summary
from tlsmem.stats.timed_rates import Quantity
from tlsmem.stats.timed_selection import TimedSelection, TimedSeries
from tlsmem.stats.timed_summary import Sample
from tlsmem.tables.table import Cell, Column, Table, percent, text_cell
from tlsmem.tables.timed import cells as timed_cells
from tlsmem.tables.timed import shared_columns
from tlsmem.tables.timed.cells import sample_or_missing

STEPS = 4  # that a role takes in a handshake, at most: each is between two readings of the clock
HEADINGS = {
    "wire_write_us": "wire, written, µs",
    "wire_read_us": "read, µs",
    "clock_ns": "clock, ns",
    "first_share_percent": "of sending, or of the client",
    "second_share_percent": "of receiving, or of the server",
}
CAPTION = (
    "What the wire takes to copy what it copied in a round of transfer, by MiB of application data, or in a handshake, "
    "both ways; measured by itself after the rounds. Clock: of two readings, one after the other. At most this share "
    "of a part is the harness's: of a transfer the copying one way and one reading; of a handshake all copying, as if "
    f"it were this role's alone, and {STEPS} readings."
)
SHARES = {"throughput": (("send", "wire_write"), ("receive", "wire_read")), "handshake": (("client",), ("server",))}
WIRES = ("wire_write", "wire_read")
NOT_MEASURED = "the harness did not measure it"


def wire_us(part: str) -> Quantity:
    """By MiB of application data, or by handshake."""

    def of(record: Record) -> float | None:
        each = timed_rates.mean_interval_ns(part)(record)
        by = timed_rates.mebibytes_per_interval(record, "send") if record.scenario == "throughput" else 1
        return None if each is None else timed_rates.divide(each / 1000, by)

    return of


def share(part: str, *copies: str) -> Quantity:
    """The harness's time by the part's. Without copies: of a handshake, all of them and a reading for each step."""
    readings = 1 if copies else STEPS

    def of(record: Record) -> float | None:
        times = [timed_rates.mean_interval_ns(copy)(record) for copy in copies or WIRES]
        clock, whole = timed_rates.mean_interval_ns("clock")(record), timed_rates.mean_interval_ns(part)(record)
        known = [time for time in times if time is not None]
        if clock is None or len(known) < len(times):
            return None
        return timed_rates.divide(sum(known) + readings * clock, whole)

    return of


def at_most(found: Sample | Cell) -> Cell:
    if isinstance(found, Cell):
        return found
    return Cell(percent(found.median), round(100 * found.median, 4))


def describe_copying_share(timed: TimedSelection) -> str:
    """Of transfers, for a caption; nothing where it was not measured."""
    most = []
    for part in SHARES["throughput"]:
        found = [
            timed_summary.sample_from_runs(series.runs(), share(*part))
            for series in timed.select_scenario("throughput").every()
        ]
        medians = [one.median for one in found if one]
        if not medians:
            return ""
        most.append(max(medians))
    sending, receiving = map(percent, most)
    return f"The wire’s copying is up to {sending} of sending and {receiving} of receiving (table harness)"


def row(series: TimedSeries) -> list[Cell]:
    quantities = [wire_us(part) for part in WIRES] + [timed_rates.mean_interval_ns("clock")]
    cells = [timed_cells.median_cell(sample_or_missing(series, quantity, NOT_MEASURED)) for quantity in quantities]
    shares = [share(*part) for part in SHARES[series.work.scenario]]
    return cells + [at_most(sample_or_missing(series, quantity, NOT_MEASURED)) for quantity in shares]


def harness_overhead_table(timed: TimedSelection) -> Table:
    columns = [
        *shared_columns.work_columns(timed),
        Column("scenario", "scenario", left=True),
        Column("stack", "stack", left=True),
    ]
    columns += [Column(key, heading) for key, heading in HEADINGS.items()]
    caption = " ".join(filter(None, [CAPTION, shared_columns.describe_conditions(timed)]))
    made = Table("harness", "The harness’s own share", caption, columns, headed=len(columns) - len(HEADINGS) - 1)
    for series in timed.every():
        named = [
            *shared_columns.work_cells(timed, series.work),
            text_cell(series.work.scenario),
            text_cell(series.stack),
        ]
        made.rows.append([*named, *row(series)])
    return made
