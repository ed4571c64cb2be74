"""Tables in the width of a terminal: no word is broken, and what there is no room for is named."""

import io
from collections.abc import Iterator

import pytest
import rich.console
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tlsmem.base.paths import ROOT
from tlsmem.schema.recording_files import is_recording
from tlsmem.store import read_runs
from tlsmem.tables import catalogue, layout, recording_contents, render, scenario_catalogue
from tlsmem.tables.table import Cell, Column, Heading, Table, optional, text_cell

COLUMNS = [
    Heading("what", "what is it", left=True),
    Heading("bytes", "bytes in all"),
    Heading("suite", "of", left=True),
]
ROWS = [["one two", "1,234 in 5", "tls13 rsa"], ["a row of one text heads others"], ["three\n< four", "6", "a"]]
EVERYTHING = dict.fromkeys(("stacks", "suites", "allocators", "windows", "roles", "peers", "envs", "cpus"))
RECORDINGS = sorted(filter(is_recording, (ROOT / "data").glob("20*/")))  # not of real servers alone


@pytest.mark.parametrize(
    ("room", "found"),
    [
        (99, [10, 12, 9]),
        (31, [10, 12, 9]),
        (30, [10, 11, 9]),  # `bytes in all` wraps,
        (26, [7, 10, 9]),
        (24, [5, 10, 9]),  # then `one two`,
        (15, [5, 5, 5]),  # then `1,234 in 5` and the name
        (14, None),
    ],
)
def test_headings_wrap_first_then_texts_then_figures_and_names(room, found):
    assert layout.column_widths(COLUMNS, ROWS, room) == found


@given(st.lists(st.lists(st.text("ab \n", max_size=20), min_size=3, max_size=3), max_size=5), st.integers(1, 90))
def test_no_word_is_wider_than_its_column_and_all_have_room(rows, room):
    found = layout.column_widths(COLUMNS, rows, room)
    texts = [[column.heading, *(row[at] for row in rows)] for at, column in enumerate(COLUMNS)]
    needed = [max(len(word) for text in several for word in text.split()) for several in texts]
    assert (found is None) == (sum(needed) > room)
    assert found is None or (sum(found) <= room and all(a >= b for a, b in zip(found, needed, strict=True)))


def table(columns: list[Column], *rows: list[str]) -> Table:
    return Table("t", "Title", "Caption.", columns, [[*map(text_cell, row)] for row in rows])


def drawn(made: Table, width: int) -> str:
    file = io.StringIO()
    render.terminal(made, rich.console.Console(file=file, width=width))
    return file.getvalue()


def numbers(count: int, *spare: int) -> list[Column]:
    columns = [Heading("stack", "stack", left=True), *(Heading(f"c{at}", f"figure{at}") for at in range(count))]
    return [optional(one) if one.key in {f"c{at}" for at in spare} else one for one in columns]


MANY = [[name, *(f"{at},000,000" for at in range(1, 7))] for name in ("null@c", "null@rust", "null@go", "openssl@3")]


def test_columns_without_room_are_left_out_from_the_end_and_named():
    text = drawn(table(numbers(6), *MANY), 60)
    assert "Columns left out at 60 characters: figure4, figure5. A wider\nterminal or --format csv shows all.\n" in text
    assert "4,000,000" in text and "5,000,000" not in text


def test_optional_columns_are_left_out_first():
    found = layout.fit_table(table(numbers(6, 1, 3), *MANY), 60)
    assert found.left_out == ("figure1", "figure3")
    assert [column.key for column in found.columns] == ["stack", "c0", "c2", "c4", "c5"]


def test_others_are_left_out_after_the_optional_ones():
    found = layout.fit_table(table(numbers(6, 0), *MANY), 40)
    assert found.left_out == ("figure0", "figure3", "figure4", "figure5")


def test_a_table_of_few_rows_is_transposed():
    found = layout.fit_table(table(numbers(6), *MANY[:3]), 60)
    assert [column.heading for column in found.columns] == ["stack", "null@c", "null@rust", "null@go"]
    assert found.rows[1] == ["figure1", "2,000,000", "2,000,000", "2,000,000"] and not found.left_out


def test_names_stand_above_their_rows_before_figures_are_left_out():
    columns = [Heading("suite", "suite", left=True), *numbers(3)]
    rows = [[suite, *row[:4]] for suite in ("tls12-rsa-aes256", "tls13-rsa-aes256") for row in MANY]
    found = layout.fit_table(table(columns, *rows), 45)
    assert found.rows[0] == ["tls12-rsa-aes256"] and not found.left_out
    assert [column.key for column in found.columns] == ["stack", "c0", "c1", "c2"]


def test_a_long_word_of_a_text_is_shortened_no_more_than_it_takes_and_a_figure_and_a_name_never():
    columns = [Heading("stack", "stack", left=True), Heading("bytes", "bytes"), Heading("by", "by", left=True)]
    rows = [["rustls+aws-lc+jemalloc@0.23.46", "123,456", f"{'a' * 30}{'z' * 30}"]] * 4
    found = layout.fit_table(table(columns, *rows), 80)
    assert found.shortened == ("by",) and found.width == 80
    assert found.rows[-1] == [rows[0][0], "123,456", f"{'a' * 19}…{'z' * 19}"]


def test_footnotes_of_columns_that_are_left_out_are_too():
    columns = numbers(6)
    made = table(columns, *MANY)
    made.rows[0][1] = Cell("1", 1, "why the first")
    made.rows[0][6] = Cell("6", 6, "why the last")
    text = drawn(made, 60)
    assert "¹ why the first" in text and "why the last" not in text


@given(
    st.lists(st.lists(st.text("abé界 \n<", max_size=30), min_size=4, max_size=4), min_size=1, max_size=6),
    st.sampled_from([0, 1, 2]),
    st.integers(10, 90),
)
def test_no_line_is_wider_than_the_terminal_and_no_word_is_broken(rows, headed, width):
    columns = [Heading(f"c{at}", f"c{at}", left=at < 3) for at in range(4)]
    made = table(columns, *rows)
    made.headed = headed
    check(made, width)


def check(made: Table, width: int) -> None:
    """Every line of the rows has room, and each word in them is a word of the table or has an ellipsis."""
    made = render.drop_silent_columns(made)
    found = layout.fit_table(made, width)
    cells = [column.heading for column in made.columns] + [text for row in made.texts() for text in row]
    words = {word for text in cells for word in (text.split() + text.replace(" < ", " ").split())}
    heads = {f"{word}," for word in (*words, "")}
    for line in render.draw(found, width).plain.splitlines():
        if set(line) - {"─"}:
            broken = [word for word in line.split() if word not in words and word not in heads and "…" not in word]
            assert not broken, (made.name, line, broken)
        assert cell_len(line) <= width or len(line.split()) == 1, (made.name, line)
    if not any(column.left for column in made.columns[1:]):
        return
    gone = {column.heading for column in made.columns} - {column.heading for column in found.table.columns}
    assert gone <= set(found.left_out)


def recorded_tables(folder) -> Iterator[Table]:
    records = list(read_runs.load(folder))
    yield from scenario_catalogue.build(scenario_catalogue.select_runs(records))
    contents = recording_contents.select(records, EVERYTHING)
    if contents.memory:
        yield from (make(contents.memory) for make in catalogue.list_makers().values())
    if contents.timed:
        yield from scenario_catalogue.build_timed(contents.timed)


def check_recording(folder) -> None:
    made = [one for one in recorded_tables(folder) if one.rows]
    assert made
    for one in made:
        for width in (60, 80, 120):
            check(one, width)


@pytest.mark.thorough
def test_no_table_of_the_smallest_recording_breaks_a_word():
    check_recording(RECORDINGS[0])


@pytest.mark.slow
@pytest.mark.parametrize("folder", RECORDINGS[1:], ids=lambda folder: folder.name)
def test_no_table_of_any_recording_breaks_a_word(folder):
    check_recording(folder)
