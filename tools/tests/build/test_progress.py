"""What builds show: how many of the stacks are built, which are being built, the time so far, and no time left."""

import time

import pytest

from tlsmem.build.progress import SECONDS_BETWEEN_LINES, BuildCount, CommandProgress


@pytest.fixture
def now(monkeypatch):
    moment = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: moment[0])
    return moment


def test_the_count_names_the_stacks_that_are_being_built():
    with BuildCount(3) as count:
        assert count.describe() == "0 of 3 stacks"
        count.start("a@1")
        count.start("b@1")
        assert count.describe() == "0 of 3 stacks, a@1 and b@1 build"
        count.end("a@1")
        assert count.describe() == "1 of 3 stacks, b@1 builds"


def line_of_log(now, capsys) -> str:
    """A command's line between its first and its last."""
    with CommandProgress("a@1: make", 300) as shown:
        now[0] += SECONDS_BETWEEN_LINES
        shown.update(10)
        now[0] += 1
        shown.update(12)
    first, *lines, last = capsys.readouterr().err.splitlines()
    assert (first, last) == ("a@1: make ...", f"a@1: make: done after {SECONDS_BETWEEN_LINES + 1} s")
    (line,) = lines
    return line


def test_a_log_has_files_the_time_so_far_and_the_count_of_stacks_now_and_then(now, capsys):
    with BuildCount(3) as count:
        count.start("a@1")
        now[0] += 60
        assert line_of_log(now, capsys) == "a@1: make: 16 s, 12 of 300 files; 0 of 3 stacks, a@1 builds, 76 s in all"


def test_a_stack_by_itself_is_not_counted(now, capsys):
    assert line_of_log(now, capsys) == "a@1: make: 16 s, 12 of 300 files"
    with BuildCount(1) as count:
        count.start("a@1")
        assert line_of_log(now, capsys) == "a@1: make: 16 s, 12 of 300 files"
