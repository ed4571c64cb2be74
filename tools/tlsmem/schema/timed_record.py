"""What a record keeps of a timed run: histograms and times by part, machine noise, and instruction counts."""

import base64
import binascii
import zlib
from collections.abc import Iterable
from typing import Annotated, Protocol

from pydantic import AfterValidator, NonNegativeFloat

from tlsmem.schema.harness_output import Meter, Model, NonNegativeInt, Part, PartName, PositiveInt, Scenario, Thread

LONGEST_NS = 3_600 * 10**9
DIGITS = 3  # as in memtest/histogram.c
ENVELOPE_BYTES = 8  # a cookie and a length


def encode_histogram(counts: Iterable[tuple[int, int]]) -> str:
    """Return HdrHistogram's text of (ns, how many intervals took them); an interval above an hour counts as an hour."""
    from hdrh.histogram import HdrHistogram  # not among the packages of tools/requirements-core.txt

    made = HdrHistogram(1, LONGEST_NS, DIGITS)
    for value_ns, count in counts:
        made.record_value(min(value_ns, LONGEST_NS), count)
    text: str = made.encode().decode()
    return text


def check_histogram(text: str) -> str:
    """Return the text of a histogram unchanged. Raises ValueError when it cannot be decompressed."""
    try:
        content = base64.b64decode(text, validate=True)
        zlib.decompress(content[ENVELOPE_BYTES:])
    except (binascii.Error, zlib.error) as error:
        raise ValueError(f"not the text of an HdrHistogram: {error}") from None
    return text


class TimedPart(Part):
    """A part as a record keeps it. The histogram of its intervals, in ns, is HdrHistogram's own text (V2, compressed,
    base64)."""

    histogram: Annotated[str, AfterValidator(check_histogram)] | None = None


class Timing(Thread):
    """One thread of a timed run, with the times of its parts."""

    parts: list[TimedPart]

    def part(self, name: str) -> TimedPart | None:
        """Return the part of this name; None where the driver has no such part."""
        return next((part for part in self.parts if part.part == name), None)


class Noise(Model):
    """What else the machine did during a timed run, from readings before and after it."""

    load: NonNegativeFloat  # runnable tasks in the last minute, before the run
    steal_ns: NonNegativeInt  # taken by the hypervisor, of all CPUs
    busy_ns: NonNegativeInt  # used by other processes, of all CPUs
    mhz: tuple[NonNegativeFloat, NonNegativeFloat] | None  # of the run's CPUs, before and after


class Instructions(Model):
    """Instructions a round by part: the difference of two runs under callgrind with different numbers of rounds."""

    tool: str  # with its version
    hides: str  # what of the CPU it does not have
    rounds: tuple[PositiveInt, PositiveInt]
    parts: dict[PartName, NonNegativeFloat]


INTERVAL_PARTS: dict[Scenario, tuple[PartName, ...]] = {  # with a histogram
    "handshake": ("client_new", "client", "client_free", "server_new", "server", "server_free"),
    "throughput": ("send", "receive"),
}
OPTIONAL: dict[Scenario, tuple[PartName, ...]] = {"handshake": (), "throughput": ("seal",)}  # what a driver may lack
OWN: tuple[PartName, ...] = ("wire_write", "wire_read", "clock")  # the harness's


def is_complete(scenario: Scenario, names: Iterable[PartName]) -> bool:
    """Return whether these are the parts of a run of the scenario, each once; optional parts may be missing."""
    names = list(names)
    there = [name for name in OPTIONAL[scenario] if name in names]
    return sorted(names) == sorted([*INTERVAL_PARTS[scenario], *there, *OWN])


class TimedRun(Protocol):
    """The fields of a record that a timed run has; tls-memtest data, which imports this module, defines the record."""

    @property
    def scenario(self) -> Scenario: ...
    @property
    def meter(self) -> Meter: ...
    @property
    def threads(self) -> int | None: ...
    @property
    def rounds(self) -> int | None: ...
    @property
    def size_bytes(self) -> int | None: ...
    @property
    def timings(self) -> list[Timing] | None: ...
    @property
    def noise(self) -> Noise | None: ...
    @property
    def instructions(self) -> Instructions | None: ...


def check(record: TimedRun) -> None:
    """Raise ValueError with a sentence at the first field of a measured timed run that is missing or wrong."""
    counted = record.meter == "instructions"
    if record.threads is None or None in (record.rounds, record.noise) or record.meter not in ("time", "instructions"):
        raise ValueError("a timed run has its meter, threads, rounds and the noise meanwhile")
    if (record.size_bytes is None) != (record.scenario == "handshake"):
        raise ValueError("a run of throughput has the size of a write, and one of handshakes has none")
    if bool(record.timings) == counted or (record.instructions is None) == counted:
        raise ValueError("a timed run has its timings, one under callgrind its instructions, and neither both")
    if not counted and [one.thread for one in record.timings or ()] != list(range(record.threads)):
        raise ValueError("a timed run has as many timings as threads, in order")
    for timing in record.timings or ():
        check_parts(record.scenario, timing)


def check_parts(scenario: Scenario, timing: Timing) -> None:
    """Raise ValueError with a sentence when a thread's parts, or their histograms, are not those of the scenario."""
    if not is_complete(scenario, [part.part for part in timing.parts]):
        raise ValueError(f"thread {timing.thread}: its parts are not those of the scenario {scenario}, each once")
    for part in timing.parts:
        if (part.histogram is None) == (part.part in INTERVAL_PARTS[scenario]):
            raise ValueError(f"thread {timing.thread}: {part.part}: what has intervals has their histogram, no other")
