"""A quantity has the same number wherever people read it: in README, on pages, in cost and in plan."""

import re

import pytest

from tlsmem.base.paths import ROOT
from tlsmem.cost.find_costs import SUITE, find_costs
from tlsmem.plan import recordings
from tlsmem.stats.costs import LIVE_IN_USE, RSS_AT_REST, RSS_IN_USE, VOCABULARY

README_SAYS = [
    ("openssl@3.5.5", LIVE_IN_USE, "default"),
    ("openssl@3.5.5", RSS_AT_REST, "default"),
    ("openssl@3.5.5", RSS_IN_USE, "default"),
    ("openssl@3.5.5", LIVE_IN_USE, "low memory"),
    ("openssl@3.1.4", LIVE_IN_USE, "default"),
    ("openssl@3.2.0", LIVE_IN_USE, "default"),
    ("openssl@3.1.4", RSS_IN_USE, "default"),
    ("openssl@3.2.0", RSS_IN_USE, "default"),
    ("boringssl@5.4.0", LIVE_IN_USE, "default"),
    ("rustls+aws-lc@0.23.46", LIVE_IN_USE, "default"),
]


@pytest.fixture(scope="module")
def among():
    return recordings.find_recordings(None)


@pytest.mark.parametrize(("stack", "cost", "configuration"), README_SAYS)
def test_the_readme_has_the_number_of_cost(among, stack, cost, configuration):
    size = find_costs(stack, SUITE, among).figure("server", cost, configuration)
    assert re.search(rf"(?<![\d,]){size:,.0f}(?![\d,])", (ROOT / "README.md").read_text())


@pytest.mark.parametrize("page", ["README.md", "docs/index.md", "docs/how-to/plan.md"])
def test_pages_define_the_three_costs_in_the_same_words(page):
    assert VOCABULARY in " ".join((ROOT / page).read_text().split())
