"""Variants of suites: by name, with the settings that the name says, and no others."""

import pytest

from tlsmem.config import definitions
from tlsmem.config.campaigns import Campaign
from tlsmem.config.suite_variants import name_variant, split_variant
from tlsmem.config.toml_tables import read_tables

BASE = "tls13-rsa-aes256"


@pytest.mark.parametrize(
    ("options", "tickets", "name"),
    [
        ("low-memory", None, f"{BASE}+low-memory"),
        ("default", "library", f"{BASE}+tickets-library"),
        ("default", 0, f"{BASE}+tickets-0"),
        ("low-memory", 2, f"{BASE}+low-memory+tickets-2"),
    ],
)
def test_a_variant_is_the_suite_with_other_settings(options, tickets, name):
    assert name_variant(BASE, options, tickets) == name
    suites = definitions.suites()
    settings = {"options": options} | ({} if tickets is None else {"tickets": tickets})
    assert name in suites and suites[name] == suites[BASE].model_copy(update=settings)
    assert read_tables("suites")[name] == read_tables("suites")[BASE] | split_variant(name)[1]


@pytest.mark.parametrize(
    "name", [f"{BASE}+", f"{BASE}+fast", f"{BASE}+tickets-2+low-memory", f"{BASE}+tickets-02", "tls14+low-memory", "+"]
)
def test_other_names_are_no_suites(name):
    assert name not in definitions.suites() and name not in read_tables("suites")
    with pytest.raises(KeyError):
        definitions.suites()[name]


def test_a_suite_without_settings_is_itself():
    assert name_variant(BASE) == BASE and split_variant(BASE) == (BASE, {})


def test_a_campaign_has_each_suite_with_each_of_its_options_and_tickets():
    campaign = Campaign(
        scenario="memory",
        stacks=["null@c"],
        suites=["a", "b"],
        allocators=["system"],
        n=2,
        sessions=["1"],
        windows=["all"],
        options=["default", "low-memory"],
        tickets=["suite", "library"],
    )
    assert campaign.configurations == [
        *("a", "a+low-memory", "a+tickets-library", "a+low-memory+tickets-library"),
        *("b", "b+low-memory", "b+tickets-library", "b+low-memory+tickets-library"),
    ]
