"""A configuration beside another of the same library, as a ratio."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations

from tlsmem.config.suite_variants import split_variant
from tlsmem.schema.harness_output import PartName
from tlsmem.stats import timed_rates, timed_summary
from tlsmem.stats.missing import Missing
from tlsmem.stats.timed_selection import TimedSelection, TimedSeries, Work
from tlsmem.stats.timed_summary import Ratio, Sample
from tlsmem.tables.table import Column, Table
from tlsmem.tables.timed_cells import median_cell, ratio_cell
from tlsmem.topics.timing.captions import describe_runs, repeats_text
from tlsmem.topics.timing.published import split_stack_name
from tlsmem.topics.timing.ratios import ratio_or_missing, select_fewest_threads
from tlsmem.topics.timing.rows import PART_NAME, RATE_UNIT, STACK, work_columns

CAPTION = (
    "Builds and settings of one library that differ in one thing only. Factor: the ratio of the second's rate to the "
    "first's in the same repeat, the median over all repeats; “no change” if its 95 % bootstrap interval contains 1."
)
VARIED = ("allocator", "cpu")  # columns of what may be the one thing
SETTINGS = {"provider": "", "compiler": "gcc", "Rust's allocator": "C's", "transport": "callbacks"}
SETTINGS |= {"allocator": "system", "CPU": "all", "options": "default", "tickets": "as the suite has them"}
SETTING_OF_VARIANT = {
    "clang": "compiler",
    "gcc": "compiler",
    "jemalloc-rust": "Rust's allocator",
    "membio": "transport",
}


@dataclass(frozen=True)
class ConfigurationRow:
    first: TimedSeries
    second: TimedSeries
    setting: str  # the one that differs
    part: PartName

    @property
    def work(self) -> Work:
        return self.first.work

    @property
    def stack(self) -> str:
        return self.first.stack

    def rate(self, series: TimedSeries) -> Sample | Missing:
        return timed_summary.measure(series, timed_rates.rate(series.work.scenario, self.part))

    @property
    def ratio(self) -> Ratio | Missing:
        return ratio_or_missing(self.rate(self.first), self.rate(self.second))


def settings(series: TimedSeries) -> dict[str, str]:
    """What is declared of how the library was built and run, beside its name and version."""
    _, of_variant = split_variant(series.work.suite)
    found = SETTINGS | {"allocator": series.work.allocator, "CPU": series.work.cpu}
    found |= {name: str(value) for name, value in of_variant.items()}
    for variant in sorted(split_stack_name(series.stack)[1]):
        found[SETTING_OF_VARIANT.get(variant, "provider")] = variant
    return found


def find_pairs(timed: TimedSelection) -> Iterator[tuple[TimedSeries, TimedSeries, str]]:
    """Of one library, version and work: with the one setting that differs."""
    by_work: dict[tuple[str, str, Work], list[TimedSeries]] = {}
    for series in timed.every():
        library, _, version = split_stack_name(series.stack)
        suite, _ = split_variant(series.work.suite)
        same = replace(series.work, suite=suite, allocator="", cpu="")
        by_work.setdefault((library, version, same), []).append(series)
    for alike in by_work.values():
        for first, second in combinations(alike, 2):
            one, other = settings(first), settings(second)
            names = [name for name in one if one[name] != other[name]]
            if len(names) == 1:
                yield first, second, names[0]


COLUMNS = (
    PART_NAME,
    STACK,
    Column("setting", "setting", left=True, value=lambda row: row.setting),
    Column("first", "first", left=True, value=lambda row: settings(row.first)[row.setting]),
    Column("second", "second", left=True, value=lambda row: settings(row.second)[row.setting]),
    Column("first_rate", "first’s rate", value=lambda row: row.rate(row.first), form=median_cell),
    Column("second_rate", "second’s rate", value=lambda row: row.rate(row.second), form=median_cell),
    RATE_UNIT,
    Column("factor", "factor", value=lambda row: row.ratio, form=ratio_cell),
)


def configurations(timed: TimedSelection) -> Table:
    timed = select_fewest_threads(timed)
    work = work_columns(timed, without=VARIED)
    caption = f"{CAPTION} Medians of {repeats_text(timed)}. {describe_runs(timed)}"
    table = Table("configurations", "Configuration against configuration", caption, [*work, *COLUMNS], headed=len(work))
    for first, second, name in find_pairs(timed):
        table.add_rows(
            ConfigurationRow(first, second, name, part) for part in timed_rates.MAIN_PARTS[first.work.scenario]
        )
    return table
