"""Rows of timed tables, and the columns that tell them apart."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tlsmem.schema.harness_output import PartName
from tlsmem.stats import timed_rates, timed_summary
from tlsmem.stats.missing import Missing
from tlsmem.stats.session_cost import KIB, MIB
from tlsmem.stats.timed_rates import Quantity
from tlsmem.stats.timed_selection import TimedSelection, TimedSeries, Work
from tlsmem.stats.timed_summary import NO_TIME, Sample
from tlsmem.tables.table import Cell, Column

RATE_UNITS = {"throughput": "MiB/s", "handshake": "handshakes/s"}
PART_NAMES = {"send": "sending", "receive": "receiving", "client": "client", "server": "server"}


@dataclass(frozen=True)
class SeriesRow:
    """The repeats of one stack at one work."""

    series: TimedSeries

    @property
    def work(self) -> Work:
        return self.series.work

    @property
    def stack(self) -> str:
        return self.series.stack

    def measure(self, quantity: Quantity, otherwise: Missing = NO_TIME) -> Sample | Missing:
        return timed_summary.measure(self.series, quantity, otherwise)


@dataclass(frozen=True)
class PartRow(SeriesRow):
    """One part of these runs."""

    part: PartName

    @property
    def rate(self) -> Sample | Missing:
        return self.measure(timed_rates.rate(self.work.scenario, self.part))


def part_rows(timed: TimedSelection, kind: type[PartRow] = PartRow) -> Iterator[PartRow]:
    """A row for each work, part and stack: those that are compared stand below each other."""
    for work in timed.works:
        for part in timed_rates.MAIN_PARTS[work.scenario]:
            for series in timed.series_of_work(work):
                yield kind(series, part)


def size_text(size: int) -> str:
    for unit, name in ((MIB, "MiB"), (KIB, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit:,} {name}"
    return f"{size:,} B"


def size_cell(size: int | None) -> Cell:
    """Handshakes have no size."""
    return Cell(size_text(size) if size else "", size)


def count_cell(count: int) -> Cell:
    return Cell(str(count), count)


SUITE = Column("suite", "suite", left=True, value=lambda row: row.work.suite)
VARYING = (
    Column("size_bytes", "writes of", left=True, value=lambda row: row.work.size_bytes, form=size_cell),
    Column("threads", "threads", left=True, value=lambda row: row.work.threads, form=count_cell),
    Column("allocator", "allocator", left=True, value=lambda row: row.work.allocator),
    Column("cpu", "CPU", left=True, value=lambda row: row.work.cpu),
)
SCENARIO = Column("scenario", "scenario", left=True, value=lambda row: row.work.scenario)
PART = Column("part", "part", left=True, value=lambda row: row.part)
PART_NAME = Column("part", "part", left=True, value=lambda row: PART_NAMES[row.part])
STACK = Column("stack", "stack", left=True, value=lambda row: row.stack)
RATE_UNIT = Column("unit", "unit", left=True, value=lambda row: RATE_UNITS[row.work.scenario])


def varying_columns(works: Iterable[Work]) -> list[Column]:
    """What works differ in, besides the suite. Handshakes have no size, and need none to be told apart."""
    works = list(works)
    values = ((column, {value for work in works if (value := getattr(work, column.key))}) for column in VARYING)
    return [column for column, found in values if len(found) > 1]


def work_columns(timed: TimedSelection, without: Sequence[str] = ()) -> list[Column]:
    """The suite always, the others where there are several, but those that the table shows itself."""
    return [SUITE, *(column for column in varying_columns(timed.works) if column.key not in without)]
