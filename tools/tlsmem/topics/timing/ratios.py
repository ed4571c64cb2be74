"""Stacks side by side: each against the first, as a ratio."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from tlsmem.schema.harness_output import PartName
from tlsmem.stats import timed_rates, timed_summary
from tlsmem.stats.missing import Missing, map_present
from tlsmem.stats.timed_selection import TimedSelection, TimedSeries, Work
from tlsmem.stats.timed_summary import Ratio, Sample
from tlsmem.tables.table import Cell, Column, Table
from tlsmem.tables.timed_cells import median_cell, ratio_cell
from tlsmem.topics.timing.captions import describe_conditions, join_sentences, repeats_text
from tlsmem.topics.timing.published import Published, nearest_published
from tlsmem.topics.timing.rows import PART_NAME, RATE_UNIT, work_columns

MAX_STACKS = 6  # stacks that may stand side by side
CAPTION = (
    "Medians. Factor: the ratio of a stack's rate to the first stack's in the same repeat, the median over all "
    "repeats; “no change” if its 95 % bootstrap interval contains 1. Published: the same ratio from rates published "
    "for these versions, on another machine."
)
OTHER_VERSIONS = Missing("no publication has both versions")


class PublishedRatio(NamedTuple):
    first: Published
    other: Published


@dataclass(frozen=True)
class WorkRow:
    """A part of a work, with all stacks."""

    timed: TimedSelection
    work: Work
    part: PartName

    def series(self, stack: str) -> TimedSeries:
        return self.timed.series(stack, self.work)

    def rate(self, stack: str) -> Sample | Missing:
        return timed_summary.measure(self.series(stack), timed_rates.rate(self.work.scenario, self.part))

    def ratio(self, stack: str) -> Ratio | Missing:
        """Of this stack's rate to the first one's."""
        return ratio_or_missing(self.rate(self.timed.stacks[0]), self.rate(stack))

    def published_ratio(self, stack: str) -> PublishedRatio | Missing:
        """Of rates of the same day and machine, of the very versions."""
        first, other = (nearest_published(self.series(one), self.part) for one in (self.timed.stacks[0], stack))
        return map_present(compare_published, first, other)


def compare_published(first: Published, other: Published) -> PublishedRatio | Missing:
    same = (first.rate.date, first.rate.cpu) == (other.rate.date, other.rate.cpu)
    return PublishedRatio(first, other) if same and first.is_exact and other.is_exact else OTHER_VERSIONS


def ratio_or_missing(before: Sample | Missing, after: Sample | Missing) -> Ratio | Missing:
    return map_present(lambda after, before: Ratio(before, after), after, before)


def published_ratio_cell(ratio: PublishedRatio) -> Cell:
    """With the remarks on both, and then those on one of them. In brackets where one is not what it says."""
    value = ratio.other.rate.rate / ratio.first.rate.rate
    of_first, of_other = ratio.first.remarks, ratio.other.remarks
    notes = [remark for remark in of_first if remark in of_other]
    for published in ratio:
        own = (remark for remark in published.remarks if remark not in notes)
        notes += [f"{published.rate.library}: {remark}" for remark in own]
    text = f"[{value:.2f}]" if any(one.rate.invalid for one in ratio) else f"{value:.2f}"
    return Cell(text, round(value, 4), "; ".join(notes))


def stack_columns(stack: str, is_first: bool) -> Iterator[Column]:
    yield Column(stack, stack, value=lambda row: row.rate(stack), form=median_cell)
    if not is_first:
        yield Column(f"factor_{stack}", "factor", value=lambda row: row.ratio(stack), form=ratio_cell)
        published = f"published_{stack}"
        yield Column(published, "published", value=lambda row: row.published_ratio(stack), form=published_ratio_cell)


def select_fewest_threads(timed: TimedSelection) -> TimedSelection:
    """Each scenario at its fewest threads."""
    works = {work for scenario in timed_rates.MAIN_PARTS for work in timed.select_scenario(scenario).works}
    return timed.where(works.__contains__)


def fits(timed: TimedSelection) -> bool:
    """Return whether the stacks fit side by side."""
    return len(timed.stacks) <= MAX_STACKS


def ratio_table(timed: TimedSelection) -> Table:
    """Raises ValueError when that many stacks do not fit."""
    timed = select_fewest_threads(timed)
    if not fits(timed):
        raise ValueError(
            f"table factor: {len(timed.stacks)} stacks are too many side by side; name {MAX_STACKS} at most"
        )
    work = work_columns(timed)
    stacks = [column for at, stack in enumerate(timed.stacks) for column in stack_columns(stack, at == 0)]
    caption = join_sentences(CAPTION, f"Of {repeats_text(timed)}.", describe_conditions(timed))
    table = Table("factor", "Side by side", caption, [*work, PART_NAME, RATE_UNIT, *stacks], headed=len(work))
    several = (one for one in timed.works if len(timed.series_of_work(one)) > 1)
    table.add_rows(WorkRow(timed, one, part) for one in several for part in timed_rates.MAIN_PARTS[one.scenario])
    return table
