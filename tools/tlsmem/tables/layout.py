"""Fits a table into the width of a terminal, and never breaks a word.

Headings wrap first, then texts, then figures and names. For a table that is still too wide there are four ways, in this
order: one of few rows is transposed; more leading columns of names become lines above their rows; long words of texts
are shortened; columns are left out, the optional ones first."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby

from rich.cells import cell_len

from tlsmem.tables.table import Heading, Table

NAME_COLUMNS = ("suite", "stack", "role", "process", "peer", "at", "peak_phase")  # wrap last, and are shortened last
FEW_ROWS = 3  # a table of so many may be transposed
SHORTEST = 20  # characters that a long word of a text keeps
TEXTS = 2**16  # of the longest table, each measured once
GAP = 2  # blanks between two columns


@dataclass(frozen=True)
class Layout:
    """What is drawn of a table: a row of one text heads the rows below it."""

    table: Table  # with the columns that are shown; its footnotes are theirs
    columns: Sequence[Heading]
    rows: Sequence[Sequence[str]]
    widths: Sequence[int]
    left_out: tuple[str, ...] = ()  # headings
    shortened: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """Return the characters of a line."""
        return sum(self.widths) + GAP * (len(self.widths) - 1)


def fit_table(table: Table, width: int) -> Layout:
    """Return the layout of the table that leaves out and shortens least in this width."""
    wrapped = lay_out(table, *group_by_leading_columns(table), width)
    if wrapped and has_figures_on_one_line(wrapped):
        return wrapped
    return (
        leave_out_optional_columns(table, width)
        or wrapped
        or transpose(table, width)
        or fit_narrower(table, width)
        or force_into(table, width)
    )


def lay_out(
    table: Table, columns: Sequence[Heading], rows: Sequence[Sequence[str]], width: int, shortened: Sequence[str] = ()
) -> Layout | None:
    """Return the layout of these cells; None where a word would break."""
    found = column_widths(columns, rows, width - GAP * (len(columns) - 1))
    return Layout(table, columns, rows, found, shortened=tuple(shortened)) if found else None


def has_figures_on_one_line(layout: Layout) -> bool:
    """Return whether no figure is apart from its unit."""
    cells = zip(layout.columns, layout.widths, columns_of(layout.columns, layout.rows), strict=True)
    return all(column.left or max(map(longest_line, texts), default=0) <= width for column, width, texts in cells)


def leave_out_optional_columns(table: Table, width: int) -> Layout | None:
    """Return the table without some of its optional columns and with whole figures; None where that is too wide."""
    order = [at for at in leaving_order(table, len(table.columns)) if table.columns[at].optional]
    for number in range(1, len(order) + 1):
        stay = [at for at in range(len(table.columns)) if at not in order[:number]]
        narrower = keep_columns(table, stay, table.headed)
        layout = lay_out(narrower, *group_by_leading_columns(narrower), width)
        if layout and has_figures_on_one_line(layout):
            return replace(layout, left_out=headings_without(table, stay))
    return None


def headings_without(table: Table, stay: Sequence[int]) -> tuple[str, ...]:
    """Return the headings of the columns that do not stay."""
    return tuple(dict.fromkeys(column.heading for at, column in enumerate(table.columns) if at not in stay))


def transpose(table: Table, width: int) -> Layout | None:
    """Return a table of few rows with a row for each column; None where that has no room either."""
    if not 0 < len(table.rows) <= FEW_ROWS or len(table.columns) < 2:
        return None
    texts = [[*map(break_callstack, row)] for row in table.texts()]
    first, *others = table.columns
    columns = [Heading("heading", first.heading, left=True)]
    columns += [Heading(f"row {at}", row[0], left=True) for at, row in enumerate(texts)]
    rows = [[column.heading, *(row[at] for row in texts)] for at, column in enumerate(others, start=1)]
    return lay_out(table, columns, rows, width)


def fit_narrower(table: Table, width: int) -> Layout | None:
    """Return the table with more lines above rows, words shortened, or columns left out; None where it is too wide."""
    texts = [[*map(break_callstack, row)] for row in table.texts()]
    needs = [narrowest(column, [row[at] for row in texts]) for at, column in enumerate(table.columns)]
    short = [
        max(longest_word(column.heading), min(need, SHORTEST)) if may_shorten(column) else need
        for column, need in zip(table.columns, needs, strict=True)
    ]
    names = count_leading_names(table)
    order, heads = leaving_order(table, names), head_counts(table, names)
    for number in range(len(order) + 1):
        stay = [at for at in range(len(table.columns)) if at not in order[:number]]
        for least in (needs, short):
            for headed in heads:
                drawn = [at for at in stay if at >= headed]
                if sum(least[at] for at in drawn) + GAP * (len(drawn) - 1) > width:
                    continue
                if layout := lay_out_columns(table, stay, headed, width):
                    return layout
    return None


def lay_out_columns(table: Table, stay: Sequence[int], headed: int, width: int) -> Layout | None:
    """Return the layout of these columns, with so many leading names above their rows."""
    narrower = keep_columns(table, stay, headed)
    columns, rows = group_by_leading_columns(narrower, always=headed > 0)
    layout = lay_out(narrower, columns, rows, width) or shorten_columns(narrower, columns, rows, width)
    return layout and replace(layout, left_out=headings_without(table, stay))


def head_counts(table: Table, names: int) -> list[int]:
    """Return how many leading names may stand above the rows, the usual number first; one name stays beside figures."""
    usual = table.headed if group_by_leading_columns(table)[0] is not table.columns else 0
    return [usual, *range(usual + 1, names)]


def keep_columns(table: Table, stay: Sequence[int], headed: int) -> Table:
    """Return the table with these columns."""
    rows = [[row[at] for at in stay] for row in table.rows]
    return replace(table, columns=[table.columns[at] for at in stay], rows=rows, headed=headed)


def count_leading_names(table: Table) -> int:
    """Return how many columns of names lead; where all are texts, those that head rows and one more."""
    figures = (at for at, column in enumerate(table.columns) if not column.left)
    return max(1, next(figures, min(table.headed + 1, len(table.columns))))


def leaving_order(table: Table, names: int) -> list[int]:
    """Return the columns that may be left out, the first to go first: the optional ones, and then those at the end."""
    last_first = [at for at in range(len(table.columns) - 1, -1, -1) if at >= names or table.columns[at].optional]
    return sorted(last_first, key=lambda at: not table.columns[at].optional)


def may_shorten(column: Heading) -> bool:
    """Return whether long words of the column may be shortened; names are for people to type."""
    return column.left and column.key not in NAME_COLUMNS


def force_into(table: Table, width: int) -> Layout:
    """Return the table with all words shortened, for a terminal in which not even the names have room."""
    columns, rows = group_by_leading_columns(table)
    most = max(1, width // len(columns) - GAP)
    short = [replace(column, heading=shorten_words(column.heading, most)) for column in columns]
    cut = shorten_cells(columns, rows, range(len(columns)), most)
    widths = [narrowest(column, texts) for column, texts in zip(short, columns_of(columns, cut), strict=True)]
    return Layout(table, short, cut, widths, shortened=tuple(changed_columns(columns, rows, cut)))


def shorten_columns(
    table: Table, columns: Sequence[Heading], rows: Sequence[Sequence[str]], width: int
) -> Layout | None:
    """Return the layout with long words of texts shortened, no more than it takes; None where that is too wide."""
    texts = [at for at, column in enumerate(columns) if may_shorten(column)]

    def shorten_to(most: int) -> Layout | None:
        cut = shorten_cells(columns, rows, texts, most)
        return lay_out(table, columns, cut, width, changed_columns(columns, rows, cut))

    best, fits, too_long = shorten_to(SHORTEST), SHORTEST, width + 1
    while best and too_long - fits > 1:
        most = (fits + too_long) // 2
        if layout := shorten_to(most):
            best, fits = layout, most
        else:
            too_long = most
    return best


def shorten_cells(
    columns: Sequence[Heading], rows: Sequence[Sequence[str]], at: Collection[int], most: int
) -> list[Sequence[str]]:
    """Return the rows with the words of these columns shortened; a row that heads others stays."""
    return [
        [shorten_words(text, most) if one in at else text for one, text in enumerate(row)]
        if len(row) == len(columns)
        else row
        for row in rows
    ]


def changed_columns(
    columns: Sequence[Heading], rows: Sequence[Sequence[str]], cut: Sequence[Sequence[str]]
) -> list[str]:
    """Return the headings of the columns in which a text was shortened."""
    both = [*zip(body(columns, rows), body(columns, cut), strict=True)]
    return [column.heading for at, column in enumerate(columns) if any(a[at] != b[at] for a, b in both)]


def column_widths(columns: Sequence[Heading], rows: Sequence[Sequence[str]], room: int) -> list[int] | None:
    """Return widths that add up to `room` at most and hold every word; None where there are none.

    Rows of one text head others, and take the whole line."""
    cells = columns_of(columns, rows)
    found = [max(map(longest_line, [column.heading, *texts])) for column, texts in zip(columns, cells, strict=True)]
    for least in least_widths(columns, cells):
        while sum(found) > room and (wider := [at for at, width in enumerate(found) if width > least[at]]):
            found[max(wider, key=found.__getitem__)] -= 1
    return found if sum(found) <= room else None


def least_widths(columns: Sequence[Heading], cells: Sequence[Sequence[str]]) -> Iterator[list[int]]:
    """Yield the least width of each column where headings wrap, where texts do too, and where all do."""
    texts = [*map(may_shorten, columns)]
    for wraps in ([False] * len(columns), texts, [True] * len(columns)):
        yield [
            max([longest_word(column.heading), *map(longest_word if may_wrap else longest_line, several)])
            for column, several, may_wrap in zip(columns, cells, wraps, strict=True)
        ]


def narrowest(column: Heading, texts: Sequence[str]) -> int:
    """Return the length of a column's longest word."""
    return max(map(longest_word, [column.heading, *texts]))


def columns_of(columns: Sequence[Heading], rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the texts of each column, without the rows that head others."""
    return [[row[at] for row in body(columns, rows)] for at in range(len(columns))]


def body(columns: Sequence[Heading], rows: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """Return the rows that do not head others."""
    return [row for row in rows if len(row) == len(columns)]


@lru_cache(maxsize=TEXTS)
def longest_line(text: str) -> int:
    """Return the length of the longest line."""
    return max(map(cell_len, text.split("\n")))


@lru_cache(maxsize=TEXTS)
def longest_word(text: str) -> int:
    """Return the length of the longest word."""
    return max(map(cell_len, text.split()), default=0)


def shorten_words(text: str, most: int) -> str:
    """Return the text with an ellipsis in the middle of each word that is longer."""
    if longest_word(text) <= most:
        return text
    return "\n".join(" ".join(shorten_word(word, most) for word in line.split(" ")) for line in text.split("\n"))


def shorten_word(word: str, most: int) -> str:
    """Return the word, or its beginning and end around an ellipsis."""
    if cell_len(word) <= most:
        return word
    start, end = word[: most // 2], word[len(word) - (most - 1 - most // 2) :]
    while cell_len(start) + cell_len(end) >= most and (start or end):  # wide characters take two cells
        start, end = start[:-1], end[1:]
    return f"{start}…{end}"


def wrap(text: str, width: int) -> list[str]:
    """Return the lines of a cell; a word that is longer than the width has a line of its own."""
    lines = []
    for paragraph in text.split("\n"):
        line = ""
        for word in paragraph.split():
            if line and cell_len(line) + 1 + cell_len(word) > width:
                lines.append(line)
                line = word
            else:
                line = f"{line} {word}" if line else word
        lines.append(line)
    return lines


def group_by_leading_columns(table: Table, always: bool = False) -> tuple[Sequence[Heading], list[list[str]]]:
    """Return columns and rows; leading columns of names stand above their rows, `always` or where they repeat."""
    texts = [[*map(break_callstack, row)] for row in table.texts()]
    headed, heads = table.headed, [tuple(cell.text for cell in row[: table.headed]) for row in table.rows]
    if not headed or not all(column.left for column in table.columns[: headed + 1]):
        return table.columns, texts
    if len(set(heads)) == len(table.rows) and not always:
        return table.columns, texts
    rows = []
    for names, group in groupby(texts, key=lambda row: row[:headed]):
        rows += [[", ".join(names)], *(row[headed:] for row in group)]
    return table.columns[headed:], rows


def break_callstack(text: str) -> str:
    """Return the text with each caller of a call stack on a line of its own."""
    return text.replace(" < ", "\n< ")
