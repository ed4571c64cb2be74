"""Budgets of meters that are of another scenario: what sessions hold whose peers stop, as recorded."""

import json
import re
from xml.etree import ElementTree

import pytest

from tests.gate.test_budget import STALL, text_of
from tests.support import commands, synthetic
from tlsmem.base.paths import ROOT
from tlsmem.gate import budget, judge, measure_budgets, scenario_meters
from tlsmem.schema import read_records, recording_files
from tlsmem.schema.records import RecordLine

RECORDING = ROOT / "data/2026-11-24-amd-epyc-p0457"
ANNOUNCED = STALL | {"point": "announced-hello"}
BEFORE, AFTER = ANNOUNCED | {"stack": "openssl@3.6.2"}, ANNOUNCED | {"stack": "openssl@3.6.3"}


@pytest.fixture
def gate(tmp_path, capsys):
    """gate(budgets, recording, option, ...): the exit status, stdout, stderr."""

    def run(text, recording, *words):
        (tmp_path / "BUDGET.toml").write_text(text)
        given = commands.parser("gate").parse_args(
            [str(tmp_path / "BUDGET.toml"), "--recording", str(recording), *words]
        )
        status = judge.run(given, commands.parser("gate"))
        return status, *capsys.readouterr()

    return run


def test_the_release_that_mended_it_is_held_and_the_one_before_exceeds(gate, tmp_path, snapshot):
    status, _, _ = gate(text_of(BEFORE, AFTER), RECORDING, "--junit", str(tmp_path / "gate.xml"))
    assert status == 3
    cases = list(ElementTree.parse(tmp_path / "gate.xml").iter("testcase"))
    (failure,) = cases[0]
    assert failure.tag == "failure" and not list(cases[1])
    assert re.search(r"175,204 B, 1 blocks: BUF_MEM_grow_clean \(buffer.c:132\) < grow_init_buf", failure.text)
    assert [case.get("name") for case in cases] == snapshot


def test_programs_are_given_the_figure_and_the_point(gate):
    _, out, _ = gate(text_of(BEFORE), RECORDING, "--format", "json")
    (row,) = json.loads(out)["tables"][0]["rows"]
    assert (row["value"], row["settings"], row["role"]) == (153_356 / 11, "point announced-hello", "server")
    _, out, _ = gate(text_of(BEFORE), RECORDING, "--format", "csv")
    assert "point announced-hello" in out and "exceeded" in out


def test_a_limit_against_a_baseline_is_of_the_same_point(gate):
    relative = [one | {"limit": "+0x", "against": "openssl@3.6.3"} for one in (BEFORE, AFTER)]
    status, out, _ = gate(text_of(*relative, baseline=str(RECORDING)), RECORDING)
    assert status == 3
    assert out.startswith("### 1 of 2 budgets is held; 1 exceeded")
    assert "(+0 × against 0 ×)" in out
    assert re.search(r"175,204 \| +1 \| grow_init_buf \(statem.c:549\) < read_state_machine", out)


def grown(run: RecordLine, size: int) -> RecordLine:
    """With so many bytes more for each session that waits, from `stalled` to `closed`."""
    phases = [one.model_dump() for one in run.phases]
    for one in phases:
        for owner in ("server", "total"):
            for name in ("live_bytes", "peak_bytes", "cumulative_bytes"):
                one["heap"][owner][name] += size * run.sessions // 2 * (one["phase"] == "stalled")
    return RecordLine.model_validate(run.model_dump(by_alias=True) | {"phases": phases})


@pytest.mark.parametrize("more, status", [(0, 0), (1, 3)])
def test_one_byte_more_of_a_session_exceeds(gate, tmp_path, more, status):
    content = recording_files.read_content(recording_files.find_stack(RECORDING, "openssl@3.6.3"))
    records = [read_records.parse(line, "openssl@3.6.3") for line in content.splitlines()]
    records = [one for one in records if one.meter == "heap"]
    synthetic.write(tmp_path / "runs", [grown(one, more) for one in records])
    at_unread = AFTER | {"meter": "pinned", "point": "unread-flight", "limit": "4,350 B"}
    found = gate(text_of(at_unread), tmp_path / "runs")
    assert found[0] == status, found


@pytest.mark.parametrize(
    ("stack", "point", "why"),
    [
        ("openssl@3.6.3", "silent", "nothing was sent"),
        ("rustls+aws-lc@0.23.46", "announced-hello", "does not reach the point announced-hello"),
        ("openssl@3.6.3", "announced-certificate", "it was not measured in"),
    ],
)
def test_what_has_no_figure_cannot_be_judged_and_says_why(gate, stack, point, why):
    status, out, _ = gate(text_of(STALL | {"stack": stack, "point": point}), RECORDING)
    assert status == 3
    assert "cannot be judged: " in out and why in out


def test_the_runs_are_those_of_the_scenario_at_the_point(tmp_path):
    (tmp_path / "BUDGET.toml").write_text(text_of(BEFORE, BEFORE | {"meter": "pinned", "limit": "16 KiB"}))
    budgets = list(budget.expand_entries(budget.load_budgets(tmp_path / "BUDGET.toml")))
    runs = measure_budgets.needed_runs(budgets, 2000, None)
    assert [(run.scenario, run.meter, run.sessions, dict(run.settings)) for run in runs] == [
        ("stall", meter, 200, {"point": "announced-hello"}) for meter in ("heap", "sites")
    ]


def test_every_meter_has_keys_that_no_budget_has_otherwise():
    for one in scenario_meters.METERS.values():
        assert not set(scenario_meters.scenarios.SCENARIO_KEYS[one.scenario]) & set(budget.Entry.model_fields)


ADVISORY = {"advisory": "HollowByte", "meter": "pinned", "limit": "0 B"}


@pytest.mark.parametrize(
    ("meter", "stack", "value", "status"),
    [
        ("pinned", "openssl@3.6.2", 153_356, 3),
        ("pinned", "openssl@3.6.3", 0, 0),
        ("call-peak", "openssl@3.6.2", 175_204, 3),
        ("call-peak", "openssl@3.6.3", 0, 0),
        ("kept", "openssl@3.6.2", 0, 0),
    ],
)
def test_a_budget_names_an_advisory(gate, meter, stack, value, status):
    found, out, _ = gate(text_of(ADVISORY | {"stack": stack, "meter": meter}), RECORDING, "--format", "json")
    (row,) = json.loads(out)["tables"][0]["rows"]
    assert (found, row["value"], row["settings"]) == (status, value, "point announced-hello")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"advisory": "HollowBite"}, "advisory: memtest/advisories.toml has no HollowBite; did you mean HollowByte?"),
        ({"advisory": "CVE-2026-54874"}, "advisory: CVE-2026-54874 is not measured: the harness has no datagrams"),
        ({"suite": "tls13-rsa-aes256"}, "suite: advisory says it; leave out one of them"),
        ({"point": "silent"}, "point: advisory says it; leave out one of them"),
        ({"meter": "heap"}, "point: heap has no point"),
    ],
)
def test_an_advisory_that_no_budget_can_be_of_is_a_sentence(tmp_path, change, why):
    (tmp_path / "BUDGET.toml").write_text(text_of({"stack": "openssl@3.6.2"} | ADVISORY | change))
    with pytest.raises(budget.BudgetError) as stop:
        budget.load_budgets(tmp_path / "BUDGET.toml")
    assert f"BUDGET.toml: [[budget]] 1: {why}" in str(stop.value)
