"""Widths of a table's columns on a terminal, so that words stay whole and figures on one line where there is room."""

from collections.abc import Iterator, Sequence

from tlsmem.tables.table import Column

UNBROKEN = ("suite", "stack", "role", "process", "peer", "at", "peak_phase")  # names
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
    for breaks in (lambda _: False, lambda column: column.left and column.key not in UNBROKEN, lambda _: True):
        least = [
            max([word(column.heading), *map(word if breaks(column) else longest, texts)])
            for column, texts in zip(columns, cells, strict=True)
        ]
        yield least
    yield [min(width, LEAST) if column.left else width for column, width in zip(columns, least, strict=True)]


def longest(text: str) -> int:
    return max(map(len, text.split("\n")))


def word(text: str) -> int:
    return max(map(len, text.split()), default=0)
