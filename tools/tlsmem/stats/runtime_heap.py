"""Live heap by a runtime's own figure, where the heap meter does not see it: as live_heap.py has that of other stacks,
of RSS runs, after a collection at the end of each phase."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from tlsmem.stats import allocator_statistics
from tlsmem.stats.live_heap import HeapFigure, SessionHeap
from tlsmem.stats.missing import Missing, map_present
from tlsmem.stats.rss_line import why_no_line
from tlsmem.stats.series import Series
from tlsmem.stats.session_cost import quantity_at_end, slope_per_pair


class RuntimeFigure(NamedTuple):
    """Live heap by a runtime's own figure."""

    slope: Fraction  # bytes per session
    is_peak: bool = False  # the most at the end of any phase: nothing is known of within


NO_ALLOCATIONS = Missing("the runtime allocates, and the heap meter does not see it")
LiveFigure = HeapFigure | RuntimeFigure


@dataclass(frozen=True)
class RuntimeHeap:
    """What one more session adds in a process of one role."""

    series: Series

    @cached_property
    def slopes(self) -> dict[str, Fraction] | Missing:
        """Bytes per session, by phase."""
        if (why := why_no_line(self.series)) is not None:
            return why
        runs = self.series.full("rss")
        found = {
            phase.phase: slope_per_pair(runs, quantity_at_end(allocator_statistics.runtime_live_bytes, phase.phase))
            for phase in runs[0].phases
        }
        return {name: slope for name, slope in found.items() if slope is not None}

    def live(self, phase: str) -> RuntimeFigure | Missing:
        """At the phase's end."""
        return map_present(lambda slopes: RuntimeFigure(slopes[phase]), self.slopes)

    def allocations(self, since: str, until: str) -> Missing:
        """Always missing: allocations of the process are not those of its sessions alone."""
        return NO_ALLOCATIONS

    @property
    def peak(self) -> RuntimeFigure | Missing:
        """The largest cost at the end of any phase."""
        return map_present(lambda slopes: RuntimeFigure(max(slopes.values()), True), self.slopes)


def heap_of_role(series: Series, role: str) -> SessionHeap | RuntimeHeap:
    """By the meter that sees it."""
    has_runtime = allocator_statistics.have_runtime_statistics(series.full("rss"))
    return RuntimeHeap(series) if has_runtime else SessionHeap(series, role)


def bytes_per_session(figure: LiveFigure | Missing) -> float:
    """Of a runtime to a tenth of a byte; what is not known is the largest."""
    if isinstance(figure, Missing):
        return float("inf")
    if isinstance(figure, RuntimeFigure):
        return round(float(figure.slope), 1)
    return figure.bytes.integer_part + figure.bytes.remainder / figure.bytes.sessions
