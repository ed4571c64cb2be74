"""Of what a session's memory is made in a process with a runtime of its own: objects, goroutine stacks and RSS."""

from fractions import Fraction

from tlsmem.stats.allocator_statistics import COLLECTED_RSS, RUNTIMES
from tlsmem.stats.missing import Missing
from tlsmem.stats.rss_line import why_no_line
from tlsmem.stats.series import Series
from tlsmem.stats.session_cost import PhaseQuantity, quantity_at_end, slope_per_pair
from tlsmem.store.record import Phase

HEAP, STACKS, RSS = "live_bytes", "stack_inuse_bytes", "rss_bytes"
QUANTITIES = (HEAP, STACKS, RSS, COLLECTED_RSS)
NOT_COLLECTED = Missing("no garbage collection was forced, so live bytes are not known")
OLDER_RUNS = Missing("these runs are older than the figure: make mem FRESH=1")


def runtime_statistics(phase: Phase) -> dict[str, int]:
    """Return the statistics of the process's runtime; empty where it has none."""
    return next((dict(book) for name, book in (phase.allocator or {}).items() if name in RUNTIMES), {})


def bytes_per_session(series: Series, phase: str, quantity: str) -> Fraction | Missing:
    """Return what one more session of the process adds at the end of the phase, in bytes: the slope over sessions."""
    if (why := why_no_line(series)) is not None:
        return why
    runs = series.full("rss")
    ends = [one for run in runs for one in run.phases if one.phase == phase]
    if len(ends) < len(runs):
        return Missing("the runs have no such phase")
    if quantity != RSS and not all(quantity in runtime_statistics(end) for end in ends):
        return OLDER_RUNS if all(HEAP in runtime_statistics(end) for end in ends) else NOT_COLLECTED
    slope = slope_per_pair(runs, quantity_at_end(measure(quantity), phase))
    assert slope is not None  # why_no_line has seen to it
    return slope * series.share / 2


def measure(quantity: str) -> PhaseQuantity:
    """Return what reads the quantity from a phase."""
    return (lambda phase: phase.rss_bytes) if quantity == RSS else (lambda phase: runtime_statistics(phase)[quantity])
