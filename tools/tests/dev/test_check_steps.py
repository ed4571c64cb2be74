"""Steps of `make check`: side by side where they can be, until one fails; what each took is expected the next time."""

import re
import time
import tomllib

import pytest

import check_steps
from tlsmem.base.paths import ROOT
from tlsmem.build import durations

MEET = "@touch $@.ran; for look in $$(seq 200); do [ -e $(other).ran ] && echo met && exit; sleep 0.05; done; exit 1"
MAKEFILE = f"""first second: ; @echo $@ $(STACKS)
broken: ; @echo the reason >&2; exit 3
check-layers: other = check-types
check-types: other = check-layers
check-layers check-types: ; {MEET}
check-c: ; @exec sleep 60
check-harnesses: ; @echo '........ [ 25%]'; echo '......F. [ 50%]'
"""


@pytest.fixture
def root(tmp_path):
    (tmp_path / "build").mkdir()
    (tmp_path / "Makefile").write_text(MAKEFILE)
    return tmp_path


def test_steps_run_in_order_with_their_options_and_what_each_took_is_kept(root, capfd):
    assert check_steps.run(["first", "second"], ["STACKS=a b"], root) == 0
    assert capfd.readouterr().out.splitlines() == ["first a b", "second a b"]
    assert sorted(durations.read_durations(root)) == ["first", "second"]


def test_the_first_step_that_fails_ends_it_with_its_own_words_and_status(root, capfd):
    assert check_steps.run(["first", "broken", "second"], [], root) == 2
    said = capfd.readouterr()
    assert "the reason" in said.err and "second" not in said.out
    assert sorted(durations.read_durations(root)) == ["first"]


def test_steps_that_ask_for_one_cpu_run_side_by_side(root, capfd):
    assert check_steps.run(["check-layers", "check-types"], [], root, cpus=2) == 0  # each waits for the other
    assert capfd.readouterr().out.splitlines() == ["met", "met"]


def test_what_runs_beside_a_step_that_fails_is_ended(root, capfd):
    priors = tomllib.loads(check_steps.PRIORS.read_text())
    assert priors["check-c"]["cpus"] == 1 and "cpus" not in priors["check-harnesses"]
    begin = time.monotonic()
    assert check_steps.run(["check-c", "check-go"], [], root, cpus=2) == 2  # there is no rule for the second here
    assert time.monotonic() - begin < 30  # not the minute of check-c
    assert "check-go" in capfd.readouterr().err


def test_pytest_s_own_percentage_says_how_far_it_is(root):
    board = check_steps.StepBoard(["check-harnesses"], root)
    step = check_steps.start_step(check_steps.Step("check-harnesses", 1), [], board, root)
    step.process.wait()
    step.reader.join()
    assert board.estimate.tasks["check-harnesses"].told == 0.5


def test_what_a_step_took_here_counts_and_scales_the_others(root):
    priors = tomllib.loads(check_steps.PRIORS.read_text())
    durations.write_duration(root, "check-types", 2.0 * priors["check-types"]["cpu_seconds"], 100.0)
    tasks = check_steps.expected_tasks(["check-types", "check-rust"], root)
    assert tasks["check-rust"].cpu_s == 2.0 * priors["check-rust"]["cpu_seconds"]
    assert tasks["check-types"].cpu_s / tasks["check-types"].rate == 100.0


def test_every_step_of_make_check_has_a_prior_and_there_are_no_others():
    lists = re.findall(r"^(?:STACK_)?CHECKS := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert len(lists) == 2
    assert set(tomllib.loads(check_steps.PRIORS.read_text())) == {step for steps in lists for step in steps.split()}
