"""Tables as HTML: what people read; and their lines of CSV, which a browser copies."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tlsmem.report.differing_settings import MARK_COLUMN
from tlsmem.report.sections import ShownTable, deflate_base64, identifier
from tlsmem.tables import render
from tlsmem.tables.render import drop_silent_columns
from tlsmem.tables.table import Cell, Column, Table

LONG = 44  # characters of a cell: broken into lines
FOLDED = 160  # characters: only its beginning is seen at first
HEADS = ("stack", "setting", "recording")  # the first of these that a table has is the head of its rows


class HtmlCell(NamedTuple):
    text: str
    note: int | None
    anchored: bool  # whether it is the first with this note, to which the note leads back
    marks: tuple[str, ...]
    begins: str  # of a text that is folded up to this
    bar: tuple[float, ...] | None = None  # its end and its mark, in percent of the widest


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


class TableCard(NamedTuple):
    """Tables of which one is seen at a time."""

    name: str
    title: str
    tables: tuple[HtmlTable, ...]


def cards(several: Iterable[ShownTable]) -> list[TableCard]:
    """Those of one group in one card."""
    groups: dict[str, list[ShownTable]] = {}
    for shown in several:
        groups.setdefault(shown.group or shown.table.name, []).append(shown)
    return [TableCard(identifier(name), title(some), tuple(map(html_table, some))) for name, some in groups.items()]


def title(some: list[ShownTable]) -> str:
    """Of several what their titles begin with, up to the colon."""
    first = some[0].table.title
    return first if len(some) == 1 else first.partition(":")[0]


def html_table(shown: ShownTable) -> HtmlTable:
    table = drop_silent_columns(shown.table)
    keys = [column.key for column in table.columns]
    head = next((keys.index(key) for key in HEADS if key in keys), 0)
    csv = deflate_base64(render.comma_separated(shown.table))
    told = (
        identifier(f"table-{table.name}"),
        table.title,
        table.caption,
        shown.label or table.title,
        shown.command,
        tuple(table.columns),
    )
    return HtmlTable(*told, head, tuple(rows(table, shown)), tuple(table.notes()), tuple(table.without), csv)


def rows(table: Table, shown: ShownTable) -> Iterator[tuple[HtmlCell, ...]]:
    numbers, met = table.notes(), set()
    keys = [column.key for column in table.columns]
    for row, ends in zip(table.rows, bars(table, shown), strict=True):
        made = (html_cell(cell, numbers, met, key == MARK_COLUMN.key) for cell, key in zip(row, keys, strict=True))
        yield tuple(one._replace(bar=ends) if key == shown.bar else one for one, key in zip(made, keys, strict=True))


def bars(table: Table, shown: ShownTable) -> list[tuple[float, ...] | None]:
    """Of each row where its bar ends and where its mark is, in percent of the widest; None of a table without bars."""
    at = [index for name in (shown.bar, shown.mark) for index, one in enumerate(table.columns) if one.key == name]
    sizes = [[float(row[index].value["bytes"]) if row[index].value else 0.0 for index in at] for row in table.rows]
    widest = max((size for some in sizes for size in some), default=0.0)
    return [tuple(round(100 * size / widest, 1) for size in some) if widest else None for some in sizes]


def html_cell(cell: Cell, numbers: dict[str, int], met: set[int], split: bool) -> HtmlCell:
    number = numbers.get(cell.note)
    first = number is not None and number not in met
    met.add(number)
    marks = tuple(filter(None, cell.text.split("; "))) if split else ()
    return HtmlCell(cell.text, number, first, marks, cell.text[:LONG] if len(cell.text) > FOLDED else "")


def column_style(table: HtmlTable) -> str:
    """Of its columns of words, said once and not at every cell; long texts are broken into lines."""
    columns = list(enumerate(table.columns, start=1))
    long = [at for at, _ in columns if any(len(row[at - 1].text) > LONG for row in table.rows)]
    rules = {"text-align:left": [at for at, column in columns if column.left]}
    rules["white-space:normal;min-width:34ch"] = long
    rules["white-space:normal;overflow-wrap:anywhere"] = [at for at in long if at - 1 == table.head]
    return "".join(
        f"{','.join(f'#{table.name} tbody :nth-child({at})' for at in places)}{{{rule}}}\n"
        for rule, places in rules.items()
        if places
    )
