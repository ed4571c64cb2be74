"""The four forms of a table: for a terminal (rich), with columns as wide as their words, Markdown, CSV, and JSON."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, Literal

import rich.box
import rich.console
import rich.table
import rich.text

from tlsmem.base import stdout
from tlsmem.base.printable import printable_text
from tlsmem.config.choices import JSON, MARKDOWN, TABLE
from tlsmem.tables.table import MISSING, Cell, Column, Table

UNBREAKABLE_COLUMNS = ("suite", "stack", "role", "process", "peer", "at", "peak_phase")  # names
LEAST = 12  # of a column of texts whose words must be broken


def widths(columns: Sequence[Column], rows: Sequence[Sequence[str]], room: int) -> list[int] | None:
    """Adding up to `room` characters at most; None where there are too few. Rows of one text head others."""
    cells = [[row[at] for row in rows if at < len(row)] for at in range(len(columns))]
    found = [max(map(longest, [column.heading, *texts])) for column, texts in zip(columns, cells, strict=True)]
    for least in leasts(columns, cells):
        while sum(found) > room and (wider := [at for at, width in enumerate(found) if width > least[at]]):
            found[max(wider, key=found.__getitem__)] -= 1
    return found if sum(found) <= room else None


def leasts(columns: Sequence[Column], cells: Sequence[Sequence[str]]) -> Iterator[list[int]]:
    """First only headings are broken, then texts, then figures and names too; last the words of texts."""
    stages: tuple[Callable[[Column], bool], ...] = (
        lambda _: False,
        lambda column: column.left and column.key not in UNBREAKABLE_COLUMNS,
        lambda _: True,
    )
    for breaks in stages:
        least = [
            max([word(column.heading), *map(word if breaks(column) else longest, texts)])
            for column, texts in zip(columns, cells, strict=True)
        ]
        yield least
    yield [min(width, LEAST) if column.left else width for column, width in zip(columns, least, strict=True)]


def longest(text: str) -> int:
    """Return the length of the longest line."""
    return max(map(len, text.split("\n")))


def word(text: str) -> int:
    """Return the length of the longest word."""
    return max(map(len, text.split()), default=0)


WITHOUT = "Without a row:"
BESIDE = 2  # blanks beside each column


def drop_silent_columns(table: Table) -> Table:
    """For people: without the columns that say nothing; why a whole column is missing is said in the caption."""
    columns = list(zip(table.columns, zip(*table.rows, strict=True), strict=True)) if table.rows else []
    empty = {column.key: cells[0].note for column, cells in columns if all(map(matches_hole(cells[0]), cells))}
    if all(column.left or column.key in empty for column in table.columns):
        empty = {}  # all that the table has to say
    shown = [at for at, (column, cells) in enumerate(columns) if column.key not in empty and not plain(column, cells)]
    if len(shown) == len(columns):
        return table
    headings = {table.columns[at].heading for at in shown}  # several columns may have one
    gone: dict[str, list[str]] = {}  # why to the headings
    for column in table.columns:
        if column.key in empty and column.heading not in headings:
            gone.setdefault(empty[column.key], []).append(column.heading)
    said = "".join(f" No {', '.join(dict.fromkeys(several))}: {printable_text(why)}." for why, several in gone.items())
    rows = [[row[at] for at in shown] for row in table.rows]
    return replace(table, caption=table.caption + said, columns=[table.columns[at] for at in shown], rows=rows)


def matches_hole(first: Cell) -> Callable[[Cell], bool]:
    """A missing value for the same reason."""
    return lambda cell: cell.text == MISSING and cell.note == first.note


def plain(column: Column, cells: Sequence[Cell]) -> bool:
    """Return whether all cells have the text that goes without saying."""
    return column.usual is not None and all(cell.text == column.usual for cell in cells)


TAG = re.compile("<(?=[A-Za-z/!?])")


def escape_html(text: str) -> str:
    """What would be read as HTML is shown as it is: names are of whoever made the recording."""
    return TAG.sub("&lt;", text)


def markdown(table: Table) -> str:
    """Title, caption, rows, notes."""
    table = drop_silent_columns(table)
    notes = "".join(f"\n\n{note}" for note in table.footnotes())
    notes += f"\n\n{WITHOUT}\n\n{list_missing_rows(table)}" if table.without else ""
    head, grid = f"**{table.title}**\n\n{table.caption}", format_markdown_grid(table)
    return f"{escape_html(head)}\n\n{grid}{escape_html(notes)}\n"


def format_markdown_grid(table: Table) -> str:
    """The rows in Markdown, padded, so that they also read well as plain text."""
    rows = [[escape_html(text).replace("|", "\\|") for text in row] for row in table.texts()]
    headings = [column.heading for column in table.columns]
    widths = [max(3, *(len(row[at]) for row in [headings, *rows])) for at in range(len(headings))]

    def padded(row: list[str]) -> str:
        cells = zip(row, widths, table.columns, strict=True)
        return "| " + " | ".join(f"{text:{'<' if column.left else '>'}{width}}" for text, width, column in cells) + " |"

    rule = [
        "-" * width if column.left else "-" * (width - 1) + ":"
        for width, column in zip(widths, table.columns, strict=True)
    ]
    return "\n".join(padded(row) for row in [headings, rule, *rows])


def terminal(table: Table, console: rich.console.Console) -> None:
    """Draw the table, with notes below it, on a console."""
    table = drop_silent_columns(table)
    columns, rows = group_by_leading_columns(table)
    headed = any(column.heading for column in columns)
    drawn = rich.table.Table(box=rich.box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True, show_header=headed)
    rows = [[*map(break_callstack, row)] for row in rows]
    room = console.width - BESIDE * len(columns)
    known: Sequence[int | None] = widths(columns, rows, room) or [None] * len(columns)
    for column, width in zip(columns, known, strict=True):
        side: Literal["left", "right"] = "left" if column.left else "right"
        whole = column.key in UNBREAKABLE_COLUMNS and width is None
        drawn.add_column(column.heading, justify=side, overflow="fold", no_wrap=whole, width=width)
    for row in rows:
        drawn.add_row(*map(rich.text.Text, row), style="bold" if len(row) == 1 else None)
    console.print(rich.text.Text(table.title, style="bold"))
    console.print(rich.text.Text(table.caption, style="dim"))
    console.print(drawn)
    for note in (*table.footnotes(), *([WITHOUT, list_missing_rows(table)] if table.without else [])):
        console.print(rich.text.Text(note))
    console.print()


def list_missing_rows(table: Table) -> str:
    """Return what has no row, as a list in Markdown."""
    return "\n".join(f"- {printable_text(one)}" for one in table.without)


def break_callstack(text: str) -> str:
    """Each caller of a call stack on a line of its own."""
    return text.replace(" < ", "\n< ")


def group_by_leading_columns(table: Table) -> tuple[list[Column], list[list[str]]]:
    """Where columns of names lead, the first become lines of their own, each above its rows: for 100 characters."""
    headed, heads = table.headed, [tuple(cell.text for cell in row[: table.headed]) for row in table.rows]
    if not all(column.left for column in table.columns[: headed + 1]) or len(set(heads)) == len(table.rows):
        return table.columns, table.texts()
    rows = []
    for names, group in groupby(table.texts(), key=lambda row: row[:headed]):
        rows += [[", ".join(names)], *(row[headed:] for row in group)]
    return table.columns[headed:], rows


def flatten_value(key: str, value: Any) -> dict[str, Any]:
    """Return the value by key; a dict as several keys."""
    if not isinstance(value, dict):
        return {key: printable_text(value) if isinstance(value, str) else value}
    return {f"{key}_{name}": part for name, part in value.items()}


def comma_separated(table: Table) -> str:
    """Values only, a missing value is empty; a cell of several values is several columns."""
    rows = []
    for row in table.rows:
        cells = zip(table.columns, row, strict=True)
        rows.append(
            {name: part for column, cell in cells for name, part in flatten_value(column.key, cell.value).items()}
        )
    order = [name for column in table.columns for name in csv_headings(column, table)]
    text = io.StringIO()
    writer = csv.DictWriter(text, order, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def csv_headings(column: Column, table: Table) -> list[str]:
    """Return the names of the column in CSV: several where its values are dicts."""
    at = table.columns.index(column)
    values = [row[at].value for row in table.rows if row[at].value is not None]
    return list(dict.fromkeys(name for value in values for name in flatten_value(column.key, value))) or [column.key]


def structure(table: Table) -> dict[str, Any]:
    """Return the table as JSON values."""
    keys = [column.key for column in table.columns]
    rows = [dict(zip(keys, (cell.data() for cell in row), strict=True)) for row in table.rows]
    return {
        "name": table.name,
        "title": table.title,
        "caption": table.caption,
        "rows": rows,
        "notes": list(table.notes()),
        **({"without": table.without} if table.without else {}),
    }


def escape_control_characters(text: str) -> str:
    """JSON without what moves a terminal's cursor, or is no text, which Python's leaves as it is."""
    return re.sub("[\x7f-\x9f\ud800-\udfff]", lambda sign: f"\\u{ord(sign[0]):04x}", text)


def format_tables(tables: Iterable[Table], form: str) -> str:
    """Markdown, CSV (each table after a line `# NAME` when there are several) or JSON."""
    tables = list(tables)
    if form == JSON:
        return (
            escape_control_characters(
                json.dumps({"tables": [structure(table) for table in tables]}, indent=2, ensure_ascii=False)
            )
            + "\n"
        )
    if form == MARKDOWN:
        return "\n".join(markdown(table) for table in tables)
    heads = [f"# {table.name}\n" if len(tables) > 1 else "" for table in tables]
    return "\n".join(head + comma_separated(table) for head, table in zip(heads, tables, strict=True))


def show(tables: Iterable[Table], form: str, console: rich.console.Console) -> None:
    """Prints on the console's file."""
    if form != TABLE:
        console.file.write(format_tables(tables, form))
        return
    for table in tables:
        terminal(table, console)


def print_all(tables: Iterable[Table], form: str | None = None) -> None:
    """On stdout; drawn on a terminal, else Markdown, unless a form is asked for. A full disk is a sentence."""
    with stdout.exit_on_write_error():
        show(tables, form or (TABLE if stdout.is_terminal() else MARKDOWN), rich.console.Console())
