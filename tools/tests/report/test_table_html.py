"""What a page has of a table: texts that it makes of the values of CSV are those of the table."""

import pytest

from tests.support.packed_table import read_texts, unpack
from tlsmem.report.table_html import SAMPLE, pack_rows, text_of_values
from tlsmem.tables.table import Cell, Heading, Table, missing_cell


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (["13997.9"], "13,998"),
        (["11703", "215"], "11,703 (215)"),
        (["-753.1"], "-753"),
        (["0"], "0"),
        (["", ""], "–"),
        (["inf"], None),
        (["tls13"], None),
    ],
)
def test_a_text_of_values(values, text):
    assert text_of_values(values) == text


def test_texts_that_follow_from_csv_are_not_packed_and_others_are_kept_by_row():
    columns = [Heading("stack", "stack"), Heading("bytes", "bytes"), Heading("heap", "heap"), Heading("word", "word")]
    table = Table("made", "made", "", columns)
    for at in range(3 * SAMPLE):
        size = round(1000.3 + 7 * at, 1)
        heap = {"bytes": 5000 + at, "rest": 0, "blocks": at}
        cells = (f"stack{at}", None), (f"{size:,.0f}", size), (f"{5000 + at:,} ({at})", heap), ("–", "none")
        table.rows.append([Cell(text, value if value is not None else text) for text, value in cells])
    table.rows[7][1] = Cell("twelve", 12.0)
    table.rows[8][2] = missing_cell("")
    found = unpack(pack_rows(table, table))
    assert [sorted(column) for column in found["columns"]] == [["texts"], ["of", "others"], ["of", "others"], ["texts"]]
    assert found["columns"][1]["others"] == {"7": "twelve"} and not found["columns"][2]["others"]
    for at in range(len(columns)):
        assert read_texts(found, at) == [row[at].text for row in table.rows]
