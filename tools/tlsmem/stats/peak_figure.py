"""Peak RSS of a process at one number of sessions, whether two stacks differ in it by more than repeats do, and the
C10K figure: with 10,000 sessions, measured or from the fit."""

import statistics
from typing import Literal, NamedTuple

from tlsmem.stats import allocator_statistics, bends, repeats, session_cost
from tlsmem.stats.missing import Missing, map_present, replace_missing
from tlsmem.stats.repeats import RepeatChange
from tlsmem.stats.series import Series
from tlsmem.store.record import Record

Doubt = Literal["garbage", "bends"]


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


class C10kFigure(NamedTuple):
    """Peak RSS in bytes of a process with 10,000 sessions, and how it is known."""

    bytes: float
    is_measured: bool  # or else it is from the fit
    doubt: Doubt | None  # why the line may not lead to what would be measured
    most_sessions: int  # that were measured, of those that stay in the process
    gave_back_memory: bool  # at the ends of phases, as other stacks do not: see RETURNED_MEMORY_NOTE


def find_c10k(series: Series) -> C10kFigure | Missing:
    """Return the figure of the process, from the RSS runs; Missing without a line and without a run at 10,000."""
    runs = series.full("rss")
    points = session_cost.medians(runs, session_cost.peak_rss)
    found = session_cost.c10k({sessions // series.share: peak for sessions, peak in points.items()})
    if not found:
        few = f"N = {runs[0].sessions:,} only, not enough for a line" if runs else series.reason("rss")
        return Missing(few)
    peak, is_measured = found
    return C10kFigure(
        bytes=peak,
        is_measured=is_measured,
        doubt=None if is_measured else find_doubt(runs),
        most_sessions=runs[-1].sessions // series.share,
        gave_back_memory=allocator_statistics.have_runtime_statistics(runs),
    )


def find_doubt(runs: list[Record]) -> Doubt | None:
    """A peak with garbage between two collections in it keeps to no line, and a line may be nonlinear."""
    if allocator_statistics.has_runtime(runs):
        return "garbage"
    return "bends" if bends.find_bends(session_cost.values_by_sessions(runs, session_cost.peak_rss)) else None
