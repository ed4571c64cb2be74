"""One campaign records at a time, and timed ones run alone: others are refused, or wait and say so."""

import fcntl
import os
import threading
import time

import pytest

from tlsmem.run import exclusive
from tlsmem.schema import append_records


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A checkout of its own, whose locks are given up at the end."""
    monkeypatch.setattr(exclusive, "ROOT", tmp_path)
    monkeypatch.setattr(exclusive, "held_locks", [])
    monkeypatch.setattr(append_records, "held_locks", [])
    (tmp_path / "build/harness").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    yield tmp_path
    for lock in (*exclusive.held_locks, *append_records.held_locks):
        os.close(lock)


def lock_directory(directory, how):
    lock = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(lock, how)
    return lock


@pytest.mark.parametrize(
    ("locked", "how", "timed"),
    [
        ("out", fcntl.LOCK_EX, False),
        ("build/harness", fcntl.LOCK_EX, False),
        ("build/harness", fcntl.LOCK_SH, True),
        ("build/harness", fcntl.LOCK_EX, True),
    ],
)
def test_a_claim_says_so_and_waits(place, locked, how, timed, capsys, snapshot):
    other = lock_directory(place / locked, how)
    waiting = threading.Thread(target=exclusive.claim_to_record, args=(place / "out", timed), daemon=True)
    waiting.start()
    until = time.monotonic() + 20
    while not (told := capsys.readouterr().err) and time.monotonic() < until:
        time.sleep(0.01)
    assert waiting.is_alive()
    assert told.replace(str(place), "TMP") == snapshot
    os.close(other)
    waiting.join(20)
    assert not waiting.is_alive()
    with pytest.raises(BlockingIOError):
        lock_directory(place / "out", fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_campaigns_that_are_not_timed_run_side_by_side(place, capsys):
    other = lock_directory(place / "build/harness", fcntl.LOCK_SH)
    exclusive.claim_to_record(place / "out", timed=False)
    assert capsys.readouterr().err == ""
    os.close(other)
