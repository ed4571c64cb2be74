"""Steps of `make check`: side by side where they can be, until one fails; what is shown are counts."""

import time

import pytest

import check_steps

MEET = "@touch $@.ran; for look in $$(seq 200); do [ -e $(other).ran ] && echo met && exit; sleep 0.05; done; exit 1"
MAKEFILE = f"""first second: ; @echo $@ $(STACKS)
broken: ; @echo the reason >&2; exit 3
check-layers: other = check-types
check-types: other = check-layers
check-layers check-types: ; {MEET}
check-c: ; @exec sleep 60
check-harnesses: ; @test ! -e running; touch running; sleep 0.3; rm running
beside: ; @test ! -e running
"""


@pytest.fixture
def root(tmp_path):
    (tmp_path / "Makefile").write_text(MAKEFILE)
    return str(tmp_path)


def test_steps_run_in_order_with_their_options(root, capfd):
    assert check_steps.run(["first", "second"], ["STACKS=a b"], root, cpus=1) == 0
    assert capfd.readouterr().out.splitlines() == ["first a b", "second a b"]


def test_the_first_step_that_fails_ends_it_with_its_own_words_and_status(root, capfd):
    assert check_steps.run(["first", "broken", "second"], [], root, cpus=1) == 2
    said = capfd.readouterr()
    assert "the reason" in said.err and "second" not in said.out


def test_steps_that_ask_for_one_cpu_run_side_by_side(root, capfd):
    assert check_steps.run(["check-layers", "check-types"], [], root, cpus=2) == 0  # each waits for the other
    assert capfd.readouterr().out.splitlines() == ["met", "met"]


def test_a_step_that_keeps_all_cpus_busy_has_none_beside_it(root):

    assert check_steps.run(["check-harnesses", "beside"], [], root, cpus=2) == 0


def test_what_runs_beside_a_step_that_fails_is_ended(root, capfd):
    begin = time.monotonic()
    assert check_steps.run(["check-c", "check-go"], [], root, cpus=2) == 2  # there is no rule for the second here
    assert time.monotonic() - begin < 30  # not the minute of check-c
    assert "check-go" in capfd.readouterr().err


def test_a_log_has_the_count_and_the_time_so_far_now_and_then_and_no_time_left(monkeypatch, capsys):
    board = check_steps.StepBoard(["check-c", "check-go", "check-rust"])
    board.ended = 1
    board.show(["check-go", "check-rust"])
    assert capsys.readouterr().err == ""
    moment = board.begin + 90
    monkeypatch.setattr(time, "monotonic", lambda: moment)
    for _ in range(2):
        board.show(["check-go", "check-rust"])
    assert capsys.readouterr().err == "check: check-go, check-rust; 1 of 3 steps done after 90 s\n"
