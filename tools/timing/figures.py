"""What the repeats of a series say together: a median, how sure it is, and how far they lie apart; as cells."""

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy

import intervals
from costs import relative_range
from intervals import Interval
from records import Record
from tables import Cell, hole, percent
from timing.rates import Quantity
from timing.timed import TimedSeries

LEAST = 3  # repeats that an interval needs
FEW = f"fewer than {LEAST} repeats: no interval"
NOUGHT = "no time passed that the clock could see"


@dataclass(frozen=True)
class Figure:
    """The values of one quantity, a repeat each; at least one. Without their numbers they are numbered."""

    values: tuple[float, ...]
    repeats: tuple[int, ...] = ()

    @property
    def by_repeat(self) -> dict[int, float]:
        return dict(zip(self.repeats or range(len(self.values)), self.values, strict=True))

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def interval(self) -> Interval | None:
        """Of the median, by bootstrap; none of fewer than three repeats."""
        return intervals.bootstrap([self.values], numpy.median) if len(self.values) >= LEAST else None

    @property
    def spread(self) -> float | None:
        """How far the repeats lie apart: largest less smallest, by the median."""
        return relative_range(self.values)


def figure(runs: Iterable[Record], quantity: Quantity) -> Figure | None:
    """None where a run does not have it."""
    runs = list(runs)
    values = tuple(quantity(run) for run in runs)
    return Figure(values, tuple(run.repeat for run in runs)) if values and None not in values else None


def of_series(series: TimedSeries, quantity: Quantity, lacking: str = NOUGHT) -> Figure | Cell:
    """Or a hole with its reason: of the run, or `lacking` where it was measured and does not have this."""
    runs = series.runs()
    return figure(runs, quantity) or hole(lacking if runs else series.reason())


def number(value: float) -> str:
    """At least four digits."""
    digits = 0 if abs(value) >= 1000 else 1 if abs(value) >= 100 else 2
    return f"{value:,.{digits}f}"


def median_cell(found: Figure | Cell) -> Cell:
    return found if isinstance(found, Cell) else Cell(number(found.median), round(found.median, 4))


def interval_cell(found: Figure | Cell) -> Cell:
    """How far the ends of the interval are from the median, the wider half; its ends for programs."""
    if isinstance(found, Cell):
        return found
    interval = found.interval
    if not interval:
        return hole(FEW)
    half = max(interval.high - found.median, found.median - interval.low)
    ends = {"low": round(interval.low, 4), "high": round(interval.high, 4)}
    return Cell(percent(half / found.median), ends)


def pair(found: Figure | Cell) -> list[Cell]:
    return [median_cell(found), interval_cell(found)]


def share_cell(found: Figure | Cell, digits: int = 1) -> Cell:
    if isinstance(found, Cell):
        return found
    return Cell(f"{100 * found.median:,.{digits}f} %", round(100 * found.median, 4))


@dataclass(frozen=True)
class Factor:
    """How many times the first another is: the median of what it was in each repeat, whose runs were neighbours, so
    that the machine's own better and worse moments are in both. Its interval, of repeats enough, is of this median."""

    before: Figure
    after: Figure

    @cached_property
    def quotients(self) -> tuple[float, ...]:
        before, after = self.before.by_repeat, self.after.by_repeat
        return tuple(after[repeat] / before[repeat] for repeat in after if repeat in before)

    @property
    def value(self) -> float:
        return statistics.median(self.quotients or (self.after.median / self.before.median,))

    @property
    def interval(self) -> Interval | None:
        return intervals.bootstrap([self.quotients], numpy.median) if len(self.quotients) >= LEAST else None

    def cell(self) -> Cell:
        """ "no change" where nothing says that the two differ."""
        interval = self.interval
        if not interval:
            return Cell(f"{self.value:.2f}", {"factor": round(self.value, 4)}, FEW)
        data = {"factor": round(self.value, 4), "low": round(interval.low, 4), "high": round(interval.high, 4)}
        same = interval.low <= 1 <= interval.high
        return Cell("no change" if same else f"{self.value:.2f}", data)


def factor_cell(before: Figure | Cell, after: Figure | Cell) -> Cell:
    """A hole where either is one, for its reason."""
    for one in (after, before):
        if isinstance(one, Cell):
            return one
    return Factor(before, after).cell()
