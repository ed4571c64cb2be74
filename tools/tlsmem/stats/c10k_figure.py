"""The C10K figure: peak RSS of a process with 10,000 sessions, measured or from the fit."""

from typing import Literal, NamedTuple

from tlsmem.stats import allocator_statistics, bends, session_cost
from tlsmem.stats.missing import Missing
from tlsmem.stats.series import Series
from tlsmem.store.record import Record

Doubt = Literal["garbage", "bends"]


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
