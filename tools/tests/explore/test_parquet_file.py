"""A profile as Parquet: DuckDB reads it, and its rows add up to what is live."""

import errno
import tempfile

import duckdb
import pytest
from hypothesis import given, settings

from tests.explore.test_profile_tables import profiles
from tests.support import handmade, in_process, planted
from tlsmem.cli.dispatch import run_words
from tlsmem.explore import parquet_file, profile_selection
from tlsmem.profile.frames import Frame
from tlsmem.profile.heap_profile import CallstackTree, LiveHeap, Moment, Profile


@pytest.fixture
def ask(tmp_path):
    def ask(query: str, profile: Profile, *chosen: object, **options: object) -> list[tuple]:
        file = tmp_path / "profile.parquet"
        file.write_bytes(parquet_file.pack(profile, *chosen, **options))
        return duckdb.sql(query.replace("FROM profile", f"FROM '{file}'")).fetchall()

    return ask


def test_duckdb_reads_what_is_live_by_moment_role_and_function(ask):
    one = handmade.profile()
    found = ask("SELECT phase, sum(live_bytes)::BIGINT FROM profile WHERE phase IS NOT NULL GROUP BY ALL", one)
    assert dict(found) == {name: moment.bytes for name, moment in one.moments.items()}
    servers = "SELECT sum(live_bytes)::BIGINT, sum(live_blocks)::BIGINT FROM profile WHERE phase = 'peak'"
    assert ask(f"{servers} AND role = 'server'", one) == [(3010, 5)]
    calls = "list_contains(list_transform(frames, lambda one: one.function), 'buffer_new')"
    assert ask(f"{servers} AND {calls}", one) == [(7000, 8)]
    (frames,) = ask("SELECT frames FROM profile WHERE phase = 'end'", one)[0]
    assert [one["function"] for one in frames] == ["malloc", "wires_new", "main"]
    assert frames[1] == {
        "function": "wires_new",
        "file": "src/wires_new.c",
        "line": 50,
        "module": handmade.MODULE,
        "offset": 0x1032,
    }


def test_what_was_allocated_over_the_run_is_in_rows_without_a_phase(ask):
    sums = "sum(allocated_bytes)::BIGINT, sum(allocated_blocks)::BIGINT, sum(temporary_blocks)::BIGINT"
    found = ask(f"SELECT phase IS NULL, {sums}, sum(live_bytes)::BIGINT FROM profile GROUP BY 1", handmade.profile())
    assert {row[0]: row[1:4] for row in found} == {True: (9894, 52, 40), False: (None, None, None)}
    assert {row[0]: row[4] for row in found}[True] is None


@settings(max_examples=10)
@given(profiles())
def test_they_add_up_to_what_is_live_at_each_moment(one):
    with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
        file.write(parquet_file.pack(one))
        file.flush()
        query = f"SELECT phase, sum(live_bytes)::BIGINT FROM '{file.name}' WHERE phase IS NOT NULL GROUP BY ALL"
        found = dict(duckdb.sql(query).fetchall())
    assert {name: found.get(name, 0) for name in one.moments} == {
        name: each.bytes for name, each in one.moments.items()
    }


def test_a_choice_has_the_chosen_rows_and_what_is_not_known_is_null(ask):
    one = handmade.profile(counts=False)
    assert ask("SELECT DISTINCT phase, role FROM profile", one, "sessions", "server", "libfoo") == [
        ("sessions", "server")
    ]
    assert ask("SELECT count(live_blocks) FROM profile", one) == [(0,)]
    assert ask("SELECT DISTINCT role, tls_stack FROM profile", handmade.foreign()) == [(None, None)]
    assert ask("SELECT count(*) FROM profile", handmade.foreign(), None, "client") == [(0,)]
    with pytest.raises(profile_selection.PatternNotFound):
        parquet_file.pack(one, pattern="nosuch")


def test_a_name_of_any_signs_is_read_and_an_address_of_that_run_is_left_out(ask):
    stacks = CallstackTree()
    frames = [Frame('"f\ud800\n\\', None, None, "m", 0x7F, True), Frame("ä" * 20_000, None, None, "m", 5)]
    moment = Moment("peak", 5, {handmade.number(stacks, frames): LiveHeap(5, 1)})
    ((inner, outer),) = ask("SELECT frames FROM profile", Profile("massif", "f", "c", stacks, {"peak": moment}))[0]
    assert (inner["function"], inner["offset"]) == ('"f??\\', None)
    assert (outer["function"], outer["offset"]) == ("ä" * 20_000, 5)


def test_the_command_writes_a_recording_s_profile_whole_or_not_at_all(capsys, monkeypatch, tmp_path):
    recording = planted.write(tmp_path / "2026-01-31-a-cpu", planted.counted())
    file = tmp_path / "x.parquet"
    words = ["heap", "read", str(recording), "--phase", "established", "--parquet", str(file)]
    assert in_process.exit_status(lambda: run_words(words)) == 0
    assert duckdb.sql(f"SELECT DISTINCT tls_stack, phase FROM '{file}'").fetchall() == [(planted.STACK, "established")]
    assert capsys.readouterr().out == ""
    before = file.read_bytes()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    assert in_process.exit_status(lambda: run_words(words)) == 1
    assert capsys.readouterr().err == f"memtest: {file}: No space left on device\n" and file.read_bytes() == before
    monkeypatch.undo()
    monkeypatch.setattr(tempfile, "tempdir", "/dev/null/nosuch")
    assert in_process.exit_status(lambda: run_words(words)) == 1
    assert "/dev/null/nosuch" in capsys.readouterr().err
    monkeypatch.undo()
    inside = recording / f"{planted.STACK}.jsonl"
    assert in_process.exit_status(lambda: run_words([*words[:-1], str(inside)])) == 2
    assert f"{inside} is " in capsys.readouterr().err
