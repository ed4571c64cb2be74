"""Figures of RSS that every repeat has, so that two environments can be compared by the spread of their repeats."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tlsmem.stats import bootstrap
from tlsmem.stats.bootstrap import Interval
from tlsmem.stats.missing import Missing
from tlsmem.stats.repeats import RepeatChange
from tlsmem.stats.rss_line import why_no_such_phase
from tlsmem.stats.series import Series

Values = tuple[float, ...]  # in bytes, one a repeat: at least one


@dataclass(frozen=True)
class RepeatQuantity:
    """A figure of RSS in bytes; `measure` returns it for each repeat of a series, nothing where none has it."""

    measure: Callable[[Series], Sequence[float]]
    phase: str | None = None  # at whose end it is measured
    sessions: int | None = None  # the N of its runs; None: it takes a line through several N

    def find_values(self, series: Series) -> Values | Missing:
        """Return the value of each repeat."""
        if (why := why_no_such_phase(series, self.phase)) is not None:
            return why
        if values := tuple(self.measure(series)):
            return values
        has_runs = series.runs("rss", self.sessions)
        return Missing("too few N for a line" if has_runs else series.reason("rss", self.sessions))


class RepeatRatio(NamedTuple):
    """The ratio of two medians; the interval is None where one of the two was measured once."""

    change: RepeatChange
    interval: Interval | None

    @property
    def value(self) -> float:
        """The median of `after` to that of `before`."""
        return 1 + self.change.share


def find_ratio(before: Values | Missing, after: Values | Missing) -> RepeatRatio | Missing:
    """Return the ratio of the medians; Missing where a figure is, or is not above 0."""
    if isinstance(before, Missing) or isinstance(after, Missing):
        return Missing("nothing to compare with")
    if min(*before, *after) <= 0:
        return Missing("a ratio takes figures above nought")
    return RepeatRatio(RepeatChange(before, after), bootstrap.ratio_interval(before, after))
