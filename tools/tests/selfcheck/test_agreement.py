"""Who is named when tools do not agree."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tlsmem.profile.heap_profile import LiveHeap
from tlsmem.selfcheck import meter_agreement
from tlsmem.selfcheck.reference_profilers import DHAT, SITES, Constant, Statement, Subject
from tlsmem.tables import render

SUBJECT = Subject("openssl@3.5.5", "tls13-rsa-aes256", 4)  # two pairs
LIVE = {"contexts": (100, 1), "sessions": (1100, 11), "established": (3100, 31), "freed": (50, 0)}
TOOLS = ("heap meter", SITES, "heaptrack", "massif", DHAT)


def statements(wrong: str = "", phase: str = "established", more: int = 0, blocks: int = 0) -> list[Statement]:
    """All agree but for one, by so much in one phase."""
    found = []
    for tool in TOOLS:
        told = {}
        for name, (live_bytes, live_blocks) in LIVE.items():
            if tool == SITES:
                live_bytes, live_blocks = max(0, live_bytes - 100), max(0, live_blocks - 1)
            if (tool, name) == (wrong, phase):
                live_bytes, live_blocks = live_bytes + more, live_blocks + blocks
            told[name] = LiveHeap(live_bytes, None if tool == "massif" else live_blocks)
        found.append(Statement(tool, told))
    return found


def test_tools_that_agree_give_no_sentence():
    assert meter_agreement.disagreements(SUBJECT, statements()) == []


@given(st.sampled_from(TOOLS), st.sampled_from(["sessions", "established"]), st.integers(-50, 50).filter(bool))
def test_whoever_differs_by_a_byte_is_named(tool, phase, more):
    (said,) = meter_agreement.disagreements(SUBJECT, statements(tool, phase, more))
    assert said.startswith(f"{tool}: openssl@3.5.5, tls13-rsa-aes256: {phase}: ")


@pytest.mark.parametrize("tool", ["heap meter", SITES, "heaptrack", DHAT])
def test_whoever_differs_by_a_block_is_named(tool):
    (said,) = meter_agreement.disagreements(SUBJECT, statements(tool, blocks=1))
    assert said.startswith(f"{tool}: ")


def test_the_sentence_says_what_was_told_and_how_often():
    told = statements("heap meter", more=16)
    told[0].by_phase["sessions"] = LiveHeap(1101, 11)
    assert meter_agreement.disagreements(SUBJECT, told) == [
        "heap meter: openssl@3.5.5, tls13-rsa-aes256: sessions: 1,101 B in 11 blocks, but most tell 1,100 B in 11 "
        "blocks; and so in 1 more phases"
    ]


def test_contexts_of_a_tool_that_is_off_do_not_make_the_sites_run_wrong():
    (said,) = meter_agreement.disagreements(SUBJECT, statements("heap meter", "contexts", 7))
    assert said.startswith("heap meter: ")


def test_without_a_majority_nobody_is_believed():
    told = statements("heap meter", more=1)
    told[2].by_phase["established"] = LiveHeap(3102, 31)
    told[3].by_phase["established"] = LiveHeap(3103, None)
    (said,) = meter_agreement.disagreements(SUBJECT, told)
    assert said.startswith(
        "no two agree: openssl@3.5.5, tls13-rsa-aes256: established: heap meter 3,101 B in 31 blocks, "
    )


def test_dhat_is_judged_by_the_phases_that_it_was_asked_for():
    told = statements()
    del told[4].by_phase["sessions"]
    assert meter_agreement.disagreements(SUBJECT, told) == []


def test_the_sites_run_tells_of_pairs_and_has_no_vote():
    told = statements("heap meter", "sessions", 7)
    del told[4].by_phase["sessions"]  # two are right and one is wrong
    (said,) = meter_agreement.disagreements(SUBJECT, told)
    assert said.startswith("heap meter: ")


def test_another_tool_that_is_silent_is_named():
    told = statements()
    del told[2].by_phase["sessions"]
    assert meter_agreement.disagreements(SUBJECT, told) == [
        "heaptrack: openssl@3.5.5, tls13-rsa-aes256: sessions: nothing, but most tell 1,100 B in 11 blocks"
    ]


def test_the_table_shows_every_tool_and_what_a_pair_holds():
    made = meter_agreement.table({SUBJECT: statements("massif", more=2)})
    rows = render.structure(made)["rows"]
    by_phase = {row["phase"]: row for row in rows}
    assert by_phase["established"]["massif_bytes"] == 3102
    assert by_phase["established"]["bytes_per_pair"] == 1500
    assert by_phase["established"]["sites_run_bytes"] == 3000
    assert [row["equal"] for row in rows] == [True, True, False, True]
    assert "hole" in by_phase["freed"]["bytes_per_pair"]


def test_a_constant_is_told_once_with_its_name_and_sign():
    told = statements()
    told[2] = Statement("heaptrack", told[2].by_phase, [Constant("a pool", 72704, 1)])
    other = Subject("null@c", "none", 4)
    said = meter_agreement.describe_constants({SUBJECT: told, other: told})
    assert said == ["heaptrack: -72,704 B in -1 block: a pool"]
