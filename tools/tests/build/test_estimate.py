"""Time left: by what is expected, how far tasks are, and how fast they went until now."""

import pytest

from tlsmem.build.estimate import SETTLING_S, Estimate, Task, describe_left


def test_before_anything_is_done_it_is_what_is_expected():
    tasks = {"a": Task(60), "b": Task(40), "c": Task(100)}
    assert Estimate(tasks, cpus=2).remaining_s(0) == 100
    assert Estimate({"a": Task(100, rate=1)}, cpus=2).remaining_s(0) == 100  # which keeps one CPU busy


def test_one_task_alone_does_not_use_every_cpu_of_a_large_machine():
    assert Estimate({"a": Task(400), "b": Task(10)}, cpus=64).remaining_s(0) == 100


def test_what_is_left_takes_as_much_longer_as_what_is_done():
    estimate = Estimate({"a": Task(100, used_s=50), "b": Task(100)}, cpus=2)
    assert estimate.remaining_s(25) == 75  # as expected
    assert estimate.remaining_s(2 * 25 + SETTLING_S) == 2 * 75


def test_what_else_the_machine_did_long_ago_does_not_count():
    task = Task(1000, told=0.0)
    estimate = Estimate({"a": task}, cpus=1)
    for elapsed_s in range(0, 1001, 10):  # a tenth of the speed at first, then the whole
        task.used_s = min(elapsed_s, 500) / 10 + max(elapsed_s - 500, 0)
        remaining_s = estimate.remaining_s(elapsed_s)
    assert remaining_s == pytest.approx(1000 - task.used_s)


def test_a_task_that_tells_how_far_it_is_counts_by_that():
    estimate = Estimate({"a": Task(200, used_s=100, told=0.25)}, cpus=2)
    assert estimate.remaining_s(25) == 75
    assert Task(200, used_s=10, told=1.0).done == pytest.approx(0.1)
    assert Task(200, used_s=120, told=0.05).done == pytest.approx(0.3)  # its longest tests came first


def test_what_a_task_took_here_says_more_than_what_it_tells():
    assert Task(200, used_s=100, told=0.1, recorded=True).done == pytest.approx(0.5)
    assert Task(200, used_s=301, told=0.9, recorded=True).done == pytest.approx(0.9)  # it is another task by now


def test_a_task_that_takes_longer_than_expected_leaves_the_time_unknown_while_it_is_most_of_the_rest():
    overrun = Task(40, used_s=80)
    assert Estimate({"a": overrun}, cpus=2).remaining_s(60) is None
    known = Estimate({"a": overrun, "b": Task(200)}, cpus=2).remaining_s(40)
    assert known == pytest.approx(110)  # a quarter of what was used, and the other task
    overrun.ended = True
    assert Estimate({"a": overrun}, cpus=2).remaining_s(60) == 0


@pytest.mark.parametrize("actual_s", [550, 600, 650])
def test_what_was_recorded_here_leaves_the_time_known_within_a_factor_of_two(actual_s):
    """One silent build, recorded as 600 s: from the first minute on, until a few seconds are left."""
    estimate = Estimate({"a": Task(600, rate=1, recorded=True)}, cpus=2)
    for elapsed_s in range(60, actual_s - 60 + 1):
        estimate.tasks["a"].used_s = elapsed_s
        factor = estimate.remaining_s(elapsed_s) / (actual_s - elapsed_s)
        assert 0.5 <= factor <= 2.0, elapsed_s


def test_a_task_that_takes_far_longer_than_recorded_is_not_the_one_that_was_recorded():
    task = Task(100, rate=1, recorded=True, used_s=140)
    assert Estimate({"a": task}, cpus=1).remaining_s(140) == pytest.approx(14)
    task.used_s = 151
    assert Estimate({"a": task}, cpus=1).remaining_s(151) is None


def test_what_has_ended_has_nothing_left_and_nothing_is_divided_by_zero():
    assert Estimate({"a": Task(0.0)}, cpus=2).remaining_s(1) == 0
    assert Estimate({"a": Task(0.0)}, cpus=2).done_part() == 0
    assert Estimate({"a": Task(10, ended=True), "b": Task(30, used_s=10)}, cpus=2).done_part() == 0.5


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, "time left unknown"),
        (4, "a few seconds left"),
        (44, "about 0:40 left"),
        (267, "about 4:30 left"),
        (800, "about 13:00 left"),
        (4000, "about 1 h 07 min left"),
    ],
)
def test_time_left_in_words(seconds, words):
    assert describe_left(seconds) == words
