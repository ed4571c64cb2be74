"""Summaries of timed repeats: medians with intervals, and ratios of runs that were made back to back."""

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import NamedTuple

from tlsmem.stats import bootstrap
from tlsmem.stats.bootstrap import Interval
from tlsmem.stats.missing import Missing
from tlsmem.stats.session_cost import relative_range
from tlsmem.stats.timed_rates import Quantity
from tlsmem.stats.timed_selection import TimedSeries
from tlsmem.store.record import Record

MAX_GAP = 30  # runs as long as the longer of the two: more of a campaign hardly lies between what it compares
RESOLUTION_S = 1.0  # of a run's start, as it is recorded
MIN_REPEATS = 3  # repeats that an interval needs
FEW_REPEATS = Missing(f"fewer than {MIN_REPEATS} repeats: no interval")
NO_TIME = Missing("no time passed that the clock could see")
MAX_DEVIATION = 0.05  # of a ratio from the ratio of the medians, both of which a table shows


@dataclass(frozen=True)
class RunSpan:
    """When a run was made, in seconds since 1970."""

    begin_s: float
    end_s: float

    @staticmethod
    def from_record(record: Record) -> "RunSpan":
        """Return the span of a run; its start is known to the second."""
        begin_s = datetime.fromisoformat(record.started_at).timestamp()
        return RunSpan(begin_s, begin_s + record.elapsed_ns / 1e9)

    @property
    def length_s(self) -> float:
        """How long the run took, in seconds."""
        return self.end_s - self.begin_s

    def gap_s(self, other: "RunSpan") -> float:
        """Return the seconds from the end of the earlier run to the start of the later; 0 where they overlap."""
        return max(0.0, self.begin_s - other.end_s, other.begin_s - self.end_s)


Spans = Mapping[int, RunSpan]  # by repeat


def are_back_to_back(before: Spans, after: Spans, repeat: int) -> bool:
    """Return whether a repeat of two stacks ran back to back: close for the runs' lengths, and no other repeat between.

    They did not where one stack had all its repeats before the other."""
    one, other = before[repeat], after[repeat]
    near = MAX_GAP * max(one.length_s, other.length_s, RESOLUTION_S)
    first, last = sorted((one.begin_s, other.begin_s))
    between = (span for spans in (before, after) for span in spans.values() if first < span.begin_s < last)
    return one.gap_s(other) <= near and next(between, None) is None


def median_gap_s(before: Spans, after: Spans, repeats: list[int]) -> float:
    """Return the median gap between the two runs of these repeats, in seconds."""
    return statistics.median(before[repeat].gap_s(after[repeat]) for repeat in repeats)


class Gap(NamedTuple):
    """That repeats of two samples were not all made back to back: `paired` of the `shared` ones were.

    `median_s`: between the two runs of the others, in seconds."""

    paired: int
    shared: int
    median_s: float


@dataclass(frozen=True)
class Sample:
    """The values of one quantity, at least one, one a repeat.

    Without the repeats' numbers they are numbered from 0. Where it is not known when they were made, runs of one repeat
    are taken to be back to back."""

    values: tuple[float, ...]
    repeats: tuple[int, ...] = ()
    made: tuple[RunSpan, ...] = ()

    @property
    def by_repeat(self) -> dict[int, float]:
        """The values by the repeat's number."""
        return dict(zip(self.repeats or range(len(self.values)), self.values, strict=True))

    @property
    def spans(self) -> dict[int, RunSpan]:
        """When each repeat was made; empty where that is not known."""
        return dict(zip(self.by_repeat, self.made, strict=True)) if self.made else {}

    @property
    def median(self) -> float:
        """The median of the values."""
        return statistics.median(self.values)

    @property
    def interval(self) -> Interval | None:
        """The bootstrap interval of the median; None for fewer than three repeats."""
        return bootstrap.median_interval(self.values) if len(self.values) >= MIN_REPEATS else None

    @property
    def spread(self) -> float | None:
        """The largest less the smallest value, over the median; None for one repeat, or where the median is 0."""
        return relative_range(self.values)


def sample_from_runs(runs: Iterable[Record], quantity: Quantity) -> Sample | None:
    """Return the quantity of all runs; None where there are no runs, or one of them does not have it."""
    runs = list(runs)
    values = tuple(value for run in runs if (value := quantity(run)) is not None)
    if not values or len(values) < len(runs):
        return None
    return Sample(values, tuple(run.repeat for run in runs), tuple(map(RunSpan.from_record, runs)))


def measure(series: TimedSeries, quantity: Quantity, otherwise: Missing = NO_TIME) -> Sample | Missing:
    """Return the quantity of a series; `otherwise` where its runs do not have it, or why there are no runs."""
    runs = series.runs()
    return sample_from_runs(runs, quantity) or (otherwise if runs else Missing(series.reason()))


@dataclass(frozen=True)
class Ratio:
    """The ratio of `after` to `before`: the median over the repeats that ran back to back, so that the machine's better
    and worse moments affect both. The interval is that of this median.

    Where too few repeats ran back to back, ratio and interval are those of the two medians."""

    before: Sample
    after: Sample

    @cached_property
    def shared(self) -> list[int]:
        """The repeats that both samples have."""
        return [repeat for repeat in self.after.by_repeat if repeat in self.before.by_repeat]

    @cached_property
    def paired(self) -> list[int]:
        """The shared repeats that ran back to back: if not all, then enough for an interval, else none."""
        before, after = self.before.spans, self.after.spans
        if not before or not after:
            return self.shared
        near = [repeat for repeat in self.shared if are_back_to_back(before, after, repeat)]
        return near if len(near) in (len(self.shared), *range(MIN_REPEATS, len(self.shared))) else []

    @property
    def unpaired(self) -> bool:
        """Whether too few of the shared repeats ran back to back."""
        return bool(self.shared) and not self.paired

    @property
    def gap(self) -> Gap | None:
        """How many repeats did not run back to back, and how far apart they were made; None where all did."""
        far = [repeat for repeat in self.shared if repeat not in self.paired]
        if not far:
            return None
        return Gap(len(self.paired), len(self.shared), median_gap_s(self.before.spans, self.after.spans, far))

    @cached_property
    def quotients(self) -> tuple[float, ...]:
        """The ratio in each repeat that ran back to back."""
        before, after = self.before.by_repeat, self.after.by_repeat
        return tuple(after[repeat] / before[repeat] for repeat in self.paired)

    @property
    def value(self) -> float:
        """The median of these ratios, or the ratio of the medians where there are none."""
        return statistics.median(self.quotients or (self.after.median / self.before.median,))

    @property
    def interval(self) -> Interval | None:
        """The bootstrap interval of the value; None for fewer than three repeats."""
        if len(self.quotients) >= MIN_REPEATS:
            return bootstrap.median_interval(self.quotients)
        enough = min(len(self.before.values), len(self.after.values)) >= MIN_REPEATS
        return bootstrap.ratio_interval(self.before.values, self.after.values) if self.unpaired and enough else None

    @property
    def deviates(self) -> bool:
        """Whether the value is not what a reader gets by dividing the two medians."""
        return abs(self.value * self.before.median / self.after.median - 1) > MAX_DEVIATION
