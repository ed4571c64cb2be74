"""What one more of a setting costs a server: one more certificate, backend or entry of a cache.

Live heap is exact: what is added from the smallest configuration to the largest, a quotient of whole numbers. RSS comes
in pages, so it is the slope of a line through all sizes."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from tlsmem.schema.configuration_records import (
    ConfigurationMeter,
    ConfigurationPhase,
    ConfigurationRecord,
    ProcessMemory,
)
from tlsmem.stats.missing import Missing
from tlsmem.stats.session_cost import Line, fit_line

STARTED, ASKED = "started", "each name asked for"
MASTER, WORKER = "master", "worker"
PhaseReading = Callable[[ConfigurationPhase], int | None]


class SiteCost(NamedTuple):
    """What one more of a setting adds at a call site: the callers of the allocator, innermost first, and bytes."""

    callers: tuple[str, ...]
    bytes: Fraction


def total(read: Callable[[ProcessMemory], int]) -> PhaseReading:
    """Return a reading that is added up over the processes."""
    return lambda phase: sum(map(read, phase.processes))


def live_of(process: str) -> PhaseReading:
    """Return the live heap of the master or of the workers; None without the heap meter, or where there is none."""

    def read(phase: ConfigurationPhase) -> int | None:
        found = [one.live_bytes for one in phase.processes if one.process == process and one.live_bytes is not None]
        return sum(found) if found else None

    return read


rss_anon = total(lambda one: one.rss_anon_bytes)
pss_anon = total(lambda one: one.pss_anon_bytes)
shared = total(lambda one: one.rss_shmem_bytes)


def shared_mapped(phase: ConfigurationPhase) -> int | None:
    """Shared memory that a process mapped or inherited; None without the heap meter."""
    return max(
        (one.mapped_shared_bytes for one in phase.processes if one.mapped_shared_bytes is not None), default=None
    )


@dataclass(frozen=True)
class SettingSeries:
    """Runs of one server that differ in the size of one setting and the meter alone."""

    server: str
    reported: str
    stack: str | None
    tls_library: str | None
    setting: str
    kind: str | None
    runs: tuple[ConfigurationRecord, ...]

    def measured(self, meter: ConfigurationMeter) -> list[ConfigurationRecord]:
        """Return the runs under the meter, smallest first."""
        found = (run for run in self.runs if run.meter == meter and run.status == "measured")
        return sorted(found, key=lambda run: run.size)

    def readings(self, meter: ConfigurationMeter, phase: str, reading: PhaseReading) -> dict[int, int]:
        """Return what was read at the end of a phase, by size; after each name was asked for, of those runs alone in
        which that were all names."""
        return {
            run.size: found
            for run in self.measured(meter)
            for one in run.phases
            if one.phase == phase and (found := reading(one)) is not None
            if phase != ASKED or run.certificates_seen == run.size
        }

    def added(self, phase: str, reading: PhaseReading) -> Fraction | Missing:
        """Return what one more adds under the heap meter, from the smallest configuration to the largest."""
        found = self.readings("heap", phase, reading)
        if len(found) < 2:
            return Missing(describe_few(found))
        return quotient(found, min(found), max(found))

    def is_even(self, phase: str, reading: PhaseReading) -> bool:
        """Return whether one more adds the same within 1 % from each size to the next."""
        found = self.readings("heap", phase, reading)
        sizes = sorted(found)
        each = [quotient(found, low, high) for low, high in pairwise(sizes)]
        return not each or max(each) - min(each) <= abs(max(each, key=abs)) / 100

    def line(self, phase: str, reading: PhaseReading) -> Line | Missing:
        """Return the line through what processes hold without the meter."""
        found = self.readings("rss", phase, reading)
        return fit_line({size: float(value) for size, value in found.items()}) or Missing(describe_few(found))

    def sites(self) -> list[SiteCost] | Missing:
        """Return what one more adds at each call site, from the smallest profile to the largest, most first.

        Profiles are of the moment with most live bytes. What is allocated once, and is in the larger one alone, was not
        there yet at that moment of the smaller: it does not grow."""
        runs = self.measured("sites")
        if len(runs) < 2:
            return Missing("call sites need profiles of two sizes, and heaptrack")
        low, high = (sum_sites(one) for one in (runs[0], runs[-1]))
        blocks = Counter[tuple[str, ...]]()
        for one in runs[-1].sites:
            blocks[tuple(one.callers)] += one.blocks
        span = runs[-1].size - runs[0].size
        grown = [callers for callers in high if callers in low or blocks[callers] >= span]
        each = (SiteCost(callers, Fraction(high[callers] - low[callers], span)) for callers in grown)
        return sorted((one for one in each if one.bytes >= 1), key=lambda one: (-one.bytes, one.callers))


def sum_sites(run: ConfigurationRecord) -> Counter[tuple[str, ...]]:
    """Return the bytes of a profile by call site: those of one function's several lines together."""
    found = Counter[tuple[str, ...]]()
    for one in run.sites:
        found[tuple(one.callers)] += one.bytes
    return found


def quotient(found: dict[int, int], low: int, high: int) -> Fraction:
    """Return what one more adds between two sizes."""
    return Fraction(found[high] - found[low], high - low)


def describe_few(found: dict[int, int]) -> str:
    """Return why there is no slope."""
    return f"a slope needs runs of two sizes; there are {len(found)}"


def group_settings(records: Iterable[ConfigurationRecord]) -> list[SettingSeries]:
    """Return the series, the newest run of each kind, by server and library."""
    in_order = sorted(records, key=lambda one: (one.status == "measured", one.started_at))  # measured before failed
    newest = {one.key: one for one in in_order}
    found: dict[tuple[str, str, str | None, str | None, str, str | None], list[ConfigurationRecord]] = {}
    for one in newest.values():
        kind = (one.server, one.reported, one.stack, one.tls_library, one.setting, one.kind)
        found.setdefault(kind, []).append(one)
    series = [SettingSeries(*key, tuple(runs)) for key, runs in found.items()]
    return sorted(series, key=lambda one: (one.server, one.stack or "", one.reported, one.setting, one.kind or ""))
