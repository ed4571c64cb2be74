"""The meter `context` of budgets: one context with its roots and names, of the scenario contexts."""

import pytest

from tests.gate.test_budget import text_of
from tlsmem.gate import budget, measure_budgets

CONTEXT = {
    "stack": "openssl@3.5.5",
    "suite": "tls13-rsa-aes256-many",
    "role": "client",
    "meter": "context",
    "sharing": "each-client",
    "limit": "600 KiB",
}


def load(tmp_path, *entries):
    (tmp_path / "BUDGET.toml").write_text(text_of(*entries))
    return list(budget.expand_entries(budget.load_budgets(tmp_path / "BUDGET.toml")))


def test_its_runs_are_of_the_scenario_and_two_values_of_a_key_are_two_budgets(tmp_path):
    budgets = load(tmp_path, CONTEXT | {"cas": ["10", "150"]})
    runs = measure_budgets.needed_runs(budgets, 2000, None)
    assert [(run.scenario, run.meter, run.sessions, dict(run.settings)) for run in runs] == [
        ("contexts", meter, 40, {"cas": cas, "names": "1", "sharing": "each-client"})
        for cas in ("10", "150")
        for meter in ("heap", "sites")
    ]


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"cas": "11"}, "unknown cas 11"),
        ({"names": "100000"}, "unknown names 100000: it must be a whole number from 1 to 10000"),
        ({"sharing": "each-clients"}, "did you mean each-client or each-server?"),
        ({"phase": "closed"}, "phase: no phase closed"),
        ({"meter": "heap", "phase": "reply"}, "sharing: heap has no sharing; it is a key of context"),
    ],
)
def test_what_cannot_be_is_half_a_sentence_that_names_the_key(tmp_path, capsys, changed, sentence):
    with pytest.raises((ValueError, SystemExit)) as refused:
        load(tmp_path, CONTEXT | changed)
    assert sentence in str(refused.value)
