"""Runs on executors of the standard library: each is recorded once, and only where builds are the same."""

import fcntl
import os
from concurrent.futures import ProcessPoolExecutor

import pytest

from tlsmem.config import definitions
from tlsmem.config.run import SYSTEM, Run
from tlsmem.run import remote_run, spread_runs
from tlsmem.run.provenance import Provenance
from tlsmem.run.remote_run import RefusedRun
from tlsmem.schema import read_records
from tlsmem.schema.records import record_cell_key

SMALL, LARGE = (Run("null@c", "none", SYSTEM, "all", sessions, "rss", 1) for sessions in (2, 20))


@pytest.fixture
def provenance():
    return Provenance(definitions.suites(), definitions.allocators())


def test_a_run_that_comes_back_twice_is_recorded_once(tmp_path, provenance, capsys):
    """As a cluster gives runs back that it made again."""
    runs = [SMALL, LARGE, SMALL]
    with ProcessPoolExecutor(2) as pool:
        result = spread_runs.record_all(runs, lambda builds: pool, provenance, tmp_path, None)
    assert result == (0, 0)
    recorded = read_records.load(tmp_path)
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
    assert "not made: null@c is not built: make it with `tools/build.py null@c`" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


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
