"""Widths of columns: what is broken first, and that words never are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tlsmem.tables import render
from tlsmem.tables.table import Column

COLUMNS = [Column("what", "what is it", left=True), Column("bytes", "bytes in all"), Column("suite", "of", left=True)]
ROWS = [["one two", "1,234 in 5", "tls13 rsa"], ["group"], ["three\n< four", "6", "a"]]


@pytest.mark.parametrize(
    ("room", "found"),
    [
        (99, [10, 12, 9]),
        (31, [10, 12, 9]),
        (30, [10, 11, 9]),  # `bytes in all` is broken,
        (26, [7, 10, 9]),
        (24, [5, 10, 9]),  # then `one two`,
        (15, [5, 5, 5]),  # then `1,234 in 5` and the name
        (14, None),
    ],
)
def test_headings_are_broken_first_then_texts_then_figures_and_names(room, found):
    assert render.widths(COLUMNS, ROWS, room) == found


@given(st.lists(st.lists(st.text("ab \n", max_size=20), max_size=3), max_size=5), st.integers(1, 90))
def test_no_word_is_wider_than_its_column_and_all_have_room(rows, room):
    found = render.widths(COLUMNS, rows, room)
    words = [
        [*column.heading.split(), *(word for row in rows for word in "".join(row[at : at + 1]).split())]
        for at, column in enumerate(COLUMNS)
    ]
    needed = [max(map(len, of)) for of in words]
    least = [min(width, render.LEAST) if column.left else width for column, width in zip(COLUMNS, needed, strict=True)]
    assert (found is None) == (sum(least) > room)
    needed = least if sum(needed) > room else needed
    assert found is None or (sum(found) <= room and all(a >= b for a, b in zip(found, needed, strict=True)))


def test_where_words_do_not_fit_texts_are_broken_and_figures_are_not():
    rows = [["a" * 40, "1" * 20, "x"]]
    assert render.widths(COLUMNS, rows, 40) == [18, 20, 2]
    assert render.widths(COLUMNS, rows, render.LEAST + 20 + 1) is None
