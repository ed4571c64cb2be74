"""The keys of scenarios: what a campaign may ask for, what stands in the harness's argv, which phases follow."""

import pytest

from tlsmem.base.paths import ROOT
from tlsmem.config.campaigns import Campaign
from tlsmem.config.definitions import suites
from tlsmem.config.matrix import memory_runs
from tlsmem.config.run import argv
from tlsmem.config.scenarios import combine_settings, phases_of, settings_in_argv
from tlsmem.config.stall_points import stall_points

WAVES = {"pattern": ["waves", "sawtooth"], "waves": ["20"]}
CAMPAIGN = {
    "scenario": "churn",
    "stacks": ["openssl@3.5.5"],
    "suites": ["tls13-rsa-aes256"],
    "allocators": ["system"],
    "n": 2000,
    "sessions": ["1"],
    "heap": 1,
    "settings": WAVES,
}


def test_each_combination_is_run_with_the_defaults_of_other_keys():
    combined = [dict(one) for one in combine_settings("churn", WAVES | {"threads": ["4"]})]
    assert combined == [
        {"pattern": pattern, "waves": "20", "trim": "off", "seed": "1", "threads": "4"} for pattern in WAVES["pattern"]
    ]
    assert list(combine_settings("memory", {})) == [()]


def test_a_run_of_churn_has_the_keys_of_memory_and_its_own():
    campaign = Campaign(**CAMPAIGN, data="full", windows=[10], roles=["split"])
    words = [argv(run, suites()[run.suite], "client") for run in memory_runs(campaign) if run.meter == "heap"]
    assert len(words) == 2
    own = ["pattern=waves", "waves=20", "trim=off", "seed=1", "threads=1"]
    for word in ("window=10", "data=full", "role=client", *own):
        assert word in words[0]
    assert settings_in_argv("churn", words[0]) == tuple(tuple(word.split("=")) for word in own)


def test_phases_of_churn_are_numbered_by_wave():
    waves = [("open", 1), ("closed", 1), ("open", 2), ("closed", 2)]
    last = [("drained", None), ("trimmed", None), ("freed", None)]
    assert phases_of("churn", {"waves": "2"}) == [("contexts", None), *waves, *last]
    assert phases_of("memory", {}) is None


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"settings": WAVES | {"waves": ["0"]}}, "waves=0: must be a whole number from 1 to 1,000,000"),
        ({"settings": WAVES | {"waves": 0}}, "waves=0: must be a whole number from 1 to 1,000,000"),
        ({"settings": WAVES | {"waves": ["020"]}}, "waves=020: must be a whole number"),
        ({"settings": WAVES | {"waves": ["\u0663"]}}, "must be a whole number from 1 to 1,000,000"),
        ({"settings": WAVES | {"seed": []}}, "seed has no values; leave it out"),
        ({"settings": 3}, "must be a table such as"),
        ({"scenario": "contexts", "settings": {"cas": 0}}, "settings: cas=0: must be 1, 10 or 150"),
        ({"settings": WAVES | {"pattern": ["wave"]}}, "unknown pattern wave; did you mean waves"),
        ({"settings": {"pattern": ["waves"]}}, "waves is missing; the scenario churn needs it"),
        ({"settings": WAVES | {"leak": ["64"]}}, "has no key leak; it has: pattern, waves, trim, seed, threads"),
        ({"roles": ["keep-server"]}, "the scenario churn keeps both roles: together or split"),
        ({"envs": ["deployed"]}, "peers and envs are of the scenario memory, not of churn"),
    ],
    ids=[
        "number",
        "one number",
        "zero first",
        "other digits",
        "no values",
        "no table",
        "not of a list",
        "name",
        "missing",
        "unknown key",
        "roles",
        "envs",
    ],
)
def test_what_the_scenario_cannot_do_is_refused_with_a_sentence(change, why):
    with pytest.raises(ValueError) as stop:
        Campaign(**CAMPAIGN | change)
    assert why in str(stop.value)


def test_the_page_of_records_has_every_point_as_it_is_described():
    page = (ROOT / "docs/reference/records.md").read_text()
    for name, point in stall_points().items():
        assert f"| `{name}` | {point.waits} | {point.sent} |\n" in page, name
