"""Peak RSS of a process at one number of sessions, and whether two stacks differ in it by more than repeats do."""

import statistics
from typing import NamedTuple

from tlsmem.stats import allocator_statistics, repeats
from tlsmem.stats.missing import Missing, map_present, replace_missing
from tlsmem.stats.repeats import RepeatChange
from tlsmem.stats.series import Series


class PeakFigure(NamedTuple):
    """The peak RSS of each repeat, in bytes: at least one."""

    values: tuple[int, ...]
    gave_back_memory: bool  # at the ends of phases, as other stacks do not: see RETURNED_MEMORY_NOTE

    @property
    def bytes(self) -> float:
        """The median of the repeats."""
        return statistics.median(self.values)


def find_peak(series: Series, sessions: int) -> PeakFigure | Missing:
    """Return the peak at this N; Missing where it was not measured."""
    values = repeats.peaks(series, sessions)
    if not values:
        return Missing(series.reason("rss", sessions))
    return PeakFigure(tuple(values), allocator_statistics.have_runtime_statistics(series.runs("rss", sessions)))


def compare_peaks(before: PeakFigure | Missing, after: PeakFigure | Missing) -> RepeatChange | Missing:
    """Return the change in bytes; Missing where one of the two was not measured."""
    change = map_present(lambda before, after: RepeatChange(before.values, after.values), before, after)
    return replace_missing(change, Missing("nothing to compare with"))
