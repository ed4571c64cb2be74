"""The table of a runtime's own figures: heap, goroutine stacks and RSS before and after a collection."""

import pytest

from tests.support import synthetic
from tests.tables.test_stacks import BORING, CLASSIC, OPENSSL, by_key, split, with_books
from tlsmem.stats.runtime_parts import NOT_COLLECTED, OLDER_RUNS
from tlsmem.stats.selection import select
from tlsmem.tables import catalogue

FIGURES = {"live_bytes": 5_000, "stack_inuse_bytes": 4_096, "rss_after_collection_bytes": 9_500}  # of a session


def books_of(*figures: str):
    """Books of Go's with these figures; a process by itself has a megabyte of each."""
    return lambda _, sessions: {"go": {name: 10**6 + FIGURES[name] * sessions for name in figures}}


def rss_runs(stack: str) -> list:
    return [run for run in split(stack) if run.meter == "rss"]


def shown(*figures: str):
    runs = [with_books(run, books_of(*figures)) for run in rss_runs(OPENSSL)]
    return by_key(*catalogue.build(select([*runs, *rss_runs(BORING)]), ["runtime"]))


def test_each_figure_is_what_one_more_session_of_the_role_adds():
    rows = shown(*FIGURES)
    assert [(row["stack"].text, row["process"].text, row["at"].text) for row in rows] == [
        (OPENSSL, "client", "at rest"), (OPENSSL, "server", "at rest"),
    ]  # fmt: skip
    for row in rows:
        assert {name: row[name].value for name in FIGURES} == FIGURES
        assert row["rss_bytes"].value > 0


def test_in_a_process_of_both_ends_it_is_of_one_session_too():
    runs = [run for run in synthetic.campaign([OPENSSL], [CLASSIC]) if run.meter == "rss"]
    books = books_of(*FIGURES)
    both = [with_books(run, lambda phase, pairs: books(phase, 2 * pairs)) for run in runs]
    row = by_key(*catalogue.build(select(both), ["runtime"]))[0]
    assert {name: row[name].value for name in FIGURES} == FIGURES


def test_a_figure_that_is_not_there_says_why():
    rows = shown("stack_inuse_bytes")  # left alone
    assert rows[0]["live_bytes"].note == rows[0]["rss_after_collection_bytes"].note == NOT_COLLECTED.reason
    assert rows[0]["stack_inuse_bytes"].value == FIGURES["stack_inuse_bytes"]
    rows = shown("live_bytes", "stack_inuse_bytes")  # older
    assert rows[0]["rss_after_collection_bytes"].note == OLDER_RUNS.reason


def test_without_a_runtime_there_is_no_such_table(snapshot):
    with pytest.raises(ValueError, match="runtime") as error:
        catalogue.build(select(rss_runs(BORING)), ["runtime"])
    assert str(error.value) == snapshot


def test_a_peak_with_garbage_in_it_keeps_to_no_line_though_nothing_was_collected():
    row = by_key(
        *catalogue.build(
            select([with_books(run, books_of("stack_inuse_bytes")) for run in rss_runs(OPENSSL)]), ["c10k"]
        )
    )[0]
    assert "garbage between two collections" in row["origin"].note
