"""Summaries of timed repeats: medians with intervals, and ratios of runs that were made back to back."""

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from tlsmem.schema.records import Record
from tlsmem.stats import bootstrap
from tlsmem.stats.bootstrap import Interval
from tlsmem.stats.session_cost import relative_range
from tlsmem.stats.timed_rates import Quantity

WITHIN = 30  # runs as long as the longer of the two: more of a campaign hardly lies between what it compares
RESOLUTION_S = 1.0  # of a run's start, as it is recorded
UNITS = ((86_400, "days"), (3_600, "h"), (60, "min"), (1, "s"))


@dataclass(frozen=True)
class RunSpan:
    """When a run was made, in seconds."""

    begin_s: float
    end_s: float

    @staticmethod
    def from_record(record: Record) -> "RunSpan":
        begin_s = datetime.fromisoformat(record.started_at).timestamp()
        return RunSpan(begin_s, begin_s + record.elapsed_ns / 1e9)

    @property
    def length_s(self) -> float:
        return self.end_s - self.begin_s

    def gap_s(self, other: "RunSpan") -> float:
        """From the end of the earlier to the start of the later."""
        return max(0.0, self.begin_s - other.end_s, other.begin_s - self.end_s)


Spans = Mapping[int, RunSpan]  # by repeat


def are_back_to_back(before: Spans, after: Spans, repeat: int) -> bool:
    """Not far apart for their own lengths, and no other repeat of either between them, as where the one stack had all
    its repeats before the other."""
    one, other = before[repeat], after[repeat]
    near = WITHIN * max(one.length_s, other.length_s, RESOLUTION_S)
    first, last = sorted((one.begin_s, other.begin_s))
    between = (span for spans in (before, after) for span in spans.values() if first < span.begin_s < last)
    return one.gap_s(other) <= near and next(between, None) is None


def median_gap_s(before: Spans, after: Spans, repeats: list[int]) -> float:
    """Of these repeats, in the middle."""
    return statistics.median(before[repeat].gap_s(after[repeat]) for repeat in repeats)


def format_duration(seconds: float) -> str:
    """In the largest unit of which there are two."""
    size, unit = next(((size, unit) for size, unit in UNITS if seconds >= 2 * size), UNITS[-1])
    return f"{round(seconds / size)} {unit}"


MIN_REPEATS = 3  # repeats that an interval needs
FEW_REPEATS_NOTE = f"fewer than {MIN_REPEATS} repeats: no interval"
APART = "not made side by side, but {} apart: the quotient of the medians; the machine may have changed meanwhile"
SOME_APART = "of {} of {} repeats: the others’ runs were made {} apart"
OFF = 0.05  # of the quotient of the medians
OFF_NOTE = f"more than {OFF:.0%} off the quotient of the medians, which are of different repeats".replace("%", " %")


@dataclass(frozen=True)
class Sample:
    """The values of one quantity, a repeat each; at least one. Without their numbers they are numbered, and where it is
    not known when they were made, those of one repeat are taken for neighbours."""

    values: tuple[float, ...]
    repeats: tuple[int, ...] = ()
    made: tuple[RunSpan, ...] = ()

    @property
    def by_repeat(self) -> dict[int, float]:
        return dict(zip(self.repeats or range(len(self.values)), self.values, strict=True))

    @property
    def spans(self) -> dict[int, RunSpan]:
        return dict(zip(self.by_repeat, self.made, strict=True)) if self.made else {}

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def interval(self) -> Interval | None:
        """Of the median, by bootstrap; none of fewer than three repeats."""
        return bootstrap.median_interval(self.values) if len(self.values) >= MIN_REPEATS else None

    @property
    def spread(self) -> float | None:
        """How far the repeats lie apart: largest less smallest, by the median."""
        return relative_range(self.values)


def sample_from_runs(runs: Iterable[Record], quantity: Quantity) -> Sample | None:
    """None where a run does not have it."""
    runs = list(runs)
    values = tuple(quantity(run) for run in runs)
    if not values or None in values:
        return None
    return Sample(values, tuple(run.repeat for run in runs), tuple(map(RunSpan.from_record, runs)))


@dataclass(frozen=True)
class Ratio:
    """How many times the first another is: the median of what it was in each repeat whose runs were neighbours, so that
    the machine's own better and worse moments are in both. Its interval, of repeats enough, is of this median. Where
    too few were neighbours both are of the quotient of the medians."""

    before: Sample
    after: Sample

    @cached_property
    def shared(self) -> list[int]:
        """Repeats of both."""
        return [repeat for repeat in self.after.by_repeat if repeat in self.before.by_repeat]

    @cached_property
    def paired(self) -> list[int]:
        """Those that were neighbours: all that are, or enough for an interval; else none."""
        before, after = self.before.spans, self.after.spans
        if not before or not after:
            return self.shared
        near = [repeat for repeat in self.shared if are_back_to_back(before, after, repeat)]
        return near if len(near) in (len(self.shared), *range(MIN_REPEATS, len(self.shared))) else []

    @property
    def unpaired(self) -> bool:
        return bool(self.shared) and not self.paired

    @property
    def note(self) -> str | None:
        """Which repeats it is not of, and how far apart these were made."""
        far = [repeat for repeat in self.shared if repeat not in self.paired]
        if not far:
            return None
        apart = format_duration(median_gap_s(self.before.spans, self.after.spans, far))
        return SOME_APART.format(len(self.paired), len(self.shared), apart) if self.paired else APART.format(apart)

    @cached_property
    def quotients(self) -> tuple[float, ...]:
        before, after = self.before.by_repeat, self.after.by_repeat
        return tuple(after[repeat] / before[repeat] for repeat in self.paired)

    @property
    def value(self) -> float:
        return statistics.median(self.quotients or (self.after.median / self.before.median,))

    @property
    def interval(self) -> Interval | None:
        if len(self.quotients) >= MIN_REPEATS:
            return bootstrap.median_interval(self.quotients)
        enough = min(len(self.before.values), len(self.after.values)) >= MIN_REPEATS
        return bootstrap.ratio_interval(self.before.values, self.after.values) if self.unpaired and enough else None

    @property
    def off(self) -> str | None:
        """Why it is not what a reader finds by dividing the two medians."""
        return OFF_NOTE if abs(self.value * self.before.median / self.after.median - 1) > OFF else None
