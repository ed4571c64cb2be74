"""Figures of one timed run: rates, times and page faults by part, over all its threads.

A rate is that of one thread that does nothing else: intervals, or bytes, over the time that the part took. A figure is
None where the driver has no such part, or the part took no measurable time."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from tlsmem.base import memo
from tlsmem.base.cache_file import digest_code
from tlsmem.schema.harness_output import PartName, Scenario
from tlsmem.schema.roles import Role
from tlsmem.schema.timed_record import TimedPart
from tlsmem.stats.session_cost import MIB
from tlsmem.store.record import Record

if TYPE_CHECKING:
    from hdrh.histogram import HdrHistogram

SECOND_NS = 10**9
PERCENTILES = (50.0, 90.0, 99.0, 99.9)

Quantity = Callable[[Record], float | None]
MAIN_PARTS: dict[Scenario, tuple[PartName, ...]] = {
    "throughput": ("send", "receive"),
    "handshake": ("client", "server"),
}


def parts(record: Record, name: str) -> list[TimedPart]:
    """Return the part of this name from each thread that has it."""
    return [part for timing in record.timings or () if (part := timing.part(name))]


def divide(amount: float | None, by: float | None) -> float | None:
    """Return the quotient; None where one of the two is None, or the divisor is 0."""
    return None if amount is None or not by else amount / by


def sums(record: Record, name: str, *fields: str) -> list[int | None]:
    """Return the sum of each field of a part over all threads; None where no thread has it, or one has no value."""
    found = parts(record, name)
    values = [[getattr(part, field) for part in found] for field in fields]
    return [sum(of_each) if of_each and None not in of_each else None for of_each in values]


def per_second(name: str) -> Quantity:
    """Return the quantity intervals per second: handshakes, where the part is a role's."""

    def measure(record: Record) -> float | None:
        count, total_ns = sums(record, name, "count", "total_ns")
        return divide(count and count * SECOND_NS, total_ns)

    return measure


def mebibytes_per_second(name: str) -> Quantity:
    """Return the quantity MiB of application data per second of the part."""

    def measure(record: Record) -> float | None:
        size, total_ns = sums(record, name, "bytes", "total_ns")
        return divide(size and size / MIB * SECOND_NS, total_ns)

    return measure


def rate(scenario: Scenario, part: str) -> Quantity:
    """Return the quantity by which runs of a scenario are compared: MiB, or handshakes, per second of the part."""
    return mebibytes_per_second(part) if scenario == "throughput" else per_second(part)


def mean_interval_ns(name: str) -> Quantity:
    """Return the quantity mean length of the part's intervals, in ns."""
    return lambda record: divide(*reversed(sums(record, name, "count", "total_ns")))


def mean_interval_us(name: str) -> Quantity:
    """Return the quantity mean length of the part's intervals, in µs."""
    return lambda record: divide(mean_interval_ns(name)(record), 1000)


def handshakes_with_construction(role: Role) -> Quantity:
    """Return the quantity handshakes per second of a role, counting the time to construct each session."""

    def measure(record: Record) -> float | None:
        steps, made = mean_interval_ns(role)(record), mean_interval_ns(f"{role}_new")(record)
        return None if steps is None or made is None else divide(SECOND_NS, steps + made)

    return measure


def cipher_efficiency(record: Record) -> float | None:
    """Return the rate at which the stack sends over the rate at which its library alone seals as many bytes."""
    return divide(mebibytes_per_second("send")(record), mebibytes_per_second("seal")(record))


def faults_per_interval(name: str) -> Quantity:
    """Return the quantity minor page faults per interval of the part."""
    return lambda record: divide(*sums(record, name, "faults", "faults_count"))


def mebibytes_per_interval(record: Record, name: str) -> float | None:
    """Return the mean MiB of application data per interval of the part."""
    size, count = sums(record, name, "bytes", "count")
    return divide(size and size / MIB, count)


def faults_per_mebibyte(name: str) -> Quantity:
    """Return the quantity minor page faults per MiB of application data of the part."""
    return lambda record: divide(faults_per_interval(name)(record), mebibytes_per_interval(record, name))


def resumption_rate(record: Record) -> float | None:
    """Return the share of handshakes that were resumed, from 0 to 1; None without handshakes."""
    timings = record.timings or ()
    return divide(sum(one.resumed for one in timings), sum(one.rounds for one in timings))


class Latencies(NamedTuple):
    """All intervals of all threads and runs: their number, ns at PERCENTILES, and the longest."""

    intervals: int
    percentiles: dict[str, int]
    max_ns: int

    def at_percentile(self, percent: float) -> int:
        """Return the ns at one of PERCENTILES. Raises KeyError at others."""
        return self.percentiles[f"{percent:g}"]


def latencies(records: Iterable[Record], name: str) -> Latencies | None:
    """Return the latencies of a part over all runs; None when no interval was recorded."""
    timed = sorted((one for one in records if parts(one, name)), key=lambda one: one.digest)
    if not timed:
        return None
    code = digest_code(("stats/timed_rates.py",))
    digests = [one.digest for one in timed]
    found = memo.recall("latencies", [PERCENTILES, name, digests], code, partial(read_latencies, timed, name))
    return Latencies(*found) if found else None


def read_latencies(timed: Iterable[Record], name: str) -> Latencies | None:
    """Return the latencies of a part from the histograms of these runs; None when they have no intervals."""
    texts = sorted(part.histogram for record in timed for part in parts(record, name) if part.histogram)
    merged = merge_histograms(texts) if texts else None
    if not merged or not merged.total_count:
        return None
    at_percentiles = merged.get_percentile_to_value_dict(list(PERCENTILES))
    percentiles = {f"{one:g}": at_percentiles[one] for one in PERCENTILES}
    return Latencies(merged.get_total_count(), percentiles, merged.get_max_value())


def merge_histograms(texts: Sequence[str]) -> "HdrHistogram":
    """Return the sum of at least one histogram. Equal texts that are adjacent are decoded once."""
    from hdrh.histogram import HdrHistogram

    merged = None
    for text, alike in groupby(texts):
        found = HdrHistogram.decode(text)
        merged = merged or HdrHistogram(found.lowest_trackable_value, found.highest_trackable_value, 3)
        for _ in alike:
            merged.add(found)
    return merged
