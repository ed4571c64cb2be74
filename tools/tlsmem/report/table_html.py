"""Tables as the page takes them: their heads as HTML, and their rows, notes and CSV packed, for the browser to draw."""

import csv
import io
import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tlsmem.report.default_rows import default_rows
from tlsmem.report.differing_settings import MARK_COLUMN
from tlsmem.report.sections import ShownTable, deflate_base64, identifier
from tlsmem.tables import render
from tlsmem.tables.render import drop_silent_columns
from tlsmem.tables.table import Cell, Column, Table

LONG = 44  # characters of a cell: broken into lines
HEADS = ("stack", "setting", "recording")  # the first of these that a table has is the head of its rows


class HtmlTable(NamedTuple):
    """A table as the template takes it; of its columns only those that people are shown."""

    name: str
    title: str
    caption: str
    label: str
    command: str
    columns: tuple[Column, ...]
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

    A column that is seen has `texts` and, where a cell has a note, `notes`: the note's number by row, or 0. One of CSV
    has a `name` and its `values`, or the number of the column that is seen with the same."""
    numbers = seen.notes()
    columns = [pack_column([row[at] for row in seen.rows], numbers) for at in range(len(seen.columns))]
    places = {tuple(column["texts"]): at for at, column in enumerate(columns)}
    names, *lines = csv.reader(io.StringIO(render.comma_separated(whole)))
    values = [list(column) for column in zip(*lines, strict=True)] or [[] for _ in names]
    written = [
        {"name": name, "values": places.get(tuple(column), column)} for name, column in zip(names, values, strict=True)
    ]
    packed = {"columns": columns, "csv": written, "notes": [*numbers], "first": default_rows(whole)}
    return deflate_base64(json.dumps(packed, ensure_ascii=False, separators=(",", ":")))


def pack_column(cells: Sequence[Cell], numbers: dict[str, int]) -> dict[str, list]:
    notes = [numbers.get(cell.note or "", 0) for cell in cells]
    return {"texts": [cell.text for cell in cells]} | ({"notes": notes} if any(notes) else {})


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
