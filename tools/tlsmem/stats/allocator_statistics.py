"""What an allocator's books mean: its own figure of what is live, and what it holds of the system.

Names are those of docs/records.md. Both are sums over a process's allocators: two where a stack brings one along."""

from collections.abc import Iterable

from tlsmem.schema.records import Phase, Record

# Live, with rounding and headers. glibc counts what a thread's cache holds free as live: a constant, so not in slopes.
USABLE = {
    "glibc": ("uordblks_bytes", "hblkhd_bytes"),
    "jemalloc": ("allocated_bytes",),
    "jemalloc-rust": ("allocated_bytes",),
    "tcmalloc": ("current_allocated_bytes",),
    "go": ("live_bytes", "stack_inuse_bytes"),  # of objects after a collection, and of goroutines
}
# Address space taken from the system: live, held free, and given back but kept for later.
HELD = {
    "glibc": ("arena_bytes", "hblkhd_bytes"),
    "jemalloc": ("mapped_bytes", "retained_bytes"),
    "jemalloc-rust": ("mapped_bytes", "retained_bytes"),
    "tcmalloc": ("heap_size_bytes",),
    "mimalloc": ("committed_bytes",),
    "go": ("sys_bytes",),
}
# A runtime's own figure of what is live, after a collection: in the heap meter's place, which does not see such a heap.
RUNTIMES = {"go": USABLE["go"]}
GIVEN_BACK = "its runtime collected and gave back free memory at the end of every phase; other stacks are left alone"
COARSE = "the allocator's books move in larger steps than these N; take larger N"  # where figures cannot be


def told(meaning: dict[str, tuple[str, ...]], phase: Phase) -> dict[str, int]:
    """The figure of every allocator that tells it."""
    books = phase.allocator or {}
    whole = (name for name in books if name in meaning and set(meaning[name]) <= set(books[name]))
    return {name: sum(books[name][figure] for figure in meaning[name]) for name in whole}


def untold(meaning: dict[str, tuple[str, ...]], phase: Phase) -> str | None:
    """Why there is no sum over the allocators; None when there is one."""
    if not phase.allocator:
        return "the record has no books of the allocator"
    silent = [name for name in phase.allocator if name not in told(meaning, phase)]
    figure = "live figure" if meaning is USABLE else "figure of what it holds"
    return f"{silent[0]} tells no {figure}" if silent else None


def usable(phase: Phase) -> int:
    return sum(told(USABLE, phase).values())


def held(phase: Phase) -> int:
    return sum(told(HELD, phase).values())


def have_runtime(runs: Iterable[Record]) -> bool:
    """Whether these runs tell what is live by a runtime's own figure, all of them."""
    phases = [phase for run in runs for phase in run.phases]
    return bool(phases) and all(told(RUNTIMES, phase) for phase in phases)


def given_back(runs: Iterable[Record]) -> str | None:
    """What flatters RSS of these runs beside that of others."""
    return GIVEN_BACK if have_runtime(runs) else None


def live_of_runtime(phase: Phase) -> int:
    return sum(told(RUNTIMES, phase).values())


def unseen(runs: Iterable[Record]) -> str | None:
    """Why there are no heap runs beside these, of a stack that brings an allocator along; None where it does not."""
    present = [list(phase.allocator or {}) for run in runs for phase in run.phases]
    brought = {name for names in present for place, name in enumerate(names) if place or name in RUNTIMES}
    return f"the heap meter cannot see what {min(brought)} gives out" if brought else None
