"""A result is computed once for its arguments and code, and whatever happens to the file, commands go on."""

import sqlite3

import pytest

from tlsmem.base import memo

CODE = b"code"


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setattr(memo, "FILE", tmp_path / "records/results.sqlite")
    monkeypatch.setattr(memo, "pending", {})
    memo.open_results.cache_clear()
    yield memo.FILE
    memo.open_results.cache_clear()


@pytest.fixture
def computed():
    return []


def ask(computed, arguments=(1,), code=CODE, name="sum"):
    return memo.recall(name, list(arguments), code, lambda: computed.append(arguments) or sum(arguments))


def next_command():
    memo.write_results()
    memo.pending.clear()
    memo.open_results.cache_clear()


def test_a_result_is_computed_once(file, computed):
    assert [ask(computed), ask(computed)] == [1, 1]
    next_command()
    assert ask(computed) == 1
    assert len(computed) == 1


@pytest.mark.parametrize("other", [{"arguments": (2,)}, {"code": b"other"}, {"name": "other"}])
def test_other_arguments_code_or_name_are_another_result(file, computed, other):
    ask(computed)
    next_command()
    ask(computed, **other)
    assert len(computed) == 2


def test_what_cannot_be_computed_is_not_kept(file):
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            memo.recall("quotient", [], CODE, lambda: 1 / 0)
    assert memo.pending == {}


def test_a_damaged_file_is_no_error(file, computed):
    ask(computed)
    next_command()
    file.write_bytes(b"no database")
    memo.open_results.cache_clear()
    assert ask(computed) == 1
    next_command()
    assert len(computed) == 2


def test_a_place_that_cannot_be_written_is_no_error(file, computed):
    file.parent.write_text("a file, and no folder")
    assert ask(computed) == 1
    next_command()
    assert ask(computed) == 1
    assert len(computed) == 2


def test_a_file_that_grew_too_large_begins_anew_and_keeps_what_comes(file, computed, monkeypatch):
    ask(computed, (1, 1))
    next_command()
    monkeypatch.setattr(memo, "MOST_BYTES", 1)
    ask(computed, (2, 2))
    next_command()
    with sqlite3.connect(file) as connection:
        assert connection.execute("SELECT result FROM results").fetchall() == [("4",)]
