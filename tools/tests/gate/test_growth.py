"""Budgets of what waves of sessions add: of runs whose waves are known."""

import pytest

from tests.gate.test_budget import text_of
from tests.gate.test_scenario_meters import gate  # noqa: F401
from tests.support import synthetic
from tests.support.synthetic_churn import churn
from tlsmem.gate import budget, measure_budgets

GROWTH = {"stack": "openssl@3.5.5", "suite": "tls13-rsa-aes256", "meter": "growth", "limit": "0 B"}
GROWTH |= {"role": "server", "pattern": "waves", "waves": 20}


def recording(tmp_path, left):
    """A recording of one heap run whose waves leave so many bytes, both roles in one process."""
    synthetic.write(tmp_path / "runs", [churn(left, [0] * len(left), "heap", roles="together")])
    return tmp_path / "runs"


@pytest.mark.parametrize(("each", "limit", "status"), [(0, "0 B", 0), (64, "0 B", 3), (64, "64 B", 0), (64, "63 B", 3)])
def test_a_leak_of_64_bytes_a_wave_exceeds_a_limit_below_it(gate, tmp_path, each, limit, status):  # noqa: F811
    found = gate(text_of(GROWTH | {"limit": limit}), recording(tmp_path, [each * wave for wave in range(20)]))
    assert found[0] == status, found


def test_too_few_waves_cannot_be_judged(gate, tmp_path):  # noqa: F811
    status, out, _ = gate(text_of(GROWTH | {"waves": 5}), recording(tmp_path, [0] * 5))
    assert status == 3 and "a verdict needs 8" in out


def test_the_run_is_one_under_the_heap_meter(tmp_path):
    (tmp_path / "BUDGET.toml").write_text(text_of(GROWTH))
    budgets = list(budget.expand_entries(budget.load_budgets(tmp_path / "BUDGET.toml")))
    (run,) = measure_budgets.needed_runs(budgets, 2000, None)
    assert (run.scenario, run.meter, run.sessions, run.roles) == ("churn", "heap", 200, "together")
    assert dict(run.settings) == {"pattern": "waves", "waves": "20", "trim": "off", "seed": "1", "threads": "1"}
