"""Cells of timed tables: medians, intervals, shares and ratios of repeats."""

from tlsmem.stats.timed_rates import Quantity
from tlsmem.stats.timed_selection import TimedSeries
from tlsmem.stats.timed_summary import FEW_REPEATS_NOTE, Ratio, Sample, sample_from_runs
from tlsmem.tables.table import Cell, missing_cell, percent

NOUGHT = "no time passed that the clock could see"


def sample_or_missing(series: TimedSeries, quantity: Quantity, lacking: str = NOUGHT) -> Sample | Cell:
    """Or a hole with its reason: of the run, or `lacking` where it was measured and does not have this."""
    runs = series.runs()
    return sample_from_runs(runs, quantity) or missing_cell(lacking if runs else series.reason())


def format_number(value: float) -> str:
    """At least four digits."""
    digits = 0 if abs(value) >= 1000 else 1 if abs(value) >= 100 else 2
    return f"{value:,.{digits}f}"


def median_cell(found: Sample | Cell) -> Cell:
    return found if isinstance(found, Cell) else Cell(format_number(found.median), round(found.median, 4))


def interval_cell(found: Sample | Cell) -> Cell:
    """How far the ends of the interval are from the median, the wider half; its ends for programs."""
    if isinstance(found, Cell):
        return found
    interval = found.interval
    if not interval:
        return missing_cell(FEW_REPEATS_NOTE)
    half = max(interval.high - found.median, found.median - interval.low)
    ends = {"low": round(interval.low, 4), "high": round(interval.high, 4)}
    return Cell(percent(half / found.median), ends)


def median_and_interval_cells(found: Sample | Cell) -> list[Cell]:
    return [median_cell(found), interval_cell(found)]


def share_cell(found: Sample | Cell, digits: int = 1) -> Cell:
    if isinstance(found, Cell):
        return found
    return Cell(f"{100 * found.median:,.{digits}f} %", round(100 * found.median, 4))


def speedup_cell(before: Sample | Cell, after: Sample | Cell) -> Cell:
    """A hole where either is one, for its reason."""
    if isinstance(after, Cell):
        return after
    if isinstance(before, Cell):
        return before
    return ratio_cell(Ratio(before, after))


def ratio_cell(ratio: Ratio) -> Cell:
    """ "no change" where nothing says that the two differ."""
    interval = ratio.interval
    if not interval:
        return Cell(f"{ratio.value:.2f}", {"factor": round(ratio.value, 4)}, ratio.note or FEW_REPEATS_NOTE)
    data = {"factor": round(ratio.value, 4), "low": round(interval.low, 4), "high": round(interval.high, 4)}
    same = interval.low <= 1 <= interval.high
    return Cell("no change", data, ratio.note) if same else Cell(f"{ratio.value:.2f}", data, ratio.note or ratio.off)
