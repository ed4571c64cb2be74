"""The four forms of a table: drawn on a terminal in its width (layout.py), Markdown, CSV, and JSON."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

import rich.console
import rich.text
from rich.cells import cell_len

from tlsmem.base import stdout
from tlsmem.base.printable import printable_text
from tlsmem.config.choices import JSON, MARKDOWN, TABLE
from tlsmem.tables.layout import GAP, Layout, fit_table, wrap
from tlsmem.tables.table import Cell, Heading, Table

WITHOUT = "Without a row:"
ALL_COLUMNS = "--format csv"  # how a command shows the columns that a terminal has no room for


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
    return lambda cell: cell.is_missing and cell.note == first.note


def plain(column: Heading, cells: Sequence[Cell]) -> bool:
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
    notes += f"\n\n{table.more}" if table.more else ""
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


def terminal(table: Table, console: rich.console.Console, all_columns: str = ALL_COLUMNS) -> None:
    """Draw the table on a console in its width, with notes below it.

    `all_columns`: the option with which the command shows what there is no room for."""
    table = drop_silent_columns(table)
    layout = fit_table(table, console.width)
    print_text(console, table.title, "bold")
    print_text(console, table.caption, "dim")
    console.print()
    console.print(draw(layout, console.width), crop=False, no_wrap=True, overflow="ignore", end="")
    notes = [*describe_fit(layout, console.width, all_columns), *layout.table.footnotes()]
    notes += [f"{WITHOUT}\n{list_missing_rows(table)}"] if table.without else []
    notes += [table.more] if table.more else []
    for note in ["", *notes] if notes else []:
        print_text(console, note)
    console.print()


def print_text(console: rich.console.Console, text: str, style: str = "") -> None:
    """Print a text in the console's width; a word that is longer stays whole."""
    console.print(rich.text.Text(text, style=style, overflow="ignore"), crop=False, highlight=False)


def draw(layout: Layout, width: int) -> rich.text.Text:
    """Return headings, a rule, and the rows; a row that heads others has the whole width."""
    lines = rich.text.Text()
    headings = [wrap(column.heading, width) for column, width in zip(layout.columns, layout.widths, strict=True)]
    if any(column.heading for column in layout.columns):
        height = max(map(len, headings))
        headings = [[""] * (height - len(one)) + one for one in headings]
        lines.append(join_cells(layout, headings), style="bold").append("─" * layout.width + "\n")
    for row in layout.rows:
        if len(row) < len(layout.columns):
            lines.append("\n".join(wrap(row[0], width)) + "\n", style="bold")
        else:
            lines.append(join_cells(layout, [*map(wrap, row, layout.widths)]))
    return lines


def join_cells(layout: Layout, cells: Sequence[Sequence[str]]) -> str:
    """Return the lines of one row."""
    lines = []
    for texts in zip_longest(*cells, fillvalue=""):
        padded = [
            text + blanks if column.left else blanks + text
            for text, column, width in zip(texts, layout.columns, layout.widths, strict=True)
            for blanks in [" " * (width - cell_len(text))]
        ]
        lines.append((" " * GAP).join(padded).rstrip() + "\n")
    return "".join(lines)


def describe_fit(layout: Layout, width: int, all_columns: str) -> Iterator[str]:
    """Yield what of the table the terminal has no room for, and what shows it."""
    for what, headings in (("Columns left out", layout.left_out), ("Shortened", layout.shortened)):
        if headings:
            more = f"A wider terminal or {all_columns} shows all."
            yield f"{what} at {width} characters: {', '.join(headings)}. {more}"


def list_missing_rows(table: Table) -> str:
    """Return what has no row, as a list in Markdown."""
    return "\n".join(f"- {printable_text(one)}" for one in table.without)


def flatten_value(key: str, value: Any) -> dict[str, Any]:
    """Return the value by key; a dict as several keys."""
    if not isinstance(value, dict):
        return {key: printable_text(value) if isinstance(value, str) else value}
    return {f"{key}_{name}": part for name, part in value.items()}


def comma_separated(table: Table) -> str:
    """Values only, a missing value is empty; a cell of several values is several columns."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = [csv_column(column.key, [row[at].value for row in table.rows]) for at, column in enumerate(table.columns)]
    writer.writerow([name for names, _ in columns for name in names])
    writer.writerows(
        [value for part in row for value in part] for row in zip(*(rows for _, rows in columns), strict=True)
    )
    return text.getvalue()


def csv_column(key: str, values: Sequence[Any]) -> tuple[list[str], list[list[Any]]]:
    """Return the names of a column in CSV, several where its values are dicts, and its values of these by row."""
    flat = [{} if value is None else flatten_value(key, value) for value in values]
    names = [*dict.fromkeys(name for one in flat for name in one)] or [key]
    return names, [[*map(one.get, names)] for one in flat]


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


def format_tables(tables: Iterable[Table], form: str, summary: str | None = None) -> str:
    """Markdown, CSV (each table after a line `# NAME` when there are several) or JSON.

    `summary`: a sentence before the tables; in JSON a key, in CSV left out."""
    tables = list(tables)
    if form == JSON:
        head = {} if summary is None else {"summary": printable_text(summary)}
        said = head | {"tables": [structure(table) for table in tables]}
        return escape_control_characters(json.dumps(said, indent=2, ensure_ascii=False)) + "\n"
    if form == MARKDOWN:
        paragraphs = [] if summary is None else [escape_html(printable_text(summary)) + "\n"]
        return "\n".join([*paragraphs, *map(markdown, tables)])
    heads = [f"# {table.name}\n" if len(tables) > 1 else "" for table in tables]
    return "\n".join(head + comma_separated(table) for head, table in zip(heads, tables, strict=True))


def show(tables: Iterable[Table], form: str, console: rich.console.Console, summary: str | None = None) -> None:
    """Prints on the console's file."""
    if form != TABLE:
        console.file.write(format_tables(tables, form, summary))
        return
    if summary is not None:
        print_text(console, printable_text(summary) + "\n")
    for table in tables:
        terminal(table, console)


def print_all(tables: Iterable[Table], form: str | None = None, summary: str | None = None) -> None:
    """On stdout, after a sentence; drawn on a terminal, else Markdown, unless a form is asked for. A full disk is a
    sentence."""
    with stdout.raise_write_errors():
        show(tables, form or (TABLE if stdout.is_terminal() else MARKDOWN), rich.console.Console(), summary)
