"""The meter `context` of budgets: one context with its roots and names, of the scenario contexts."""

import pytest

from tests.gate.test_budget import text_of
from tests.support import commands
from tlsmem.base.errors import UserError
from tlsmem.base.paths import ROOT
from tlsmem.gate import budget, judge, measure_budgets

RECORDING = ROOT / "data/2026-11-24-amd-epyc-p0457-contexts"

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
        ({"cas": 0}, "cas=0: must be 1, 10 or 150"),
        ({"cas": "11"}, "cas=11: must be 1, 10 or 150"),
        ({"names": "100000"}, "names=100000: must be a whole number from 1 to 10,000"),
        ({"sharing": "each-clients"}, "did you mean each-client or each-server?"),
        ({"phase": "closed"}, "phase: no phase closed"),
        ({"meter": "heap", "phase": "reply"}, "sharing: heap has no sharing; it is a key of context"),
    ],
)
def test_what_cannot_be_is_half_a_sentence_that_names_the_key(tmp_path, capsys, changed, sentence):
    with pytest.raises((ValueError, UserError)) as refused:
        load(tmp_path, CONTEXT | changed)
    assert sentence in str(refused.value)


@pytest.fixture
def gate(tmp_path, capsys):
    """gate(entry, ...): the exit status and what was printed, by the committed recording."""

    def run(*entries, **head):
        (tmp_path / "BUDGET.toml").write_text(text_of(*entries, **head))
        given = commands.parser("gate").parse_args([str(tmp_path / "BUDGET.toml"), "--recording", str(RECORDING)])
        return judge.run(given, commands.parser("gate")), capsys.readouterr().out

    return run


@pytest.mark.parametrize("limit, status", [("701,803 B", 0), ("701,802 B", 3)])
def test_a_byte_less_than_a_context_holds_is_exceeded_and_its_call_sites_are_named(gate, limit, status):
    found, out = gate(CONTEXT | {"cas": "150", "limit": limit})
    assert found == status, out
    assert ("107,659" in out and "ossl_asn1_enc_save (tasn_utl.c:175)" in out) == bool(status)


def test_names_are_of_the_one_context_of_a_server(gate):
    server = {key: value for key, value in CONTEXT.items() if key != "sharing"} | {"role": "server", "names": "100"}
    assert gate(server | {"limit": "2,438,381 B"})[0] == 0
    assert gate(server | {"limit": "2,438,380 B"})[0] == 3


def test_a_limit_against_a_baseline_is_of_the_same_roots(gate):
    relative = CONTEXT | {"cas": "10", "limit": "+0 B", "against": "openssl@3.5.5"}
    newer = relative | {"stack": "openssl@3.6.3"}
    found, out = gate(relative, newer, baseline=str(RECORDING))
    assert found == 3
    assert out.startswith("### 1 of 2 budgets is held; 1 exceeded")
    assert "464 B" in out  # 59,525 against 59,061


def test_other_settings_that_were_measured_are_named(gate):
    found, out = gate(CONTEXT | {"cas": "10", "sharing": "shared"})
    assert found == 3
    there = (
        "with these settings; there are: cas 1, names 1, sharing each-client; cas 10, names 1, sharing each-client; "
    )
    assert there in out and "bearssl" not in out


def test_what_the_recording_lacks_cannot_be_judged(gate):
    found, out = gate(CONTEXT | {"cas": "150", "names": "2"})
    assert found == 3
    assert "cannot be judged" in out
