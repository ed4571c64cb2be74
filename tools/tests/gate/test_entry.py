"""Budgets of one entry that a server keeps of a session which is gone."""

import pytest

from tests.gate.test_budget import text_of
from tests.gate.test_scenario_meters import gate
from tests.support import synthetic
from tests.support.synthetic_store import store
from tlsmem.gate import budget

__all__ = ["gate"]

ENTRY = {"stack": "openssl@3.5.5", "suite": "tls13-ecdsa-aes256-store", "meter": "entry", "limit": "952 B"}
ENTRY |= {"role": "server", "pattern": "waves", "waves": 12}


@pytest.mark.parametrize(("size", "status"), [(952, 0), (953, 3)])
def test_one_byte_more_of_an_entry_exceeds(gate, tmp_path, size, status):
    synthetic.write(tmp_path / "runs", [store(entry=(size, 2), pairs=20)])
    assert gate(text_of(ENTRY), tmp_path / "runs")[0] == status


def test_a_server_that_keeps_nothing_on_the_heap_cannot_be_judged(gate, tmp_path):
    synthetic.write(tmp_path / "runs", [store(entry=(0, 0), pairs=20)])
    status, out, _ = gate(text_of(ENTRY), tmp_path / "runs")
    assert status == 3 and "nothing is left on the heap" in out


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"pattern": "lifetimes"}, "pattern: entry cannot be of lifetimes, in which sessions outlive their wave"),
        ({"pattern": ["waves", "sawtooth"]}, "pattern: entry cannot be of sawtooth"),
        ({"waves": 1}, "waves: entry is what one wave adds after another"),
    ],
)
def test_waves_that_tell_no_entry_are_refused_before_anything_is_measured(tmp_path, changes, why):
    (tmp_path / "BUDGET.toml").write_text(text_of(ENTRY | changes))
    with pytest.raises(budget.BudgetError, match=rf"BUDGET.toml: \[\[budget\]\] 1: {why}"):
        budget.load_budgets(tmp_path / "BUDGET.toml")
