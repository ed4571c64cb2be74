"""What an allocator's statistics mean: its own figure of live memory, and what it obtained from the OS.

Names are those of docs/reference/records.md. Both are bytes, summed over a process's allocators: two where a stack
brings one."""

from collections.abc import Iterable

from tlsmem.store.record import Phase, Record

# Live, with rounding and headers. glibc counts what a thread's cache holds free as live: a constant, so not in slopes.
LIVE_FIELDS = {
    "glibc": ("uordblks_bytes", "hblkhd_bytes"),
    "jemalloc": ("allocated_bytes",),
    "jemalloc-rust": ("allocated_bytes",),
    "tcmalloc": ("current_allocated_bytes",),
    "go": ("live_bytes", "stack_inuse_bytes"),  # of objects after a collection, and of goroutines
}
# Address space taken from the system: live, free and not returned to the OS, and given back but kept for later.
OBTAINED_FIELDS = {
    "glibc": ("arena_bytes", "hblkhd_bytes"),
    "jemalloc": ("mapped_bytes", "retained_bytes"),
    "jemalloc-rust": ("mapped_bytes", "retained_bytes"),
    "tcmalloc": ("heap_size_bytes",),
    "mimalloc": ("committed_bytes",),
    "go": ("sys_bytes",),
}
# A runtime's own figure of what is live, after a collection: in the heap meter's place, which does not see such a heap.
RUNTIMES = {"go": LIVE_FIELDS["go"]}
RETURNED_MEMORY_NOTE = (
    "its runtime collects garbage and returns free memory at the end of every phase; other stacks do not, nor does "
    "go+left-alone (table runtime)"
)
COLLECTED_RSS = "rss_after_collection_bytes"  # of a runtime: read again when it had given back what is free
COARSE_NOTE = (
    "allocator statistics move in larger steps than the memory of these N; measure larger N"  # where figures cannot be
)


def read_statistics(meaning: dict[str, tuple[str, ...]], phase: Phase) -> dict[str, int]:
    """Return the sum of the fields that `meaning` names for each allocator, in bytes.

    Allocators without one of the fields are left out."""
    books = phase.allocator or {}
    whole = (name for name in books if name in meaning and set(meaning[name]) <= set(books[name]))
    return {name: sum(books[name][figure] for figure in meaning[name]) for name in whole}


def unknown_reason(meaning: dict[str, tuple[str, ...]], phase: Phase) -> str | None:
    """Return why there is no sum over all allocators of the process; None when there is one."""
    if not phase.allocator:
        return "the record has no allocator statistics"
    silent = [name for name in phase.allocator if name not in read_statistics(meaning, phase)]
    figure = "live figure" if meaning is LIVE_FIELDS else "figure of what it obtained from the OS"
    return f"{silent[0]} reports no {figure}" if silent else None


def live_bytes(phase: Phase) -> int:
    """Return live memory by the allocators' own figures, in bytes; `unknown_reason` says where they have none."""
    return sum(read_statistics(LIVE_FIELDS, phase).values())


def obtained_bytes(phase: Phase) -> int:
    """Return the address space that the allocators obtained from the OS, in bytes; see `unknown_reason`."""
    return sum(read_statistics(OBTAINED_FIELDS, phase).values())


def have_runtime_statistics(runs: Iterable[Record]) -> bool:
    """Return whether every phase of these runs has live memory by a runtime's own figure; False without phases."""
    found = None
    for run in runs:
        for phase in run.phases:
            found = bool(read_statistics(RUNTIMES, phase))
            if not found:
                return False
    return bool(found)


def returned_memory_note(runs: Iterable[Record]) -> str | None:
    """Return the note for runs whose RSS is lower because their runtime returned free memory; None for others."""
    return RETURNED_MEMORY_NOTE if have_runtime_statistics(runs) else None


def runtime_live_bytes(phase: Phase) -> int:
    """Return live memory by a runtime's own figure, in bytes; 0 where there is no such runtime."""
    return sum(read_statistics(RUNTIMES, phase).values())


def has_runtime(runs: Iterable[Record]) -> bool:
    """Return whether any of these runs has the statistics of a runtime, whether or not it was made to collect."""
    return any(name in RUNTIMES for run in runs for phase in run.phases for name in phase.allocator or {})


def unmetered_reason(runs: Iterable[Record]) -> str | None:
    """Return why a stack with an allocator of its own has no heap runs, given its RSS runs; None for other stacks."""
    present = [list(phase.allocator or {}) for run in runs for phase in run.phases]
    brought = {name for names in present for place, name in enumerate(names) if place or name in RUNTIMES}
    return f"the heap meter does not see what {min(brought)} allocates" if brought else None
