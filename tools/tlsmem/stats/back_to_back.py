"""Which repeats of two series are neighbours, so that the machine did the same to both; of the others, how far apart
they were made."""

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from tlsmem.schema.records import Record

WITHIN = 30  # runs as long as the longer of the two: more of a campaign hardly lies between what it compares
RESOLUTION_S = 1.0  # of a run's start, as it is recorded
UNITS = ((86_400, "days"), (3_600, "h"), (60, "min"), (1, "s"))


@dataclass(frozen=True)
class Span:
    """When a run was made, in seconds."""

    begin_s: float
    end_s: float

    @staticmethod
    def of(record: Record) -> "Span":
        begin_s = datetime.fromisoformat(record.started_at).timestamp()
        return Span(begin_s, begin_s + record.elapsed_ns / 1e9)

    @property
    def length_s(self) -> float:
        return self.end_s - self.begin_s

    def gap_s(self, other: "Span") -> float:
        """From the end of the earlier to the start of the later."""
        return max(0.0, self.begin_s - other.end_s, other.begin_s - self.end_s)


Spans = Mapping[int, Span]  # by repeat


def are_neighbours(before: Spans, after: Spans, repeat: int) -> bool:
    """Not far apart for their own lengths, and no other repeat of either between them, as where the one stack had all
    its repeats before the other."""
    one, other = before[repeat], after[repeat]
    near = WITHIN * max(one.length_s, other.length_s, RESOLUTION_S)
    first, last = sorted((one.begin_s, other.begin_s))
    between = (span for spans in (before, after) for span in spans.values() if first < span.begin_s < last)
    return one.gap_s(other) <= near and next(between, None) is None


def apart_s(before: Spans, after: Spans, repeats: list[int]) -> float:
    """Of these repeats, in the middle."""
    return statistics.median(before[repeat].gap_s(after[repeat]) for repeat in repeats)


def duration(seconds: float) -> str:
    """In the largest unit of which there are two."""
    size, unit = next(((size, unit) for size, unit in UNITS if seconds >= 2 * size), UNITS[-1])
    return f"{round(seconds / size)} {unit}"
