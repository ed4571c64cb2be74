"""What the RSS of a connection to a real server is made of, without a remainder: every page is one of these.

Chunks of malloc and their residency are read in the run whose RSS it is; live heap comes from the run under the heap
meter. Each figure is a slope over numbers of connections, so they add up to the slope of RSS."""

from typing import NamedTuple

from tlsmem.schema.live_records import LiveMeter, LivePhase
from tlsmem.stats import live_costs
from tlsmem.stats.live_costs import LiveSeries, Reading
from tlsmem.stats.missing import Missing, find_missing, keep_present

TOLD = 0.1  # a size of free chunks is named from so many chunks a connection on


def chunk_bytes(phase: LivePhase) -> int | None:
    """Chunks in use."""
    return phase.malloc.chunk_bytes if phase.malloc else None


def chunk_resident_bytes(phase: LivePhase) -> int | None:
    """What of them is resident."""
    return phase.malloc.chunk_resident_bytes if phase.malloc else None


def free_resident_bytes(phase: LivePhase) -> int | None:
    """Free chunks that are resident."""
    return phase.malloc.free_resident_bytes if phase.malloc else None


class RssParts(NamedTuple):
    """Bytes of one connection. `overhead_bytes`: headers of chunks and their rounding. `unwritten_bytes`: of chunks in
    use, on pages that are not resident. `free_bytes`: free chunks on pages that are. `other_bytes`: anonymous memory
    outside the heap. `free_sizes`: how many free chunks of each size a connection leaves, in the largest run."""

    live_bytes: float
    overhead_bytes: float
    unwritten_bytes: float
    free_bytes: float
    other_bytes: float
    page_table_bytes: float
    free_sizes: dict[int, float]

    @property
    def rss_anon_bytes(self) -> float:
        """Resident anonymous memory."""
        return self.live_bytes + self.overhead_bytes - self.unwritten_bytes + self.free_bytes + self.other_bytes

    @property
    def rss_bytes(self) -> float:
        """The same with page tables."""
        return self.rss_anon_bytes + self.page_table_bytes


def split_rss(series: LiveSeries, state: str) -> RssParts | Missing:
    """Return the parts; Missing without a second number of connections, in runs of either meter."""
    readings: list[tuple[Reading, LiveMeter]] = [
        (live_costs.live_bytes, "heap"),
        (chunk_bytes, "rss"),
        (chunk_resident_bytes, "rss"),
        (free_resident_bytes, "rss"),
        (live_costs.rss_anon_bytes, "rss"),
        (live_costs.rss_bytes, "rss"),
    ]
    lines = [series.line(state, reading, meter) for reading, meter in readings]
    if (why := find_missing(*lines)) is not None:
        return why
    live, chunks, resident, free, anonymous, rss = (line.slope for line in keep_present(lines))
    return RssParts(
        live_bytes=live,
        overhead_bytes=chunks - live,
        unwritten_bytes=chunks - resident,
        free_bytes=free,
        other_bytes=anonymous - resident - free,
        page_table_bytes=rss - anonymous,
        free_sizes=count_free(series, state),
    )


def count_free(series: LiveSeries, state: str) -> dict[int, float]:
    """Return how many free chunks of each size a connection leaves, in the largest run, where there are so many that
    each connection leaves some."""
    if not series.largest:
        return {}
    malloc = next((phase.malloc for phase in series.largest.phases if phase.phase == state), None)
    counts = malloc.free_sizes if malloc else {}
    shares = {size: count / series.largest.connections for size, count in counts.items()}
    return {size: share for size, share in shares.items() if share >= TOLD}
