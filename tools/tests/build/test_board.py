"""The time left of several builds: durations recorded and shipped, what is up to date, what commands tell."""

import json
import os
import subprocess
import sys
import time

import pytest

from tlsmem.build import durations
from tlsmem.build.board import Board, Report


@pytest.fixture
def now(monkeypatch):
    moment = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: moment[0])
    return moment


@pytest.fixture
def root(tmp_path):
    (tmp_path / "build/harness").mkdir(parents=True)
    return tmp_path


def test_time_left_follows_how_builds_go(now, root):
    board = Board({"a@1": 60, "b@1": 40, "c@1": 100}, 2, root)
    assert board.describe() == "0 of 3 stacks, about 1:40 left"
    board.start("a@1")
    report = Report(board, "a@1")
    report.begin()
    now[0] += 40
    report.update(30.0, 0.5)  # in 40 s half of what a CPU takes 60 s for: expected were 15
    assert board.describe() == "0 of 3 stacks, about 2:50 left"
    board.finish("a@1", True)
    assert board.describe().startswith("1 of 3 stacks, ")
    assert durations.read_durations(root)["a@1"] == {"cpu": 30.0, "wall": 40.0}


def test_what_was_recorded_is_expected_again_and_scales_what_was_not(now, root):
    durations.write_duration(root, "a@1", 120.0, 70.0)
    assert durations.expected_cpu_s({"a@1": 60, "b@1": 40, "c@1": None}, root) == {"a@1": 120, "b@1": 80, "c@1": None}
    assert Board({"a@1": 60, "b@1": 40}, 2, root).describe() == "0 of 2 stacks, about 1:40 left"
    assert Board({"b@1": 40}, 2, root, known={"a@1": 60}).describe() == "0 of 1 stacks, about 0:40 left"


def test_the_time_left_of_a_silent_build_stays_known_where_it_was_recorded(now, root):
    durations.write_duration(root, "a@1", 200.0, 200.0)
    for name, left in (("a@1", "about 0:20 left"), ("b@1", "time left unknown")):
        board = Board({name: 200}, 1, root)
        report = Report(board, name)
        report.begin()
        now[0] += 190
        report.update(190.0, 0.0)
        assert board.describe().endswith(left)


def test_a_build_with_its_library_is_recorded_where_both_are(now, root):
    durations.write_duration(root, "a@1", 20.0, 20.0)
    board = Board({"a@1": 20}, 2, root, {"a@1": ("below@1", 80)})
    assert not board.estimate.tasks["a@1"].recorded
    durations.write_duration(root, "below@1", 80.0, 80.0)
    assert Board({"a@1": 20}, 2, root, {"a@1": ("below@1", 80)}).estimate.tasks["a@1"].recorded


def test_what_has_been_built_is_expected_to_be_so_still_until_a_command_begins(now, root):
    (root / "build/harness/a@1.stamp").touch()
    board = Board({"a@1": 600}, 2, root)
    assert board.describe() == "0 of 1 stacks, a few seconds left"
    Report(board, "a@1").begin()
    assert board.describe() == "0 of 1 stacks, about 5:00 left"


def test_a_build_that_was_not_made_here_is_not_recorded(now, root):
    board = Board({"a@1": 60, "b@1": 100}, 2, root)
    board.start("a@1")
    board.finish("a@1", False)
    assert board.describe() == "1 of 2 stacks, about 0:50 left"  # and tells nothing of how fast builds go
    assert durations.read_durations(root) == {}


def test_a_library_that_is_built_along_is_expected_too_and_what_both_took_is_not_recorded(now, root):
    durations.write_duration(root, "a@1", 20.0, 20.0)
    board = Board({"a@1": 20}, 2, root, {"a@1": ("below@1", 80)})
    assert board.describe() == "0 of 1 stacks, about 0:50 left"
    board.start("a@1")
    report = Report(board, "a@1")
    report.begin()
    report.update(100.0, 0.0)
    board.finish("a@1", True)
    assert durations.read_durations(root) == {"a@1": {"cpu": 20.0, "wall": 20.0}}


def test_files_of_a_second_command_do_not_count_again_what_the_first_did(now, root):
    board = Board({"a@1": 100}, 2, root)
    report = Report(board, "a@1")
    report.begin()
    report.update(10.0, 0.0)
    report.begin()
    report.update(45.0, 0.5)
    assert board.estimate.tasks["a@1"].done == pytest.approx(0.1 + 0.9 * 0.5)


@pytest.mark.parametrize("text", ["", "[]", '{"a@1": 3}', '{"a@1": {"cpu": "x", "wall": 1}}'])
def test_a_damaged_file_of_durations_says_nothing(root, text):
    (root / durations.FILE).write_text(text)
    assert durations.read_durations(root) == {}
    durations.write_duration(root, "b@1", 1.0, 1.0)
    assert json.loads((root / durations.FILE).read_text()) == {"b@1": {"cpu": 1.0, "wall": 1.0}}


def test_the_cpu_time_of_a_tree_has_children_that_have_ended():
    spin = "import time\nwhile time.process_time() < 0.3: pass"
    program = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {spin!r}]); print(flush=True); input()"
    tree = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    tree.stdout.readline()
    used = durations.tree_cpu_s(tree.pid)
    tree.communicate(b"\n")
    assert (
        used >= 0.28 and durations.tree_cpu_s(os.getpid()) >= used
    )  # each of the two processes is counted in whole ticks
