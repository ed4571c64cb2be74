"""What of a timed figure is the harness's at most: the copying of its wire, and its readings of the clock."""

from collections.abc import Iterator

from tlsmem.schema.harness_output import PartName
from tlsmem.stats import timed_rates, timed_summary
from tlsmem.stats.timed_rates import MAIN_PARTS, Quantity
from tlsmem.stats.timed_selection import TimedSelection
from tlsmem.store.record import Record

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
