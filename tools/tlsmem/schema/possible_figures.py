"""Relations that hold between the figures of every run: a record that breaks one was changed or is damaged.

Only what follows from how the meters count is here; all recordings in data/ hold to it. Two things need not hold:
`peak_blocks` may be below `live_blocks`, since it counts the blocks at the peak of bytes, and the peaks of roles do not
add up, since each role has its own at another time."""

from tlsmem.schema.harness_output import HeapCounts, Heaps, Phase, PhaseSites
from tlsmem.schema.records import RecordLine
from tlsmem.schema.roles import ROLES
from tlsmem.schema.timed_record import INTERVAL_PARTS

ADDITIVE_COUNTS = ("live_bytes", "live_blocks", "cumulative_bytes", "cumulative_blocks")


def find_impossible(record: RecordLine) -> str | None:
    """Return a sentence about the first figure that cannot be true, with its place; None when all can be."""
    for phase in record.phases:
        if what := find_impossible_phase(phase):
            return f"phase {phase.phase} ({phase.process}): {what}"
    for timing in record.timings or ():
        if timing.resumed > timing.rounds:
            return f"thread {timing.thread}: resumed is {timing.resumed:,}, above rounds, {timing.rounds:,}"
        for part in timing.parts:
            if part.part in INTERVAL_PARTS[record.scenario] and part.total_ns > timing.elapsed_ns:
                return f"thread {timing.thread}: {part.part}: total_ns is {part.total_ns:,}, above the thread's"
    return None


def find_impossible_phase(phase: Phase) -> str | None:
    """Return what cannot be true of one phase's RSS, heap or call stacks, in bytes; None when all can be."""
    if phase.peak_rss_bytes < phase.rss_bytes:
        return f"peak_rss_bytes is {phase.peak_rss_bytes:,}, below rss_bytes, {phase.rss_bytes:,}"
    if phase.rss_bytes != phase.rss_anon_bytes + phase.rss_file_bytes + phase.rss_shmem_bytes:
        return f"rss_bytes is {phase.rss_bytes:,}, not the sum of rss_anon_bytes, rss_file_bytes and rss_shmem_bytes"
    if phase.heap and (what := find_impossible_heap(phase.heap)):
        return what
    return find_impossible_peak(phase.sites, phase.heap) if phase.heap and phase.sites else None


def find_impossible_heap(heap: Heaps) -> str | None:
    """Return what cannot be true of the heaps of one phase, or of their sum; None when all can be."""
    roles = (heap.client, heap.server, heap.client_context, heap.server_context, heap.harness)
    for counts in (*roles, heap.total):
        if not (
            counts.live_bytes <= counts.peak_bytes <= counts.cumulative_bytes
            and counts.live_blocks <= counts.cumulative_blocks
        ):
            name = next(name for name in Heaps.model_fields if getattr(heap, name) is counts)
            return f"heap of {name}: {describe_counts(counts)}"
    for count in ADDITIVE_COUNTS:
        parts, total = sum(getattr(role, count) for role in roles), getattr(heap.total, count)
        if parts != total:
            return f"heap: {count} of the roles is {parts:,} together, and {total:,} in total"
    return None


def find_impossible_peak(sites: PhaseSites, heap: Heaps) -> str | None:
    """Return what cannot be true of the peaks of the chosen pair; None when all can be, or none are recorded."""
    if sites.peak is None or sites.peak_bytes is None:
        return None
    for role in ROLES:
        counted, most = getattr(sites.peak_bytes, role), getattr(heap, role).peak_bytes
        by_stack = sum(one.bytes for one in sites.peak if one.role == role)
        live = sum(one.bytes for one in sites.live if one.role == role)
        if by_stack != counted:
            return f"sites: peak: the {role}'s call stacks add up to {by_stack:,} bytes, and peak_bytes is {counted:,}"
        if not live <= counted <= most:
            return f"sites: peak_bytes of the {role} is {counted:,}, not from {live:,} live to {most:,} at the most"
    return None


def describe_counts(counts: HeapCounts) -> str:
    """Say what is wrong with counts of one owner that cannot be true."""
    if counts.live_bytes > counts.peak_bytes:
        return f"live_bytes is {counts.live_bytes:,}, above peak_bytes, {counts.peak_bytes:,}"
    return "more was live than was ever allocated (cumulative_bytes, cumulative_blocks)"
