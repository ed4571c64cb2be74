"""Columns as a summary has them: each number as what it differs by from what is expected of it, which packs a third
smaller.

What is expected comes from other columns of the row (SOURCES), then from the row before it of the same process
(STEADY); what is left is divided by what divides all of it, since memory comes in pages. A text of numbers, as the
statistics of an allocator, is the number of its form, and its numbers in the same way. Every function that packs stands
before the one that unpacks."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tlsmem.store import tables

Column = Any  # as columns.py has it in a file
Table = dict[str, Column]  # by name
Before = Sequence[int | None]  # for each row of phases the one before it of the same process

OWNERS = tables.OWNERS[:-1]  # without the total of all
UNITS = ("bytes", "blocks")
SOURCES: Mapping[str, Sequence[str]] = {  # columns that are nearly the sum of others, which stand before them
    "rss_bytes": ("rss_anon_bytes", "rss_file_bytes", "rss_shmem_bytes"),
    "rollup_rss_bytes": ("rss_bytes",),
    "rollup_anon_bytes": ("rss_anon_bytes",),
    "peak_rss_bytes": ("rss_bytes",),
    "minor_faults": ("rss_anon_bytes",),  # one a page
    "phase_minor_faults": ("minor_faults",),  # since the row before
    **{f"{owner}_peak_{unit}": (f"{owner}_live_{unit}",) for owner in OWNERS for unit in UNITS},
    **{f"total_{count}": [f"{owner}_{count}" for owner in OWNERS] for count in tables.COUNTS},
}
STEADY = {  # columns that change little from a row of a process to its next
    *("rss_anon_bytes", "rss_file_bytes", "rss_shmem_bytes", "minor_faults", "vm_data_bytes"),
    *("client_sent_bytes", "server_sent_bytes"),
    *(f"{owner}_{kind}_{unit}" for owner in OWNERS for kind in ("live", "cumulative") for unit in UNITS),
}
PAGE_BYTES = 4096
NUMBER = re.compile("0|[1-9][0-9]*")  # as its digits say it: 05 is two
Form = tuple[Sequence[str], int, Sequence[Column]]  # what stands between numbers, how many texts, and their numbers


def find_rows_before(processes: Iterable[str], counts: Iterable[int]) -> list[int | None]:
    """Return for each row the one before it of the same process: in its run, or else the first in an earlier run.

    `processes`: of each row. `counts`: how many rows each run has."""
    found: list[int | None] = []
    starts: dict[str, int] = {}
    rows = enumerate(processes)
    for count in counts:
        latest, own = dict(starts), dict[str, int]()
        for _ in range(count):
            row, process = next(rows)
            found.append(latest.get(process))
            latest[process] = row
            own.setdefault(process, row)
        starts |= own
    return found


def pack_numbers(table: Table, names: Iterable[str], before: Before) -> Table:
    """Return these columns of integers as what they differ by from what is expected."""
    packed = {}
    for name in names:
        column = table[name]
        if isinstance(column, list):
            column = combine(column, expect(table, name, before), -1)
            column = divide(combine(column, pick(column, before), -1) if name in STEADY else column)
        packed[name] = column
    return packed


def unpack_numbers(table: Table, names: Iterable[str], before: Before) -> None:
    """Put back what `pack_numbers` was called with."""
    names = set(names)
    for name in [*sorted(names - {*SOURCES}), *(name for name in SOURCES if name in names)]:
        column = multiply(table[name])
        if isinstance(column, list):
            if name in STEADY:
                column = add_before(column, before)
            column = combine(column, expect(table, name, before), 1)
        table[name] = column


def expect(table: Table, name: str, before: Before) -> Sequence[int | None]:
    """Return what other columns let expect of a column, a number a row; nothing where one of them has no value."""
    columns = [table[source] for source in SOURCES.get(name, ())]
    if not columns or any(isinstance(column, int) for column in columns):
        return ()
    if name == "minor_faults":
        return [value and value // PAGE_BYTES for value in columns[0]]
    if name == "phase_minor_faults":
        return combine(columns[0], pick(columns[0], before), -1)
    return columns[0] if len(columns) == 1 else [sum(filter(None, some)) for some in zip(*columns, strict=True)]


def pick(column: Sequence[int | None], before: Before) -> list[int | None]:
    """Return for each row the value of the row before."""
    return [None if row is None else column[row] for row in before]


def combine(column: Sequence[int | None], other: Sequence[int | None], sign: int) -> list[int | None]:
    """Return the values with what the other has for each of them, if anything, added or taken off."""
    if not other:
        return [*column]
    return [
        value if value is None or more is None else value + sign * more
        for value, more in zip(column, other, strict=True)
    ]


def add_before(column: Sequence[int | None], before: Before) -> list[int | None]:
    """Return the values of which the column has the difference from the row before."""
    made: list[int | None] = []
    for value, row in zip(column, before, strict=True):
        since = None if row is None else made[row]
        made.append(value if value is None or since is None else value + since)
    return made


def divide(column: Sequence[int | None]) -> Column:
    """Return the column, as multiples of what divides all of it, where something does."""
    by = math.gcd(*filter(None, column))
    return [*column] if by < 2 else {"by": by, "rows": [value and value // by for value in column]}


def multiply(column: Column) -> Column:
    """Return what `divide` was called with."""
    return [value and value * column["by"] for value in column["rows"]] if isinstance(column, dict) else column


def count_back(column: Column) -> Column:
    """Return a column of texts with each row's number of its value counted back from the next new one: 0 is new."""
    if isinstance(column, int):
        return column
    rows, new = [], 0
    for row in column["rows"]:
        rows.append(new - row)
        new = max(new, row + 1)
    return {**column, "rows": rows}


def count_forth(column: Column) -> Column:
    """Return what `count_back` was called with."""
    if isinstance(column, int):
        return column
    rows, new = [], 0
    for back in column["rows"]:
        rows.append(new - back)
        new = max(new, rows[-1] + 1)
    return {**column, "rows": rows}


def split_numbers(columns: Sequence[Column], befores: Sequence[Before]) -> list[Any]:
    """Return columns of texts, one for each file, with each text as the number of its form: what stands between its
    numbers. Then the forms, each with its numbers in columns over all files: what they differ by from those in the row
    before, where that has the same form."""
    forms: dict[tuple[str, ...], tuple[int, list[list[int]]]] = {}
    made = []
    for column, before in zip(columns, befores, strict=True):
        values: list[tuple[int, list[int]] | None] = []
        for text, last in find_values_before(column, before):
            if text is None:
                values.append(None)
                continue
            form, numbers = tuple(NUMBER.split(text)), [int(one) for one in NUMBER.findall(text)]
            place, rows = forms.setdefault(form, (len(forms), []))
            rows.append(differ(numbers, place, None if last is None else values[last], -1))
            values.append((place, numbers))
        made.append(replace_values(column, [value and value[0] for value in values]))
    packed = [(form, len(rows), [*map(divide, zip(*rows, strict=True))]) for form, (_, rows) in forms.items()]
    return [made, packed]


def join_numbers(columns: Sequence[Column], forms: Sequence[Form], befores: Sequence[Before]) -> list[Column]:
    """Return the columns that `split_numbers` was called with."""
    rows = [iter_rows(count, numbers) for _, count, numbers in forms]
    made = []
    for column, before in zip(columns, befores, strict=True):
        values: list[tuple[int, list[int]] | None] = []
        texts: list[str | None] = []
        for place, last in find_values_before(column, before):
            if place is None:
                values.append(None)
                texts.append(None)
                continue
            numbers = differ(next(rows[place]), place, None if last is None else values[last], 1)
            first, *others = forms[place][0]
            values.append((place, numbers))
            texts.append(first + "".join(f"{one}{after}" for one, after in zip(numbers, others, strict=True)))
        made.append(replace_values(column, texts))
    return made


def iter_rows(count: int, numbers: Sequence[Column]) -> Iterator[Sequence[int]]:
    """Yield the numbers of each text of a form."""
    return iter(zip(*map(multiply, numbers), strict=True)) if numbers else iter([()] * count)


def differ(numbers: Sequence[int], place: int, last: tuple[int, list[int]] | None, sign: int) -> list[int]:
    """Return the numbers of a text with those of the one before, if it has the same form, added or taken off."""
    if last is None or last[0] != place:
        return [*numbers]
    return [one + sign * other for one, other in zip(numbers, last[1], strict=True)]


def find_values_before(column: Column, before: Before) -> Iterator[tuple[Any, int | None]]:
    """Yield each of a column's values, with the number of the value in the row before the first row that has it."""
    if isinstance(column, int):
        return
    new, rows = 0, column["rows"]
    for row, number in zip(before, rows, strict=True):
        if number == new:
            yield column["values"][new], None if row is None else rows[row]
            new += 1


def replace_values(column: Column, values: Sequence[Any]) -> Column:
    """Return a column of texts with other values."""
    return column if isinstance(column, int) else {**column, "values": [*values]}
