"""How values of timed tables are written: medians, intervals, shares and ratios of repeats."""

from tlsmem.stats.timed_summary import FEW_REPEATS, Gap, Ratio, Sample
from tlsmem.tables.table import Cell, missing_cell, percent

DURATION_UNITS = ((86_400, "days"), (3_600, "h"), (60, "min"), (1, "s"))
APART = "not back to back but {} apart: ratio of the medians; the machine may have changed in between"
SOME_APART = "from {} of {} repeats; the runs of the others were {} apart"
DEVIATES = "more than 5 % from the ratio of the medians, which come from different repeats"


def format_number(value: float) -> str:
    """At least four digits."""
    digits = 0 if abs(value) >= 1000 else 1 if abs(value) >= 100 else 2
    return f"{value:,.{digits}f}"


def format_duration(seconds: float) -> str:
    """In the largest unit of which it has at least two."""
    size, unit = next(((size, unit) for size, unit in DURATION_UNITS if seconds >= 2 * size), DURATION_UNITS[-1])
    return f"{round(seconds / size)} {unit}"


def describe_gap(gap: Gap) -> str:
    apart = format_duration(gap.median_s)
    return SOME_APART.format(gap.paired, gap.shared, apart) if gap.paired else APART.format(apart)


def number_cell(value: float) -> Cell:
    return Cell(format_number(value), round(value, 4))


def percent_cell(share: float) -> Cell:
    return Cell(percent(share), round(100 * share, 4))


def median_cell(sample: Sample) -> Cell:
    return number_cell(sample.median)


def median_percent_cell(sample: Sample) -> Cell:
    return percent_cell(sample.median)


def interval_cell(sample: Sample) -> Cell:
    """How far the ends of the interval are from the median, the wider half; its ends for programs."""
    interval = sample.interval
    if not interval:
        return missing_cell(FEW_REPEATS.reason)
    half = max(interval.high - sample.median, sample.median - interval.low)
    ends = {"low": round(interval.low, 4), "high": round(interval.high, 4)}
    return Cell(percent(half / sample.median), ends)


def ratio_cell(ratio: Ratio) -> Cell:
    """ "no change" where nothing says that the two differ."""
    interval, note, data = ratio.interval, ratio.gap and describe_gap(ratio.gap), {"factor": round(ratio.value, 4)}
    if not interval:
        return Cell(f"{ratio.value:.2f}", data, note or FEW_REPEATS.reason)
    data |= {"low": round(interval.low, 4), "high": round(interval.high, 4)}
    if interval.low <= 1 <= interval.high:
        return Cell("no change", data, note)
    return Cell(f"{ratio.value:.2f}", data, note or (DEVIATES if ratio.deviates else None))
