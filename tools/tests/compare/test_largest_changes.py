"""What a comparison says first: leaks, the largest changes, and call sites that moved while the totals are the same."""

from fractions import Fraction

import pytest

from tests.support import planted
from tlsmem.compare import change_text, comparison_output, largest_changes
from tlsmem.compare.comparison import Comparison, compare
from tlsmem.compare.site_changes import CallSiteExplainer
from tlsmem.schema.records import RecordLine

HELLO = "tls_construct_server_hello"
LEAKED, BEFORE = 24, 14_116


def with_leak(runs: list[RecordLine], blocks: int = 1) -> list[RecordLine]:
    """Of each server session a block of 24 B that is never freed, from its handshake on."""
    late = ("closed", "trimmed", "freed")
    found = []
    for run in runs:
        phases = [phase.model_dump(by_alias=True) for phase in run.phases]
        for phase in phases:
            pairs = run.sessions // 2 if phase["phase"] in late else 0
            for owner in ("server", "total"):
                phase["heap"][owner]["live_bytes"] += LEAKED * pairs
                phase["heap"][owner]["live_blocks"] += blocks * pairs
        found.append(RecordLine.model_validate(run.model_dump(by_alias=True) | {"phases": phases}))
    return found


def leaking(**kind) -> list[RecordLine]:
    more = planted.with_sites("server", **{HELLO: (4_116 + LEAKED, 21), "SSL_new": (10_200, 20)})
    return with_leak(planted.counted(more, **kind))


def sentences(found: Comparison) -> list[str]:
    explained = CallSiteExplainer(found)
    chosen = largest_changes.select_with_moves(found, explained)
    return [change_text.describe_large_change(one, explained) for one in chosen]


def test_a_leak_heads_the_list_and_is_called_a_leak(snapshot):
    found = compare(planted.counted(), leaking())
    (leak,) = largest_changes.find_leaks(found)
    assert (leak.place.role, leak.place.phase, leak.change.new) == ("server", "closed", LEAKED)
    first, *others = largest_changes.select_largest(found)
    assert first.row is leak
    assert all(abs(one.row.change.share or 1) < 0.1 for one in others)  # a leak of any size is before them
    assert change_text.summarize_comparison(found) == snapshot(name="verdict")
    assert sentences(found) == snapshot(name="sentences")


def with_more(amounts: dict[str, int]) -> list[RecordLine]:
    """With so many bytes more live of each client session at the end of these phases."""
    found = []
    for run in planted.counted():
        phases = [phase.model_dump(by_alias=True) for phase in run.phases]
        for phase in phases:
            for owner in ("client", "total"):
                phase["heap"][owner]["live_bytes"] += amounts.get(phase["phase"], 0) * (run.sessions // 2)
        found.append(RecordLine.model_validate(run.model_dump(by_alias=True) | {"phases": phases}))
    return found


ALIVE = ("sessions", "client 1", "server 1", "client 2", "server 2", "established", "payload", "reply", "idle")


@pytest.mark.parametrize(
    ("amounts", "phase", "words"),
    [
        (
            dict.fromkeys(ALIVE, 256),
            "created",
            "client session, live heap from phase created on: 14,100 -> 14,356 B (+256 B, exact; 40",
        ),
        (
            dict.fromkeys(ALIVE[3:], 64),
            "client 2",
            "client session, live heap from phase client 2 on: 14,100 -> 14,164 B (+64 B, ",
        ),
        (
            dict.fromkeys(ALIVE[:-1], 64),
            "created",
            "client session, live heap phases created to after 1 KiB each way: 14,100 -> ",
        ),
        ({"idle": 64}, "idle", "client session, live heap from phase idle on: 14,100 -> 14,164 B (+64 B, exact; 40"),
        (
            {"established": 64},
            "established",
            "client session, established, live heap: 14,100 -> 14,164 B (+64 B, exact; 40",
        ),
        (
            dict.fromkeys(ALIVE, 32) | dict.fromkeys(ALIVE[5:], 64),
            "established",
            "client session, live heap from phase established on: 14,100 -> 14,164 B (+64 B, exact; 32 B of it from "
            "phase created on; 40",
        ),
    ],
)
def test_the_phase_is_the_first_that_has_the_change(amounts, phase, words):
    """Even one that tables do not show; and how long it lasts."""
    found = compare(planted.counted(), with_more(amounts))
    (change,) = [one for one in largest_changes.select_largest(found) if one.row.place.role == "client"]
    assert change.row.place.phase == phase
    assert words in change_text.describe_large_change(change, CallSiteExplainer(found))


def test_a_leak_of_one_role_is_one_sentence_whatever_the_number_of_suites(snapshot):
    suites = ("tls13-rsa-aes256", "tls12-rsa-aes256")
    before = [run for suite in suites for run in planted.counted(suite=suite)]
    found = compare(before, [run for suite in suites for run in leaking(suite=suite)])
    first, *_ = largest_changes.select_largest(found)
    assert [one.match.suite for one in first.also] == ["tls12-rsa-aes256"]
    assert change_text.summarize_comparison(found) == snapshot


def test_a_leak_that_was_mended_is_better_and_no_leak():
    found = compare(leaking(), planted.counted())
    assert largest_changes.find_leaks(found) == []
    assert not any(one.startswith("Leak") for one in sentences(found))


def test_call_sites_that_cancel_out_are_shown_though_the_totals_are_equal(snapshot):
    moved = planted.with_sites("server", SSL_new=(9_960, 19), **{HELLO: (4_156, 21)})
    found = compare(planted.counted(), planted.counted(moved))
    assert found.changed == []
    assert comparison_output.exit_status(found) == 0
    explained = CallSiteExplainer(found)
    (move,) = largest_changes.find_moves(found, explained)
    assert [(one.callers[0], one.bytes) for one in move.moved] == [("SSL_new", -40), (HELLO, 40)]
    assert move.row.place.role == "server"
    assert comparison_output.format_comparison(found, "markdown") == snapshot


def test_what_neither_changed_nor_moved_is_not_listed():
    found = compare(planted.counted(), planted.counted())
    assert sentences(found) == []


def test_call_sites_of_sessions_that_are_not_alike_move_from_17_bytes_on():
    argv = ["build/harness/x", "memory", "certs=memtest/certs/ecdsa-p256"]
    for shift, expected in ((16, 0), (17, 1)):
        moved = planted.with_sites("server", SSL_new=(10_000 - shift, 20), **{HELLO: (4_116 + shift, 20)})
        found = compare(planted.counted(argv=argv), planted.counted(moved, argv=argv))
        assert all(row.old.noise == Fraction(1) for row in found.rows if row.place.meter != "allocated")
        assert len(largest_changes.find_moves(found, CallSiteExplainer(found))) == expected


def test_one_block_is_a_block(snapshot):
    one = {"client": planted.SITES["client"], "server": {"SSL_new": (10_000, 1)}}
    none = {"client": planted.SITES["client"], "server": {"SSL_new": (9_000, 2)}}
    found = compare(planted.counted(none), planted.counted(one))
    assert sentences(found) == snapshot
    assert " 1 blocks" not in comparison_output.format_comparison(found, "markdown")
