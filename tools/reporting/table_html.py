"""Tables as HTML: what people read; and their lines of CSV, which a browser copies."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import forms
from forms import slim
from reporting.declared import MARKS
from reporting.packing import deflated
from reporting.sections import Shown, identifier
from tables import Cell, Column, Table

LONG = 44  # characters of a cell
HEADS = ("stack", "setting", "recording")  # the first of these that a table has is the head of its rows


class HtmlCell(NamedTuple):
    text: str
    note: int | None
    anchored: bool  # whether it is the first with this note, to which the note leads back
    marks: tuple[str, ...]


class HtmlTable(NamedTuple):
    """As a template takes it; of its rows and columns only those that people are shown."""

    name: str
    title: str
    caption: str
    label: str
    command: str
    columns: tuple[Column, ...]
    head: int  # the column that names the row
    rows: tuple[tuple[HtmlCell, ...], ...]
    notes: tuple[str, ...]
    without: tuple[str, ...]
    csv: str  # the lines of all columns, packed


class Card(NamedTuple):
    """Tables of which one is seen at a time."""

    name: str
    title: str
    tables: tuple[HtmlTable, ...]


def cards(several: Iterable[Shown]) -> list[Card]:
    """Those of one group in one card."""
    groups: dict[str, list[Shown]] = {}
    for shown in several:
        groups.setdefault(shown.group or shown.table.name, []).append(shown)
    return [Card(identifier(name), title(some), tuple(map(of, some))) for name, some in groups.items()]


def title(some: list[Shown]) -> str:
    """Of several what their titles begin with, up to the colon."""
    first = some[0].table.title
    return first if len(some) == 1 else first.partition(":")[0]


def of(shown: Shown) -> HtmlTable:
    table = slim(shown.table)
    keys = [column.key for column in table.columns]
    head = next((keys.index(key) for key in HEADS if key in keys), 0)
    csv = deflated(forms.comma_separated(shown.table))
    told = (
        identifier(f"table-{table.name}"),
        table.title,
        table.caption,
        shown.label or table.title,
        shown.command,
        tuple(table.columns),
    )
    return HtmlTable(*told, head, tuple(rows(table)), tuple(table.notes()), tuple(table.without), csv)


def rows(table: Table) -> Iterator[tuple[HtmlCell, ...]]:
    numbers, met = table.notes(), set()
    marks = [column.key == MARKS.key for column in table.columns]
    for row in table.rows:
        yield tuple(html_cell(cell, numbers, met, split) for cell, split in zip(row, marks, strict=True))


def html_cell(cell: Cell, numbers: dict[str, int], met: set[int], split: bool) -> HtmlCell:
    number = numbers.get(cell.note)
    first = number is not None and number not in met
    met.add(number)
    return HtmlCell(cell.text, number, first, tuple(filter(None, cell.text.split("; "))) if split else ())


def style(table: HtmlTable) -> str:
    """Of its columns of words, said once and not at every cell; long texts are broken into lines."""
    columns = list(enumerate(table.columns, start=1))
    long = [at for at, _ in columns if any(len(row[at - 1].text) > LONG for row in table.rows)]
    rules = {"text-align:left": [at for at, column in columns if column.left]}
    rules["white-space:normal;min-width:34ch"] = long
    return "".join(
        f"{','.join(f'#{table.name} td:nth-child({at})' for at in places)}{{{rule}}}\n"
        for rule, places in rules.items()
        if places
    )
