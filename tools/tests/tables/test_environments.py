"""The laboratory beside what is deployed: medians, ranges, ratios and their intervals, of planted factors."""

from itertools import product

import pytest

from tests.stats.test_role_sums import texts
from tests.support import synthetic
from tlsmem.stats import bootstrap
from tlsmem.stats.selection import select
from tlsmem.tables.environments import environment_table
from tlsmem.tables.peaks import peak_table

STACK, SUITE = "openssl@3.5.5", "tls13-rsa-aes256"
LAB = (1.0, 1.001, 0.999, 1.0, 1.0)
MORE = (1.05, 1.06, 1.04, 1.05, 1.07)
COMPARED = ("lab", "deployed", "deployed_to_lab", "deployed-thp_to_lab")
STEADY = ("82,500 (82,500 to 82,500)", "1.500 (1.500 to 1.500)")
SAME = (1.0, 1.0015, 0.999, 1.0, 1.0)


FIGURES = [
    "peak of the run, bytes per pair",
    "established, bytes per pair",
    "1 KiB each way, bytes per pair",
    "peak at no sessions, MiB",
    *(f"peak at N = {sessions:,}, MiB" for sessions in synthetic.COUNTS),
    "C10K peak, MiB",
]


def table(stacks=(STACK,), **factors):
    named = {env.replace("_", "-"): of_env for env, of_env in factors.items()}
    return environment_table(select(synthetic.environments(stacks, SUITE, named)))


@pytest.mark.thorough
def test_an_environment_that_costs_more_is_told_with_its_interval():
    found = table(lab=LAB, deployed=MORE, deployed_thp=SAME)
    rows = {name: rest for name, *rest in texts(found, "quantity", *COMPARED)}
    more = ["1.050 (1.040 to 1.070)", "no change"]
    assert list(rows) == FIGURES
    assert rows[FIGURES[0]] == ["160,600 (160,439 to 160,760)", "168,630 (167,024 to 171,842)", *more]
    assert rows[FIGURES[1]] == ["127,600 (127,472 to 127,727)", "133,980 (132,704 to 136,532)", *more]
    assert rows[FIGURES[2]][2:] == more
    assert rows["peak at no sessions, MiB"] == ["9.00 (8.99 to 9.01)", "9.45 (9.36 to 9.63)", *more]
    assert rows["peak at N = 100, MiB"] == ["16.7 (16.6 to 16.7)", "17.5 (17.3 to 17.8)", *more]
    assert rows["C10K peak, MiB"][0] == rows["peak at N = 10,000, MiB"][0] == "774.8 (774.0 to 775.6)"
    assert "not beyond the spread of repeats" in found.notes()


def test_the_stacks_of_a_figure_stand_beside_each_other():
    rows = texts(table([STACK, "null@c"], lab=LAB, deployed=SAME), "quantity", "stack", "process")
    assert rows[:3] == [(FIGURES[0], STACK, "both"), (FIGURES[0], "null@c", "both"), (FIGURES[1], STACK, "both")]
    assert len(rows) == 2 * len(FIGURES)


def test_roles_of_their_own_processes_have_rows_and_kept_ones_no_payload():
    runs = []
    for roles, (env, factor), at in product(("split", "keep-server"), (("lab", 1), ("deployed", 1.5)), (1, 2)):
        made = synthetic.campaign([STACK], [SUITE], (200, 2000, 20000), roles=roles, env=env)
        runs += [synthetic.scaled(run, factor, at) for run in made if run.meter == "rss"]
    found = environment_table(select(runs))
    rows = texts(found, "roles", "quantity", "process", "lab", "deployed_to_lab")
    assert ("split", "peak of the run, bytes per session", "client", *STEADY) in rows
    assert ("keep-server", "1 KiB each way, bytes per session", "server", "–", "–") in rows
    assert "without its peer a session exchanges no payload" in found.notes()


def test_an_n_that_one_environment_lacks_is_a_hole_there_only():
    made = synthetic.environments([STACK], SUITE, {"lab": LAB, "deployed": MORE})
    found = environment_table(select([run for run in made if (run.env, run.sessions) != ("deployed", 5000)]))
    rows = {name: rest for name, *rest in texts(found, "quantity", "lab", "deployed", "deployed_to_lab")}
    assert rows["peak at N = 5,000, MiB"] == ["391.9 (391.5 to 392.3)", "–", "–"]
    assert rows["C10K peak, MiB"][2] == "1.050 (1.040 to 1.070)"
    assert {"not measured", "nothing to compare with"} <= found.notes().keys()


def test_the_same_figures_give_the_same_interval():
    assert bootstrap.ratio_interval(LAB, MORE) == bootstrap.ratio_interval(LAB, MORE)
    assert bootstrap.ratio_interval([1.0] * 5, [2.0] * 5) == bootstrap.Interval(2.0, 2.0)


def test_what_was_measured_once_has_no_interval():
    found = table(lab=LAB[:1], deployed=MORE[:1])
    assert texts(found, "deployed_to_lab") == [("1.050",)] * len(FIGURES)
    assert any(note.startswith("no interval: measured once") for note in found.notes())
    assert texts(table(lab=(1.0,), deployed=(1.028,)), "deployed_to_lab") == [("no change",)] * len(FIGURES)


@pytest.mark.parametrize("factors", [{"lab": LAB}, {"deployed": MORE}, {"deployed": MORE, "deployed_thp": SAME}])
def test_one_environment_has_nothing_beside_it(factors):
    assert table(**factors).rows == []


def test_environments_are_rows_of_their_own_elsewhere():
    both = select(synthetic.environments([STACK], SUITE, {"lab": (1.0,), "deployed": (1.05,)}))
    rows = texts(peak_table(both, [100]), "env", f"{STACK} peak_rss_kib")
    assert rows == [("lab", "17,056"), ("deployed", "17,909")]
    assert not both.left_out
