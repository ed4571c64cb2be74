"""A result is computed once for its arguments and code, and whatever happens to the file, it is the right one."""

import sqlite3
import subprocess
import sys
from contextlib import closing, contextmanager
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tlsmem.base import memo
from tlsmem.base.paths import ROOT

CODE = b"code"
MANY = [(number, 10**9 + number) for number in range(400)]  # arguments of results that fill several pages
SEVERAL_COMMANDS = """
import sys
from pathlib import Path
from tlsmem.base import memo
memo.FILE = Path(sys.argv[1])
for _ in range(30):
    print([memo.recall("squares", [n], b"code", lambda: [n * n] * 50) for n in range(100)])
    memo.write_results()
    memo.pending.clear()
    memo.open_results.cache_clear()
"""


@contextmanager
def results_in(place):
    """The file of results is this one, as it would be for a command that begins now."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(memo, "FILE", place)
        monkeypatch.setattr(memo, "pending", {})
        memo.open_results.cache_clear()
        try:
            yield place
        finally:
            close()


def close():
    if connection := memo.open_results():
        connection.close()
    memo.open_results.cache_clear()


def next_command():
    memo.write_results()
    memo.pending.clear()
    close()


@pytest.fixture
def file(tmp_path):
    with results_in(tmp_path / "records/results.sqlite") as place:
        yield place


@pytest.fixture
def computed():
    return []


def ask(computed, arguments=(1,), code=CODE, name="sum"):
    return memo.recall(name, list(arguments), code, lambda: computed.append(arguments) or sum(arguments))


def ask_many(computed):
    """Ask for many results, which must be right, in a command of their own."""
    assert [ask(computed, one) for one in MANY] == [sum(one) for one in MANY]
    next_command()


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A file of many results."""
    with results_in(tmp_path_factory.mktemp("results") / "results.sqlite") as place:
        ask_many([])
        return place.read_bytes()


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


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None))
VALUES = st.recursive(SCALARS, lambda some: st.lists(some) | st.dictionaries(st.text(), some), max_leaves=20)


@pytest.mark.thorough
@example(value="\udc80")  # no UTF-8
@given(value=VALUES)
def test_a_result_that_is_recalled_is_the_one_that_was_computed(tmp_path_factory, value):
    with results_in(tmp_path_factory.mktemp("results") / "results.sqlite"):
        first = memo.recall("any", [], CODE, lambda: value)
        next_command()
        recalled = memo.recall("any", [], CODE, pytest.fail)
        assert repr(first) == repr(recalled) == repr(value)  # NaN equals nothing


def test_what_cannot_be_computed_is_not_kept(file):
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            memo.recall("quotient", [], CODE, lambda: 1 / 0)
    assert memo.pending == {}


@pytest.mark.thorough
@settings(max_examples=50)
@given(seed=st.integers(0, 1 << 32), flips=st.integers(0, 200), lost=st.integers(0, 20_000))
def test_results_are_right_after_bits_flipped_or_the_end_was_lost(written, tmp_path_factory, seed, flips, lost):
    damaged, random = bytearray(written[: len(written) - lost]), Random(seed)
    for _ in range(flips):
        damaged[random.randrange(len(damaged))] ^= 1 << random.randrange(8)
    with results_in(tmp_path_factory.mktemp("results") / "results.sqlite") as place:
        place.write_bytes(damaged)
        for _ in range(3):
            ask_many([])


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"no database, " * 1000,
        lambda content: content[: len(content) // 2],
        lambda content: content.replace(
            b"CREATE TABLE", b"CREATE \xf4ABLE"
        ),  # SQLite quotes it, Python cannot decode it
        lambda content: content[:18] + b"\x07" + content[19:],  # a later version of SQLite's format: it is read-only
    ],
)
def test_a_damaged_file_is_replaced(file, written, computed, damage):
    file.parent.mkdir()
    file.write_bytes(damage(written))
    ask_many([])
    ask(computed, (2, 2))
    next_command()
    ask_many([])
    ask_many(computed)
    assert ask(computed, (2, 2)) == 4
    assert computed == [(2, 2)]


def test_a_result_of_another_key_is_none(file, computed):
    """Its checksum covers the key, as pages of a file may get mixed up."""
    ask(computed, (1,))
    ask(computed, (2,))
    next_command()
    with closing(sqlite3.connect(file)) as connection, connection:
        (first,), (second,) = connection.execute("SELECT result FROM results ORDER BY key").fetchall()
        connection.execute("UPDATE results SET result = CASE result WHEN ?1 THEN ?2 ELSE ?1 END", [first, second])
    assert [ask(computed, (1,)), ask(computed, (2,))] == [1, 2]
    assert len(computed) == 4


@pytest.mark.parametrize(
    "table",
    [
        "results (key BLOB PRIMARY KEY, result TEXT) WITHOUT ROWID",
        "results (key TEXT, result BLOB, at REAL)",
        "results (number INTEGER)",
        "others (key BLOB)",
    ],
)
def test_a_file_of_another_version_is_replaced(file, computed, table):
    file.parent.mkdir()
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(f"CREATE TABLE {table}")
    ask_many(computed)
    ask_many(computed)
    assert len(computed) == len(MANY)


def test_text_of_an_earlier_version_is_no_result(file, computed):
    ask(computed)
    next_command()
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE results SET result = '2'")
    assert ask(computed) == 1


def test_a_locked_file_is_neither_read_nor_written_nor_waited_for_again(file, computed):
    ask_many(computed)
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert ask(computed, MANY[0]) == sum(MANY[0])
        other.execute("ROLLBACK")
        assert ask(computed, MANY[1]) == sum(MANY[1])
        assert computed[len(MANY) :] == MANY[:2]
        assert ask(computed, (5, 5)) == 10
        other.execute("BEGIN EXCLUSIVE")
        next_command()
    ask(computed, (5, 5))
    assert computed.count((5, 5)) == 2
    next_command()
    ask_many(computed)
    assert len(computed) == len(MANY) + 4, "what was there before is not lost"


def test_what_a_killed_command_left_half_written_is_undone(file, computed):
    ask_many(computed)
    half = "PRAGMA cache_size = 1; BEGIN; UPDATE results SET result = zeroblob(44)"  # more than stays in memory
    kill = f"import os, sqlite3, sys; sqlite3.connect(sys.argv[1]).executescript('{half}'); os._exit(0)"
    subprocess.run([sys.executable, "-c", kill, str(file)], check=True)
    assert file.with_name(f"{file.name}-journal").stat().st_size
    ask_many(computed)
    ask_many(computed)
    assert len(computed) == 2 * len(MANY)


def test_reading_makes_no_file(file, computed):
    file.parent.mkdir()
    ask(computed)
    assert not list(file.parent.iterdir())


def test_a_place_that_cannot_be_written_is_no_error(file, computed):
    file.parent.write_text("a file, and no folder")
    ask_many(computed)
    ask_many(computed)
    assert len(computed) == 2 * len(MANY)


def test_a_folder_in_its_place_is_no_error(file, computed):
    file.mkdir(parents=True)
    ask_many(computed)
    ask_many(computed)
    assert len(computed) == 2 * len(MANY)


def test_a_file_system_that_is_read_only_is_read(small_disk, computed):
    with results_in(small_disk / "results.sqlite"):
        ask(computed)
        next_command()
        remount = ["mount", "-o", "remount,ro", str(small_disk)]
        subprocess.run(remount, check=True)
        assert [ask(computed), ask(computed, (2,))] == [1, 2]
        next_command()
        assert [ask(computed), ask(computed, (2,))] == [1, 2]
    assert computed == [(1,), (2,), (2,)]


def test_on_a_full_disk_results_are_right_and_earlier_ones_stay(small_disk, computed):
    with results_in(small_disk / "results.sqlite"):
        ask(computed)
        next_command()
        (small_disk / "others").write_bytes(bytes((40 << 10) - 4 * 4096))
        ask_many(computed)
        assert len(computed) == 1 + len(MANY)
        assert ask(computed) == 1
        ask_many(computed)
        assert len(computed) == 1 + 2 * len(MANY)


@pytest.mark.thorough
def test_two_commands_at_once_agree(file):
    command = [sys.executable, "-c", SEVERAL_COMMANDS, str(file)]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT / "tools") for _ in range(2)]
    squares = f"{[[n * n] * 50 for n in range(100)]}\n".encode()
    assert [one.communicate() for one in started] == [(squares * 30, None)] * 2
    with results_in(file):
        assert memo.recall("squares", [99], CODE, pytest.fail) == [99 * 99] * 50


def test_a_file_that_grew_too_large_begins_anew_and_keeps_what_comes(file, computed, monkeypatch):
    ask(computed, (1, 1))
    next_command()
    monkeypatch.setattr(memo, "MOST_BYTES", 1)
    ask(computed, (2, 2))
    next_command()
    assert [ask(computed, (2, 2)), ask(computed, (1, 1))] == [4, 2]
    assert computed == [(1, 1), (2, 2), (1, 1)]


def test_what_a_wheel_brings_along_is_not_computed(file, computed, monkeypatch):
    brought = {memo.brought_key(memo.make_key("sum", [1], CODE)): 7}
    monkeypatch.setattr(memo, "read_brought", lambda: brought)
    assert (ask(computed), ask(computed, (2,))) == (7, 2)
    next_command()
    brought.clear()
    assert (ask(computed), computed) == (7, [(2,)])  # it was kept with the others
