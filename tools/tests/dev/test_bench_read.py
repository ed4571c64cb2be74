"""Commands that take turns: what is counted of each run, the ratio of two sides, and what is refused."""

import sys
from pathlib import Path

import pytest

import bench_read
import read_cost
from read_cost import Case, Cost, Side

FAST, SLOW = ("-c", "pass"), ("-c", "sum(range(10**7)); print('a line'); print(0.25)")


@pytest.fixture
def other(tmp_path) -> Path:
    """What another checkout has, as far as it is looked at."""
    (tmp_path / "tools/tlsmem").mkdir(parents=True)
    (tmp_path / ".venv/bin").mkdir(parents=True)
    (tmp_path / ".venv/ready").touch()
    (tmp_path / ".venv/bin/python").symlink_to(sys.executable)
    return tmp_path


@pytest.fixture
def main(monkeypatch, capsys):
    """main(arguments, cases): the status or sentence of the script's exit, and what it prints."""

    def call(arguments, cases):
        monkeypatch.setattr(sys, "argv", ["bench_read.py", *arguments])
        monkeypatch.setattr(read_cost, "CASES", cases)
        try:
            bench_read.main()
        except SystemExit as ended:
            return ended.code, capsys.readouterr()
        return 0, capsys.readouterr()

    return call


def test_every_case_names_files_that_are_here():
    for case in read_cost.CASES:
        files = [word for word in (*case.arguments, *case.reference) if word.startswith(("/", "data/"))]
        assert all((read_cost.ROOT / file).exists() for file in files), case.name
        assert case.arguments[0] == "-c" or (read_cost.ROOT / case.arguments[0]).is_file(), case.name


def test_each_side_has_a_row(main, other):
    status, printed = main(["--repeats", "1", "--against", str(other)], [Case("a case", FAST, ("true",))])
    assert status == 0
    assert [line.split()[-1].count(".") for line in printed.out.splitlines()[2:4]] == [1, 1]  # the ratios
    for name in ("a case", "this checkout", str(other), "true"):
        assert name in printed.out


def test_the_ratio_is_taken_round_by_round():
    own, others = ([Cost(cpu, 1, 1) for cpu in column] for column in ((1, 4, 9), (2, 2, 18)))
    assert read_cost.median_ratio(own, others) == 0.5
    sides = Side("this checkout", (), Path()), Side("other", (), Path())
    first, second = read_cost.rows(Case("a case", ()), dict(zip(sides, (own, others), strict=True)))
    assert first == ["a case", "this checkout", "4.000", "1.000 to 9.000", "1.000", "1", ""]
    assert second == ["", "other", "2.000", "2.000 to 18.000", "1.000", "1", "0.50"]


@pytest.mark.thorough
def test_a_command_that_times_itself_has_its_own_figure():
    side = Side("here", (sys.executable, *SLOW), Path())
    assert read_cost.run_command(side._replace(times_itself=True)).cpu_s == 0.25
    assert read_cost.run_command(side).cpu_s != 0.25


def test_the_first_round_does_not_count_and_sides_take_turns(monkeypatch):
    made = []
    monkeypatch.setattr(read_cost, "run_command", lambda side: made.append(side.name) or Cost(len(made), 0, 0))
    a, b = Side("a", (), Path()), Side("b", (), Path())
    costs = read_cost.measure([a, b], 2)
    assert made == ["a", "b"] * 3
    assert {side.name: [one.cpu_s for one in of_side] for side, of_side in costs.items()} == {"a": [3, 5], "b": [4, 6]}


def test_a_cache_is_forgotten_before_each_run(tmp_path):
    cache = tmp_path / "build/cache"
    command = (sys.executable, "-c", f"import os; os.makedirs({str(cache)!r})")  # fails where it is there already
    for _ in range(2):
        read_cost.run_command(Side("here", command, tmp_path, ("build/cache",)))
    assert cache.is_dir()


def test_a_command_that_fails_is_a_sentence(main):
    status, _ = main(["--repeats", "1"], [Case("a case", ("-c", "import sys; sys.exit('no such profile')"))])
    assert status.startswith("memtest: this checkout: ") and status.endswith("exit status 1: no such profile")


def test_no_case_of_that_name_is_a_sentence(main):
    status, _ = main(["--case", "massif"], [Case("heaptrack", FAST)])
    assert "no case has `massif` in its name; there are: heaptrack" in status


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--against", "/nowhere"], "/nowhere is no checkout of this repository"),
        (["--repeats", "0"], "0 is no whole number from 1 to 1000"),
        (["--repeats", "1e3"], "1e3 is no whole number from 1 to 1000"),
    ],
)
def test_what_cannot_be_is_refused(main, arguments, reason):
    status, printed = main(arguments, [])
    assert status == 2 and reason in printed.err


def test_a_checkout_without_packages_is_refused(main, other):
    (other / ".venv/ready").unlink()
    status, printed = main(["--against", str(other)], [])
    assert status == 2 and "has no Python packages: run `make setup` there" in printed.err
