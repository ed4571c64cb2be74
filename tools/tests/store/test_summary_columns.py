"""Columns of a summary are small numbers, and come back as they were."""

import pytest
from hypothesis import given, strategies
from pydantic_core import from_json, to_json

from tlsmem.store import summary_columns, tables
from tlsmem.store.columns import encode_column

BEFORE = [None, None, 0, 1, 0, 4]  # of two runs: a process each of client and server, and then a client alone
PAGE = summary_columns.PAGE_BYTES


def make_table(**columns):
    """Return a table of six rows; a column that is not named has no value."""
    names = {*summary_columns.SOURCES, *(one for some in summary_columns.SOURCES.values() for one in some)}
    return dict.fromkeys(names, 6) | columns


def pack(name, **columns):
    """Return a column as it is packed, after it has come back as it was."""
    table = make_table(**columns)
    packed = from_json(to_json(summary_columns.pack_numbers(table, table, BEFORE)))
    found = dict(packed)
    summary_columns.unpack_numbers(found, table, BEFORE)
    assert found == table
    return packed[name]


def test_a_row_comes_after_one_of_its_process_in_the_run_or_else_after_the_first_of_an_earlier_run():
    processes = ["client", "server", "client", "server", "client", "client"]
    assert summary_columns.find_rows_before(processes, [4, 2]) == BEFORE
    assert summary_columns.find_rows_before(["both", "client", "both"], [1, 0, 1, 1]) == [None, None, 0]


def test_pages_are_counted_from_the_row_before():
    pages = [10, 20, 13, 20, 11, 12]
    packed = pack("rss_anon_bytes", rss_anon_bytes=[PAGE * one for one in pages])
    assert packed == {"by": PAGE, "rows": [10, 20, 3, 0, 1, 1]}


def test_what_nothing_divides_stands_as_it_is():
    assert pack("vm_data_bytes", vm_data_bytes=[10, 20, 13, None, 11, 12]) == [10, 20, 3, None, 1, 1]
    assert pack("vm_data_bytes", vm_data_bytes=[0] * 6) == [0] * 6


def test_a_fault_is_expected_for_each_page_and_those_of_a_phase_since_the_row_before():
    faults = {"rss_anon_bytes": [PAGE, PAGE, 3 * PAGE, PAGE, PAGE, PAGE], "minor_faults": [5, 7, 8, 7, 5, 6]}
    assert pack("minor_faults", **faults) == [4, 6, 1, 0, 0, 1]
    assert pack("phase_minor_faults", **faults, phase_minor_faults=[5, 7, 3, 1, None, 1]) == [0, 0, 0, 1, None, 0]


def test_a_peak_is_expected_at_what_is_live_and_a_total_at_the_sum_of_all():
    amounts = {f"{owner}_live_bytes": [100, 200, 300, None, 5, 6] for owner in summary_columns.OWNERS}
    total = [5 * 100 + 4, 5 * 200 - 25, 5 * 300, None, 25, 30]
    assert pack("total_live_bytes", **amounts, total_live_bytes=total) == [4, -25, 0, None, 0, 0]
    assert pack("client_live_bytes", **amounts) == [100, 200, 200, None, -95, 1]
    assert pack("client_peak_bytes", **amounts, client_peak_bytes=[107, 200, 301, None, 5, 6]) == [7, 0, 1, None, 0, 0]
    assert pack("client_peak_bytes", client_peak_bytes=[7, None, 3, 4, 5, 7]) == [7, None, 3, 4, 5, 7]


@pytest.mark.thorough
@given(
    strategies.lists(
        strategies.sampled_from(sorted(make_table())).flatmap(
            lambda name: strategies.tuples(
                strategies.just(name),
                strategies.lists(strategies.none() | strategies.integers(0, 2**60), min_size=6, max_size=6),
            )
        )
    )
)
def test_whatever_the_numbers_are_they_come_back(columns):
    pack("rss_bytes", **dict(columns))


def test_rows_are_counted_back_from_the_next_new_value():
    column = {"values": ["a", None, "b"], "rows": [0, 1, 1, 0, 2, 2]}
    packed = summary_columns.count_back(column)
    assert packed["rows"] == [0, 0, 1, 2, 0, 1]
    assert summary_columns.count_forth(packed) == column
    assert summary_columns.count_forth(summary_columns.count_back(6)) == 6


def test_numbers_of_a_text_are_counted_from_the_row_before_where_it_has_the_same_form():
    texts = ['{"a":4096,"b":9}', '{"a":8192,"b":20}', '{"a":8192,"b":7}', None, "none", '{"a":4096,"b":8}']
    column = from_json(encode_column(texts, tables.TEXT))
    made, forms = summary_columns.split_numbers([column], [BEFORE])
    assert made[0]["values"] == [0, 0, 0, None, 1, 0]
    assert forms[0][2] == [{"by": 4096, "rows": [1, 2, 1, 1]}, [9, 20, -2, 8]]
    assert summary_columns.join_numbers(*from_json(to_json([made, forms])), [BEFORE]) == [column]


texts_with_numbers = strategies.lists(
    strategies.none() | strategies.sampled_from(["a1", "a2", "a7", "05", "-3"]) | strategies.text('{"a:-.05e9'),
    min_size=6,
    max_size=6,
)


@pytest.mark.thorough
@given(strategies.lists(texts_with_numbers.map(lambda texts: from_json(encode_column(texts, tables.TEXT)))))
def test_texts_come_back_from_their_numbers(columns):
    befores = [BEFORE] * len(columns)
    packed = from_json(to_json(summary_columns.split_numbers(columns, befores)))
    assert summary_columns.join_numbers(*packed, befores) == columns
