"""What a campaign shows while it runs: counts, the time so far, and the time left by the pace of ended runs."""

import asyncio
import time

import pytest

from tlsmem.config.run import SYSTEM, Run
from tlsmem.run import progress
from tlsmem.run.progress import FEW, START, RunBoard, describe_time
from tlsmem.run.validate import Outcome

MEASURED = Outcome("measured", None, [], "", 0)


@pytest.fixture
def now(monkeypatch):
    moment = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: moment[0])
    return moment


def run(stack: str, sessions: int, repeat: int = 1) -> Run:
    return Run(stack, "tls13-rsa-aes256", SYSTEM, "all", sessions, "rss", repeat)


def finish(board: RunBoard, now: list[float], one: Run, seconds: float) -> None:
    board.start(0, one)
    now[0] += seconds
    board.finish(0, one, MEASURED)


@pytest.mark.parametrize("ended", range(FEW))
def test_no_time_left_is_told_before_a_few_runs_have_ended(ended):
    assert describe_time(100, ended, ended, 10) == "1:40 so far"


def test_the_rest_goes_on_at_the_pace_of_what_is_done_by_work():
    assert describe_time(30, 3, 300, 900) == "0:30 so far, about 1:00 left"
    assert describe_time(30, 3, 899, 900) == "0:30 so far, a few seconds left"
    assert describe_time(3700, 3, 1, 3) == "1:01:40 so far, about 2:03:00 left"
    assert describe_time(30, 3, 900, 900) == "0:30 so far"


def test_rich_tells_the_time_left_on_a_terminal_however_long_a_single_run_takes(now, capsys):
    runs = [run("a@1", 1000 - START, repeat) for repeat in range(4)]
    board = RunBoard(runs, 1)
    whole = board.progress.tasks[0]
    told = [whole.time_remaining]
    for one in runs[:3]:
        finish(board, now, one, 600.0)
        told.append(whole.time_remaining)
    assert told == [None, None, 1200, 600] and whole.fields["count"] == "3/4"


def test_a_line_of_a_campaign_without_a_terminal_has_count_and_times_and_no_escape_codes(now, capsys):
    runs = [run("a@1", 1000 - START, repeat) for repeat in range(4)]
    board = RunBoard(runs, 1)
    with board:
        for one in runs:
            finish(board, now, one, 30.0)
    said = capsys.readouterr().err
    lines = said.splitlines()
    assert [line[:11] for line in lines] == [f"   {number}/4 a@1 " for number in range(1, 5)]
    assert [line.rpartition(" (")[2] for line in lines] == [
        "0:30 so far)",
        "1:00 so far)",
        "1:30 so far, about 0:30 left)",
        "2:00 so far)",
    ]
    assert "\x1b" not in said


def test_a_run_that_takes_longer_than_a_minute_says_so_with_the_count(capsys, monkeypatch):
    monkeypatch.setattr(progress, "SILENCE_S", 0.01)
    board = RunBoard([run("a@1", 900), run("b@1", 900)], 1)
    board.begin -= 80
    board.begun[0] = run("a@1", 900), time.monotonic() - 75

    async def look() -> None:
        telling = asyncio.create_task(board.tell_each_minute())
        await asyncio.sleep(0.05)
        telling.cancel()

    asyncio.run(look())
    assert capsys.readouterr().err.splitlines()[0].endswith(": for 1:15; 0/2 runs, 1:20 so far")
