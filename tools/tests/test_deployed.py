"""The laboratory beside what is deployed: medians, ranges, ratios and their intervals, of planted factors."""

import pytest
import synthetic
from test_roles import texts

import intervals
from environments import deployed
from results import peaks
from selection import select

STACK, SUITE = "openssl@3.5.5", "tls13-rsa-aes256"
LAB = (1.0, 1.001, 0.999, 1.0, 1.0)
MORE = (1.05, 1.06, 1.04, 1.05, 1.07)
SAME = (1.0, 1.0015, 0.999, 1.0, 1.0)


def table(**factors):
    named = {env.replace("_", "-"): of_env for env, of_env in factors.items()}
    return deployed(select(synthetic.environments([STACK], SUITE, named)))


def test_an_environment_that_costs_more_is_told_with_its_interval():
    found = table(lab=LAB, deployed=MORE, deployed_thp=SAME)
    slope, figure = texts(found, "quantity", "lab", "deployed", "deployed_to_lab", "deployed-thp_to_lab")
    assert slope[0] == "peak RSS, bytes per pair"
    assert slope[1:3] == ("160,600 (160,439 to 160,760)", "168,630 (167,024 to 171,842)")
    assert slope[3:] == ("1.050 (1.040 to 1.070)", "no change")
    assert figure[:2] == ("C10K peak RSS, MiB", "774.8 (774.0 to 775.6)")
    assert "not beyond the spread of repeats" in found.notes()


def test_the_same_figures_give_the_same_interval():
    assert intervals.ratio(LAB, MORE) == intervals.ratio(LAB, MORE)
    assert intervals.ratio([1.0] * 5, [2.0] * 5) == intervals.Interval(2.0, 2.0)


def test_what_was_measured_once_has_no_interval():
    found = table(lab=LAB[:1], deployed=MORE[:1])
    assert texts(found, "deployed_to_lab") == [("1.050",)] * 2
    assert any(note.startswith("no interval: measured once") for note in found.notes())
    assert texts(table(lab=(1.0,), deployed=(1.028,)), "deployed_to_lab") == [("no change",)] * 2


@pytest.mark.parametrize("factors", [{"lab": LAB}, {"deployed": MORE}, {"deployed": MORE, "deployed_thp": SAME}])
def test_one_environment_has_nothing_beside_it(factors):
    assert table(**factors).rows == []


def test_environments_are_rows_of_their_own_elsewhere():
    both = select(synthetic.environments([STACK], SUITE, {"lab": (1.0,), "deployed": (1.05,)}))
    rows = texts(peaks(both, [100]), "env", f"{STACK} peak_rss_kib")
    assert rows == [("lab", "17,056"), ("deployed", "17,909")]
    assert not both.left_out
