"""Stacks side by side, and a configuration beside another of the same library: each against the first, as a factor."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

from tlsmem.stats.timed_selection import TimedSelection, TimedSeries, Work
from tlsmem.tables.table import Cell, Column, Table, missing_cell, text_cell
from tlsmem.tables.timed import cells as timed_cells
from tlsmem.tables.timed import published, shared_columns
from tlsmem.tables.timed.cells import sample_or_missing
from tlsmem.tables.timed.latency import PARTS_BY_SCENARIO
from tlsmem.tables.timed.published import split_stack_name
from tlsmem.tables.timed.threads import UNITS, rate_quantity

MAX_STACKS = 6  # stacks that may stand side by side
CAPTION = (
    "Medians; the factor is how many times as fast as the first a stack is in the same repeat, the median of all, “no "
    "change” where the 95 % interval of that, by bootstrap, holds 1. Published: the same of what was published of "
    "these versions, of another machine."
)
PART_NAMES = {"send": "sending", "receive": "receiving", "client": "client", "server": "server"}
CONFIGURATIONS = (
    "Builds and settings of one library that differ in one thing only: the factor is how many times as fast as the "
    "first the second is in the same repeat, the median of all, “no change” where its 95 % interval, by bootstrap, "
    "holds 1."
)
VARIED = ("allocator", "cpu")  # what may be the one thing
COMPILERS, RUSTS_ALLOCATORS, TRANSPORTS = ("clang", "gcc"), ("jemalloc-rust",), ("membio",)
SETTINGS = {"provider": "", "compiler": "gcc", "Rust's allocator": "C's", "transport": "callbacks"}
SETTINGS |= {"allocator": "system", "CPU": "all"}


def published_factor(first: TimedSeries, other: TimedSeries, part: str) -> Cell:
    """Of figures of the same day and machine, of the very versions; the notes of both."""
    cells = [published.nearest_published_cell(one.stack, one.work.suite, part, one.cpu) for one in (first, other)]
    for cell in cells:
        if cell.value is None:
            return cell
    exact = all(
        cell.value["version"] == split_stack_name(one.stack)[2] for cell, one in zip(cells, (first, other), strict=True)
    )
    same = len({(cell.value["date"], cell.value["machine"]) for cell in cells}) == 1
    if not (exact and same):
        return missing_cell("not published of both versions at once")
    value = cells[1].value["rate"] / cells[0].value["rate"]
    one, two = ((cell.note or "").split("; ") for cell in cells)
    notes = [note for note in one if note in two]
    for series, own in ((first, one), (other, two)):
        notes += [
            f"of {split_stack_name(series.stack)[0]}: {note}" for note in own if note not in one or note not in two
        ]
    shown = f"[{value:.2f}]" if any(cell.text.startswith("[") for cell in cells) else f"{value:.2f}"
    return Cell(shown, round(value, 4), "; ".join(notes))


def row(timed: TimedSelection, work: Work, part: str) -> list[Cell]:
    first, *others = (timed.series(stack, work) for stack in timed.stacks)
    base = sample_or_missing(first, rate_quantity(work, part))
    cells = [timed_cells.median_cell(base)]
    for other in others:
        found = sample_or_missing(other, rate_quantity(work, part))
        cells += [
            timed_cells.median_cell(found),
            timed_cells.speedup_cell(base, found),
            published_factor(first, other, part),
        ]
    return cells


def at_fewest(timed: TimedSelection) -> TimedSelection:
    """Each scenario at its fewest threads."""
    works = {work for scenario in PARTS_BY_SCENARIO for work in timed.select_scenario(scenario).works}
    return timed.where(works.__contains__)


def ratio_table(timed: TimedSelection) -> Table:
    """ValueError when that many stacks do not fit."""
    timed = at_fewest(timed)
    if len(timed.stacks) > MAX_STACKS:
        raise ValueError(
            f"table factor: {len(timed.stacks)} stacks are too many side by side; name {MAX_STACKS} at most"
        )
    columns = [
        *shared_columns.work_columns(timed),
        Column("part", "part", left=True),
        Column("unit", "unit", left=True),
    ]
    for at, stack in enumerate(timed.stacks):
        columns += [Column(stack, stack)]
        columns += [Column(f"factor_{stack}", "factor"), Column(f"published_{stack}", "published")] if at else []
    caption = " ".join(
        filter(None, [CAPTION, f"Of {shared_columns.repeats_text(timed)}.", shared_columns.describe_conditions(timed)])
    )
    made = Table("factor", "Side by side", caption, columns, headed=len(shared_columns.work_columns(timed)))
    for work in (one for one in timed.works if len(timed.series_of_work(one)) > 1):
        for part in PARTS_BY_SCENARIO[work.scenario]:
            names = [
                *shared_columns.work_cells(timed, work),
                text_cell(PART_NAMES[part]),
                text_cell(UNITS[work.scenario]),
            ]
            made.rows.append([*names, *row(timed, work, part)])
    return made


def settings(series: TimedSeries) -> dict[str, str]:
    """What is declared of how the library was built and run, beside its name and version."""
    found = SETTINGS | {"allocator": series.work.allocator, "CPU": series.work.cpu}
    for variant in sorted(split_stack_name(series.stack)[1]):
        found[kind(variant)] = variant
    return found


def kind(variant: str) -> str:
    if variant in COMPILERS:
        return "compiler"
    if variant in RUSTS_ALLOCATORS:
        return "Rust's allocator"
    return "transport" if variant in TRANSPORTS else "provider"


def differing(first: TimedSeries, second: TimedSeries) -> list[str]:
    one, other = settings(first), settings(second)
    return [name for name in one if one[name] != other[name]]


def pairs(timed: TimedSelection) -> Iterator[tuple[TimedSeries, TimedSeries, str]]:
    """Of one library, version and work: with the one setting that differs."""
    by_work: dict[tuple[str, str, Work], list[TimedSeries]] = {}
    for series in timed.every():
        library, _, version = split_stack_name(series.stack)
        same = replace(series.work, allocator="", cpu="")
        by_work.setdefault((library, version, same), []).append(series)
    for alike in by_work.values():
        for first, second in combinations(alike, 2):
            if len(names := differing(first, second)) == 1:
                yield first, second, names[0]


def configurations(timed: TimedSelection) -> Table:
    timed = at_fewest(timed)
    columns = shared_columns.work_columns(timed, VARIED)
    headed = len(columns)
    keys = {"part": "part", "stack": "stack", "setting": "setting", "first": "first", "second": "second"}
    columns += [Column(key, heading, left=True) for key, heading in keys.items()]
    columns += [Column("first_rate", "first’s rate"), Column("second_rate", "second’s rate")]
    columns += [Column("unit", "unit", left=True), Column("factor", "factor")]
    caption = f"{CONFIGURATIONS} Medians of {shared_columns.repeats_text(timed)}. {shared_columns.describe_runs(timed)}"
    made = Table("configurations", "Configuration against configuration", caption, columns, headed=headed)
    for first, second, name in pairs(timed):
        for part in PARTS_BY_SCENARIO[first.work.scenario]:
            found = [sample_or_missing(one, rate_quantity(one.work, part)) for one in (first, second)]
            head = [
                *shared_columns.work_cells(timed, first.work, VARIED),
                text_cell(PART_NAMES[part]),
                text_cell(first.stack),
                text_cell(name),
            ]
            rates = [*map(timed_cells.median_cell, found), text_cell(UNITS[first.work.scenario])]
            values = [text_cell(settings(one)[name]) for one in (first, second)]
            made.rows.append([*head, *values, *rates, timed_cells.speedup_cell(*found)])
    return made
