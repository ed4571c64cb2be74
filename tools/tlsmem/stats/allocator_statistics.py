"""What an allocator's books mean: its own figure of what is live, and what it holds of the system.

Names are those of docs/records.md. Both are sums over a process's allocators: two where a stack brings one along."""

from collections.abc import Iterable

from tlsmem.schema.records import Phase, Record

# Live, with rounding and headers. glibc counts what a thread's cache holds free as live: a constant, so not in slopes.
LIVE_FIELDS = {
    "glibc": ("uordblks_bytes", "hblkhd_bytes"),
    "jemalloc": ("allocated_bytes",),
    "jemalloc-rust": ("allocated_bytes",),
    "tcmalloc": ("current_allocated_bytes",),
    "go": ("live_bytes", "stack_inuse_bytes"),  # of objects after a collection, and of goroutines
}
# Address space taken from the system: live, held free, and given back but kept for later.
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
    "its runtime collected and gave back free memory at the end of every phase; other stacks are left alone"
)
COARSE_NOTE = "the allocator's books move in larger steps than these N; take larger N"  # where figures cannot be


def read_statistics(meaning: dict[str, tuple[str, ...]], phase: Phase) -> dict[str, int]:
    """The figure of every allocator that tells it."""
    books = phase.allocator or {}
    whole = (name for name in books if name in meaning and set(meaning[name]) <= set(books[name]))
    return {name: sum(books[name][figure] for figure in meaning[name]) for name in whole}


def unknown_reason(meaning: dict[str, tuple[str, ...]], phase: Phase) -> str | None:
    """Why there is no sum over the allocators; None when there is one."""
    if not phase.allocator:
        return "the record has no books of the allocator"
    silent = [name for name in phase.allocator if name not in read_statistics(meaning, phase)]
    figure = "live figure" if meaning is LIVE_FIELDS else "figure of what it holds"
    return f"{silent[0]} tells no {figure}" if silent else None


def live_bytes(phase: Phase) -> int:
    return sum(read_statistics(LIVE_FIELDS, phase).values())


def obtained_bytes(phase: Phase) -> int:
    return sum(read_statistics(OBTAINED_FIELDS, phase).values())


def have_runtime_statistics(runs: Iterable[Record]) -> bool:
    """Whether these runs tell what is live by a runtime's own figure, all of them."""
    found = None
    for run in runs:
        for phase in run.phases:
            found = bool(read_statistics(RUNTIMES, phase))
            if not found:
                return False
    return bool(found)


def returned_memory_note(runs: Iterable[Record]) -> str | None:
    """What flatters RSS of these runs beside that of others."""
    return RETURNED_MEMORY_NOTE if have_runtime_statistics(runs) else None


def runtime_live_bytes(phase: Phase) -> int:
    return sum(read_statistics(RUNTIMES, phase).values())


def unmetered_reason(runs: Iterable[Record]) -> str | None:
    """Why there are no heap runs beside these, of a stack that brings an allocator along; None where it does not."""
    present = [list(phase.allocator or {}) for run in runs for phase in run.phases]
    brought = {name for names in present for place, name in enumerate(names) if place or name in RUNTIMES}
    return f"the heap meter cannot see what {min(brought)} gives out" if brought else None
