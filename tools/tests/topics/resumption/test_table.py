"""The table resumption: what is written of a store that is full, of one that is not, and of none on the heap."""

from fractions import Fraction

from tests.support.synthetic_store import store
from tlsmem.tables import render
from tlsmem.topics.resumption.table import signed_cell, store_table


def rows(*runs):
    """The values of each row, by column."""
    made = store_table(list(runs))
    return [{column.key: cell.value for column, cell in zip(made.columns, row, strict=True)} for row in made.rows]


def test_a_store_says_until_when_an_entry_stays(snapshot):
    runs = [store(), store(stack="rustls+aws-lc@0.23.46", entry=(192, 3), most=100)]
    runs.append(store(stack="wolfssl@5.9.4", entry=(0, 0), protocol="TLSv1.2"))
    first, second, third = rows(*runs)
    assert (first["stack"], first["entry_bytes"], first["most_entries"]) == ("openssl@3.5.5", 952, None)
    assert first["until"] == "unbounded within 120 sessions"
    assert (second["entry_bytes"], second["most_entries"], second["until"]) == (192, 100, "100 newer ones")
    assert third["until"] == "a static table, not on the heap"
    assert render.format_tables([store_table(runs)], "markdown") == snapshot


def test_what_the_application_keeps_is_named_so():
    (row,) = rows(store(stack="gnutls@3.8.9", protocol="TLSv1.2"))
    assert row["place"] == "application's store"


def test_a_difference_has_its_direction():
    assert [signed_cell(value).text for value in map(Fraction, (16_569, 0, -248))] == ["+16,569", "0", "-248"]
