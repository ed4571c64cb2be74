"""A table; its forms are in render.py.

A cell has a text for people and a value for programs; a missing value has neither, and a note that says why."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, TypeVar

from tlsmem.base.printable import printable_text
from tlsmem.stats.missing import Missing

MISSING = "–"
AnyHeading = TypeVar("AnyHeading", bound="Heading")
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Cell:
    """What a row has in a column."""

    text: str
    value: Any = None  # a number, a string, a flat dict of these, or None where it is missing
    note: str | None = None
    is_missing: bool = False  # the note says why

    def data(self) -> Any:
        """A dict {`hole`: why} for a missing value, so that no reader takes it for a nought."""
        return {"hole": self.note} if self.is_missing else self.value


def text_cell(text: str) -> Cell:
    """A text that is also its value."""
    return Cell(text, text)


def integer_cell(number: int) -> Cell:
    """A whole number, with separators for people."""
    return Cell(f"{number:,}", number)


def quotient_cell(amount: int, count: int, digits: int = 2) -> Cell:
    """Whole where it is: what is shared alike to the byte is seen to be."""
    value = amount // count if amount % count == 0 else amount / count
    return integer_cell(value) if isinstance(value, int) else Cell(f"{value:,.{digits}f}", value)


def fraction_cell(value: Fraction) -> Cell:
    """Whole where it is."""
    return quotient_cell(value.numerator, value.denominator, digits=1)


def rounded_cell(value: Fraction) -> Cell:
    """RSS, which is not exact."""
    return Cell(f"{float(value):,.0f}", float(value))


def format_bytes_in_blocks(size: int, blocks: int) -> str:
    """Return both as words."""
    return f"{size:,} B in {blocks:,} block{'' if blocks == 1 else 's'}"


def with_note(cell: Cell, note: str | None) -> Cell:
    """With this said of it too; of what is not there nothing more is said."""
    return replace(cell, note="; ".join(filter(None, (cell.note, note)))) if note and not cell.is_missing else cell


def percent(share: float) -> str:
    """Return a share, 1 for all, as percent with one decimal."""
    return f"{share:,.1%}".replace("%", " %")


def missing_cell(why: str) -> Cell:
    """A missing value, with its reason."""
    return Cell(MISSING, None, why, is_missing=True)


def value_cell(value: Any, form: Callable[[Any], Cell]) -> Cell:
    """The cell of a value that may be Missing."""
    return missing_cell(value.reason) if isinstance(value, Missing) else form(value)


@dataclass(frozen=True)
class Heading:
    """A column whose cells are made by its table."""

    key: str  # for programs
    heading: str  # for people
    left: bool = False
    usual: str | None = None  # goes without saying: people are not shown the column when every cell has this text
    optional: bool = False  # the first to be left out where a terminal has no room for all


@dataclass(frozen=True)
class Column(Heading):
    """A column that makes its own cells: `value` takes what it shows of a row, or says that it is Missing, and `form`
    writes it."""

    value: Callable[[Any], Any] = field(kw_only=True, compare=False)
    form: Callable[[Any], Cell] = field(default=text_cell, kw_only=True, compare=False)

    def cell(self, row: Any) -> Cell:
        """Return the column's cell of a row."""
        return value_cell(self.value(row), self.form)


def optional(column: AnyHeading) -> AnyHeading:
    """Return the column as one that a narrow terminal goes without."""
    return replace(column, optional=True)


@dataclass
class Table:
    """A table with a caption: its columns make the cells of its rows."""

    name: str
    title: str
    caption: str  # units, meters, what a reader must know
    columns: Sequence[Heading]
    rows: list[list[Cell]] = field(default_factory=list)
    without: list[str] = field(default_factory=list)  # what has no row, each with the reason
    more: str = ""  # that these are the first rows only, and what shows all
    headed: int = 1  # so many leading columns of names stand above their rows on a terminal

    def add_rows(self, rows: Iterable[Any]) -> None:
        """Rows of the kind that the values of the columns take; all columns make their own cells."""
        makers = [column for column in self.columns if isinstance(column, Column)]
        assert len(makers) == len(self.columns)
        self.rows += [[column.cell(row) for column in makers] for row in rows]

    def notes(self) -> dict[str, int]:
        """Each note once, numbered in the order of reading."""
        found = dict.fromkeys(cell.note for row in self.rows for cell in row if cell.note)
        return {note: number for number, note in enumerate(found, start=1)}

    def texts(self) -> list[list[str]]:
        """Return the texts of all cells, with the marks of their notes."""
        notes = self.notes()
        mark: dict[str | None, str] = {
            note: " " + str(number).translate(SUPERSCRIPTS) for note, number in notes.items()
        }
        return [[printable_text(cell.text) + mark.get(cell.note, "") for cell in row] for row in self.rows]

    def footnotes(self) -> list[str]:
        """Return the notes, each with its mark."""
        return [
            f"{str(number).translate(SUPERSCRIPTS)} {printable_text(note)}" for note, number in self.notes().items()
        ]


def select_rows(table: Table, key: str, value: Any) -> Table:
    """The rows with this value in the column."""
    at = [column.key for column in table.columns].index(key)
    return replace(table, rows=[row for row in table.rows if row[at].value == value])


def first_rows(table: Table, number: int, command: str) -> Table:
    """Return the first rows, with the command that shows all; the table itself if it has no more."""
    if len(table.rows) <= number:
        return table
    more = f"{number} of {len(table.rows):,} rows. All of them, with their notes: `{command}`"
    return replace(table, rows=table.rows[:number], without=[], more=more)
