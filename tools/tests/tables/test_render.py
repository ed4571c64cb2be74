"""Markdown of a table: what others named is text there, not HTML."""

from tlsmem.tables import render
from tlsmem.tables.table import Cell, Heading, Table, text_cell

HOSTILE = "<img src=x>|<rustls::Buffer as core::clone::Clone>"


def test_no_text_of_a_table_is_html_in_markdown():
    note = Cell("1", 1, HOSTILE)
    columns = [Heading("name", "name", left=True), Heading("size", "size")]
    table = Table("t", HOSTILE, HOSTILE, columns, [[text_cell(HOSTILE), note]], without=[HOSTILE])
    text = render.markdown(table)
    assert text.count("&lt;img src=x>") == 5 and text.count("&lt;rustls::Buffer") == 5 and "<" not in text
    assert "| &lt;img src=x>\\|&lt;rustls" in text


def test_callers_and_comparisons_stay_readable():
    table = Table("t", "a < b", "1 <2", [Heading("by", "by", left=True)], [[text_cell("malloc < main")]])
    assert render.markdown(table).count("&lt;") == 0
