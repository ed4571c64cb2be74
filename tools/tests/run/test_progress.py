"""The time left of a campaign: by how long its runs took until now, kind by kind."""

import time

import pytest

from tlsmem.config.run import SYSTEM, Run
from tlsmem.run.progress import START, RunBoard
from tlsmem.run.validate import Outcome

MEASURED = Outcome("measured", None, [], "", 0)


@pytest.fixture
def now(monkeypatch):
    moment = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: moment[0])
    return moment


def run(stack: str, sessions: int) -> Run:
    return Run(stack, "tls13-rsa-aes256", SYSTEM, "all", sessions, "rss", 1)


def finish(board: RunBoard, now: list[float], one: Run, seconds: float) -> None:
    board.start(0, one)
    now[0] += seconds
    board.finish(0, one, MEASURED)


def test_nothing_is_claimed_before_anything_has_ended(now, capsys):
    board = RunBoard([run("a@1", 900), run("b@1", 900)], 1)
    assert board.remaining_s() is None and board.left() == "0/2, time left unknown"


def test_each_kind_of_run_goes_on_as_it_went_and_others_as_the_average(now, capsys):
    small, large = 400 - START, 4000 - START
    runs = [run("a@1", small), run("b@1", small), run("a@1", large), run("c@1", small)]
    board = RunBoard(runs, 1)
    finish(board, now, runs[0], 4.0)
    finish(board, now, runs[1], 12.0)
    assert board.remaining_s() == pytest.approx(40 + 8)
    assert "2/4 b@1" in capsys.readouterr().err.splitlines()[-1]


def test_what_runs_has_less_to_go_and_slots_share_the_rest(now, capsys):
    runs = [run("a@1", 1000 - START), run("a@1", 500 - START), run("a@1", 250 - START)]
    board = RunBoard(runs, 2)
    finish(board, now, runs[1], 10.0)
    board.start(0, runs[0])
    now[0] += 5.0
    assert board.remaining_s() == pytest.approx(15.0)  # of the longest, and not (15 + 5) / 2
    now[0] += 60.0
    assert board.remaining_s() == pytest.approx(6.5)  # it has taken 65 s of an expected 20 s


def test_the_time_left_is_known_once_runs_have_taken_half_a_minute_however_little_of_all_that_is(now, capsys):
    runs = [run("a@1", 200 - START), *(run("a@1", 100_000 - START + repeat) for repeat in range(3))]
    board = RunBoard(runs, 1)
    finish(board, now, runs[0], 29.0)
    assert board.remaining_s() is None
    board = RunBoard(runs, 1)
    finish(board, now, runs[0], 30.0)
    assert board.remaining_s() == pytest.approx(300_003 * 30 / 200)


def test_a_line_of_a_campaign_without_a_terminal_has_the_time_left_and_no_escape_codes(now, capsys):
    runs = [run("a@1", 900), run("a@1", 1900)]
    board = RunBoard(runs, 1)
    with board:
        finish(board, now, runs[0], 30.0)
        finish(board, now, runs[1], 60.0)
    first, last = capsys.readouterr().err.splitlines()
    assert first.startswith("   1/2 a@1 ") and first.endswith("(about 1:00 left)")
    assert last.startswith("   2/2 a@1 ") and "left" not in last and "\x1b" not in first + last
