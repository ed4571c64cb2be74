"""Tables as the page takes them: their heads as HTML, and their rows, notes and CSV packed, for the browser to draw;
and which rows stand there at first: one for each stack, all in the setting in which most were measured."""

import csv
import io
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from tlsmem.cost.find_costs import SUITE
from tlsmem.report.differing_settings import MARK_COLUMN
from tlsmem.report.packed_json import pack_json
from tlsmem.report.sections import ShownTable, identifier
from tlsmem.tables import render
from tlsmem.tables.render import drop_silent_columns
from tlsmem.tables.table import Cell, Heading, Table

ASPECTS = (  # columns that tell rows of one stack apart, the most important first
    *("suite", "role", "part", "roles", "process", "allocator", "books", "window", "env", "cpu", "threads", "setting"),
    *("recording", "status"),
)
PREFERRED = {"suite": SUITE, "role": "server", "part": "server", "process": "server"}
NEARLY = 0.75  # of the most stacks: then the preferred value is taken
OTHERS = 0.2  # of a column: the texts that are not of values of CSV
SAMPLE = 40  # rows of a column that are tried first
NUMBER, MISSING = re.compile(r"-?\d{1,15}(\.\d+)?"), "–"
LONG = 44  # characters of a cell: broken into lines
HEADS = ("stack", "setting", "recording")  # the first of these that a table has is the head of its rows


class HtmlTable(NamedTuple):
    """A table as the template takes it; of its columns only those that people are shown."""

    name: str
    title: str
    caption: str
    label: str
    command: str
    columns: tuple[Heading, ...]
    head: int  # the column that names the row
    marks: int | None  # the column whose parts are marked
    long: tuple[int, ...]  # columns with texts of several lines
    without: tuple[str, ...]
    packed: str  # rows, notes and CSV: pack_rows


class TableCard(NamedTuple):
    """Tables of which one is seen at a time."""

    name: str
    title: str
    tables: tuple[HtmlTable, ...]


def cards(several: Iterable[ShownTable]) -> list[TableCard]:
    """Return the cards: tables of one group are in one."""
    groups: dict[str, list[ShownTable]] = {}
    for shown in several:
        groups.setdefault(shown.group or shown.table.name, []).append(shown)
    return [TableCard(identifier(name), title(some), tuple(map(html_table, some))) for name, some in groups.items()]


def title(some: list[ShownTable]) -> str:
    """Return a table's title; of several what their titles begin with, up to the colon."""
    first = some[0].table.title
    return first if len(some) == 1 else first.partition(":")[0]


def html_table(shown: ShownTable) -> HtmlTable:
    table = drop_silent_columns(shown.table)
    keys = [column.key for column in table.columns]
    head = next((keys.index(key) for key in HEADS if key in keys), 0)
    marks = keys.index(MARK_COLUMN.key) if MARK_COLUMN.key in keys else None
    long = tuple(at for at in range(len(keys)) if any(len(row[at].text) > LONG for row in table.rows))
    return HtmlTable(
        identifier(f"table-{table.name}"),
        table.title,
        table.caption,
        shown.label or table.title,
        shown.command,
        tuple(table.columns),
        head,
        marks,
        long,
        tuple(table.without),
        pack_rows(shown.table, table),
    )


def pack_rows(whole: Table, seen: Table) -> str:
    """Pack a table by columns, which packs smaller than by rows: what is seen of it, and its CSV, which has them all.

    A column of CSV has a `name` and its `values`, or the number of the column that is seen with the same. One that is
    seen has `texts`, or the numbers of one or two columns of CSV that its texts are `of`, and the texts by row that are
    others; see `text_of_values`. Where a cell has a note, `notes` has the note's number by row, or 0."""
    numbers = seen.notes()
    texts = [[row[at].text for row in seen.rows] for at in range(len(seen.columns))]
    places = {tuple(column): at for at, column in enumerate(texts)}
    names, *lines = csv.reader(io.StringIO(render.comma_separated(whole)))
    values = [list(column) for column in zip(*lines, strict=True)] or [[] for _ in names]
    written = [
        {"name": name, "values": places.get(tuple(column), column)} for name, column in zip(names, values, strict=True)
    ]
    own = {at: one["values"] for at, one in enumerate(written) if isinstance(one["values"], list)}
    columns = [
        pack_texts(column, own, any(one["values"] == at for one in written))
        | pack_notes([numbers.get(row[at].note or "", 0) for row in seen.rows])
        for at, column in enumerate(texts)
    ]
    packed = {"columns": columns, "csv": written, "notes": [*numbers], "first": default_rows(whole)}
    return pack_json(packed)


def pack_notes(notes: Sequence[int]) -> dict[str, Sequence[int]]:
    return {"notes": notes} if any(notes) else {}


def pack_texts(texts: Sequence[str], values: Mapping[int, Sequence[str]], is_read: bool) -> dict[str, object]:
    """Return the texts of a column, or the columns of CSV that most of them are of, with the others by row. `is_read`:
    a column of CSV is read from these texts."""
    places = [] if is_read else [(at,) for at in values] + [(at, at + 2) for at in values if at + 2 in values]
    some = range(0, len(texts), 1 + len(texts) // SAMPLE)
    for place in places:
        if sum(text_of_values([values[at][row] for at in place]) != texts[row] for row in some) > OTHERS * len(some):
            continue
        made = map(text_of_values, zip(*(values[at] for at in place), strict=True))
        others = {row: text for row, (text, one) in enumerate(zip(texts, made, strict=True)) if text != one}
        if len(others) <= OTHERS * len(texts):
            return {"of": place, "others": others}
    return {"texts": texts}


def text_of_values(values: Sequence[str]) -> str | None:
    """Return the text of a number of bytes as CSV has it, and of blocks where there are two: `11,703 (215)`; None of
    what is no number. tables.js does the same."""
    if not all(map(NUMBER.fullmatch, values)):
        return None if any(values) else MISSING
    first, *more = (f"{math.floor(float(value) + 0.5):,}" for value in values)
    return f"{first} ({more[0]})" if more else first


def column_style(table: HtmlTable) -> str:
    """Return the style of its columns of words, said once and not at every cell; long texts are broken into lines."""
    rules = {
        "text-align:left": [at for at, column in enumerate(table.columns) if column.left],
        "white-space:normal;min-width:34ch": table.long,
        "white-space:normal;overflow-wrap:anywhere": [at for at in table.long if at == table.head],
    }
    return "".join(
        f"{','.join(f'#{table.name} tbody :nth-child({at + 1})' for at in places)}{{{rule}}}\n"
        for rule, places in rules.items()
        if places
    )


def default_rows(table: Table) -> list[int] | None:
    """Return the places of the rows, in their order; None where the table has one row a stack already, or no stacks."""
    keys = [column.key for column in table.columns]
    if "stack" not in keys or len({row[keys.index("stack")].text for row in table.rows}) in (0, len(table.rows)):
        return None
    stack, aspects = keys.index("stack"), [(key, keys.index(key)) for key in ASPECTS if key in keys]
    usual = usual_setting(table, stack, aspects)
    best: dict[str, int] = {}
    for at, row in enumerate(table.rows):
        name = row[stack].text
        if name not in best or agreement(row, usual) > agreement(table.rows[best[name]], usual):
            best[name] = at
    return sorted(best.values())


def usual_setting(table: Table, stack: int, aspects: Sequence[tuple[str, int]]) -> dict[int, str]:
    """Return the text of each aspect's column: the preferred one, or that of the most stacks, aspect by aspect."""
    left = [row for row in table.rows if is_measured(row, table)] or table.rows
    usual = {}
    for key, at in aspects:
        stacks: dict[str, set[str]] = {}
        for row in left:
            stacks.setdefault(row[at].text, set()).add(row[stack].text)
        most = max(stacks, key=lambda text: len(stacks[text]))
        preferred = PREFERRED.get(key, most)
        usual[at] = preferred if len(stacks.get(preferred, ())) >= NEARLY * len(stacks[most]) else most
        left = [row for row in left if row[at].text == usual[at]]
    return usual


def is_measured(row: Sequence[Cell], table: Table) -> bool:
    """Return whether the row has any figure."""
    return any(not cell.is_missing for cell, column in zip(row, table.columns, strict=True) if not column.left)


def agreement(row: Sequence[Cell], usual: dict[int, str]) -> tuple[bool, ...]:
    """Return which aspects of the row are as usual, the most important first."""
    return tuple(row[at].text == text for at, text in usual.items())
