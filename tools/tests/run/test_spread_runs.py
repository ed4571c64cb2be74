"""Runs on executors of the standard library: each is recorded once, and only where builds are the same."""

import fcntl
import os
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from dataclasses import replace

import pytest

from tlsmem.config import definitions
from tlsmem.config.run import SYSTEM, Run
from tlsmem.run import remote_run, spread_runs
from tlsmem.run.provenance import Provenance
from tlsmem.run.remote_run import RefusedRun
from tlsmem.schema.records import RecordLine, record_cell_key, run_key
from tlsmem.store import read_runs

SMALL, LARGE = (Run("null@c", "none", SYSTEM, "all", sessions, "rss", 1) for sessions in (2, 20))


@pytest.fixture
def provenance():
    return Provenance(definitions.suites(), definitions.allocators())


@pytest.mark.thorough
def test_a_run_that_comes_back_twice_is_recorded_once(tmp_path, provenance, capsys):
    """As a cluster gives runs back that it made again."""
    runs = [SMALL, LARGE, SMALL]
    with ProcessPoolExecutor(2) as pool:
        result = spread_runs.record_all(runs, lambda builds: pool, provenance, tmp_path, None)
    assert result == (0, 0)
    recorded = read_runs.load(tmp_path)
    assert {(run.sessions, run.status) for run in recorded} == {(2, "measured"), (20, "measured")}
    assert len(recorded) == 2
    assert {record_cell_key(run) for run in recorded} == {provenance.cell_key(SMALL), provenance.cell_key(LARGE)}
    assert {run.key for run in recorded} == {provenance.key(SMALL), provenance.key(LARGE)}
    assert "   3/3 " in capsys.readouterr().err


def test_a_run_is_refused_where_the_binary_is_another(provenance):
    with pytest.raises(RefusedRun, match=r"its build of null@c is [0-9a-f]{12}, not 000000000000$"):
        remote_run.measure(SMALL, {"null@c": 64 * "0"}, provenance.cell_key(SMALL), None)


def test_a_run_is_refused_where_it_would_be_another_run(provenance):
    """The key is of a run with other arguments: of an older memtest/suites.toml, for instance."""
    with pytest.raises(RefusedRun, match="not the heap meter, the allocator or memtest"):
        remote_run.measure(SMALL, spread_runs.builds_of(SMALL), provenance.cell_key(LARGE), None)


def test_a_run_that_was_refused_is_said_and_not_recorded(tmp_path, provenance, capsys):
    """Its stack is built for who asks, and for nobody else: the other has no such harness."""
    with ProcessPoolExecutor(1, initializer=hide_harnesses, initargs=(tmp_path,)) as pool:
        result = spread_runs.record_all([SMALL], lambda builds: pool, provenance, tmp_path, None)
    assert result == (0, 1)
    assert "not made: null@c is not built: make it with `tools/tls-memtest build null@c`" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


class Answering(Executor):
    """Runs nothing, and answers every run with the same, or fails with it."""

    def __init__(self, answer):
        self.answer = answer

    def submit(self, *_, **__):
        future = Future()
        if isinstance(self.answer, BaseException):
            future.set_exception(self.answer)
        elif self.answer is DROPPED:
            future.cancel()
            future.set_running_or_notify_cancel()
        else:
            future.set_result(self.answer)
        return future


DROPPED = object()


@pytest.fixture(scope="module")
def answer():
    """The record of SMALL, a line of JSON."""
    known = Provenance(definitions.suites(), definitions.allocators())
    return remote_run.measure(SMALL, spread_runs.builds_of(SMALL), known.cell_key(SMALL), None)


def forged(answer, **fields):
    """The record with other fields, and the key and the checksum that go with them."""
    changed = RecordLine.model_validate_json(answer).model_copy(update=fields)
    return changed.model_copy(update={"key": run_key(changed.model_dump())}).to_json_line()


def test_an_answer_counts_for_its_own_run_only(tmp_path, provenance, answer, capsys):
    runs = [replace(SMALL, repeat=repeat) for repeat in range(1, 7)]
    result = spread_runs.record_all(runs, lambda builds: Answering(answer), provenance, tmp_path, None)
    assert result == (0, 5)
    (recorded,) = read_runs.load(tmp_path)
    assert recorded.key == provenance.key(SMALL)
    told = capsys.readouterr().err.splitlines()
    another = "the machine answered with another run: the run of null@c, none, N = 2, repeat 1"
    assert sum(f"not made: {another}" in line for line in told) == 5


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"stack": "../../escaped"}, "another run: the run of ../../escaped, none, N = 2, repeat 1"),
        ({"suite": "no such suite"}, "another run: the run of null@c, no such suite, N = 2, repeat 1"),
        ({"binary_sha256": 64 * "0"}, "another run: the run of null@c, none, N = 2, repeat 1"),
    ],
    ids=["stack", "suite", "binary"],
)
def test_a_record_of_something_else_is_not_made_and_written_nowhere(
    tmp_path, provenance, answer, change, sentence, capsys
):
    out = tmp_path / "a/b"
    out.mkdir(parents=True)
    executor = Answering(forged(answer, **change))
    assert spread_runs.record_all([SMALL], lambda builds: executor, provenance, out, None) == (0, 1)
    assert f"not made: the machine answered with {sentence}" in capsys.readouterr().err
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == []


@pytest.mark.parametrize(
    ("answered", "sentence"),
    [
        (None, "the machine answered with NoneType, not with a record"),
        ("text", "the machine answered with str, not with a record"),
        (b"", "the machine's answer is not a record of schema"),
        (b"{}\n", "the machine's answer is not a record of schema"),
        (b"\xff", "the machine's answer is not a record of schema"),
        (SystemExit(0), "SystemExit: 0"),
        (ValueError("\x1b[2Jtwo\nlines"), "ValueError: ?[2Jtwo?lines"),
        (DROPPED, "the cluster dropped it"),
    ],
    ids=["none", "text", "nothing", "empty", "no-text", "exit", "escapes", "dropped"],
)
def test_an_answer_that_is_no_record_is_not_made(tmp_path, provenance, answered, sentence, capsys):
    executor = Answering(answered)
    assert spread_runs.record_all([SMALL], lambda builds: executor, provenance, tmp_path, None) == (0, 1)
    assert f"not made: {sentence}" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_an_answer_that_was_changed_on_its_way_is_not_made(tmp_path, provenance, answer, capsys):
    executor = Answering(answer.replace(b'"measured"', b'"measurex"'))
    assert spread_runs.record_all([SMALL], lambda builds: executor, provenance, tmp_path, None) == (0, 1)
    assert "not made: the machine's answer was changed after it was recorded" in capsys.readouterr().err


def hide_harnesses(folder):
    from tlsmem.run import provenance

    provenance.HARNESSES = folder


def test_a_machine_is_held_by_one_measurement(tmp_path):
    with remote_run.hold_machine(str(tmp_path)):
        other = os.open(tmp_path / remote_run.MACHINE_LOCK, os.O_RDONLY)
        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(other)
