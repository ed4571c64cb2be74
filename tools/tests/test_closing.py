"""Closed accounts on records that nobody measured: what a pair holds times all pairs, and what is left over."""

from hypothesis import given
from hypothesis import strategies as st
from synthetic import record

import closing
from records import Record
from selection import select

STACK, SUITE = "openssl@3.5.5", "tls13-rsa-aes256"
WHERE = {"since": "sessions", "stack": 0, "blocks": 1}
PAIRS = 50


def with_sites(run: Record, explained: float = 1, alike: int = PAIRS, window: int | str = "all") -> Record:
    """The heap run as a sites run whose pair holds this share of what each pair does."""
    phases = [phase.model_dump() for phase in run.phases]
    for phase in phases:
        held = [(role, int(phase["heap"][role]["live_bytes"] * explained) // PAIRS) for role in ("client", "server")]
        live = [WHERE | {"role": role, "bytes": size} for role, size in held if size]
        counts = {"pair": 25, "pairs": PAIRS, "alike": alike, "identical": alike}
        phase["sites"] = counts | {"live": live, "stack_bytes": {"client": 4096, "server": None}}
    changed = {"meter": "sites", "window": window, "phases": phases}
    return Record.model_validate(run.model_dump(by_alias=True) | changed)


def sites_run(extra: int = 0, **kind) -> Record:
    return with_sites(record(STACK, SUITE, 2 * PAIRS, "heap", extra=extra), **kind)


def heap_runs(extra: int = 0) -> tuple[Record, Record]:
    return record(STACK, SUITE, 100, "heap"), record(STACK, SUITE, 1000, "heap", extra=extra)


def test_an_account_closes_with_a_rest_of_nothing():
    accounts = {one.phase: one for one in closing.close(sites_run(), heap_runs())}
    at = accounts["established"]
    assert (at.pair_bytes, at.pairs, at.live_bytes, at.rest_bytes) == (116_000, 50, 5_800_000, 0)
    assert (str(at.slope), at.off_slope) == ("116,000", 0)
    assert "contexts" not in accounts and "freed" not in accounts
    assert accounts["closed"].live_bytes == accounts["closed"].pair_bytes == 0


@given(st.integers(0, 10**6))
def test_what_grows_beside_the_pair_is_the_rest(more):
    """Bytes planted in the client's heap at the end of every phase but the first; the pair has none of them."""
    run = sites_run()
    grown = [phase.model_dump() for phase in run.phases]
    for phase in grown[1:]:
        phase["heap"]["client"]["live_bytes"] += more
    run = Record.model_validate(run.model_dump(by_alias=True) | {"phases": grown})
    for one in closing.close(run):
        assert one.rest_bytes == more
        assert one.pair_bytes * one.pairs + one.rest_bytes == one.live_bytes


def test_a_sound_run_has_no_findings():
    assert list(closing.findings(sites_run(), heap_runs())) == []


def test_a_rest_above_one_part_in_a_hundred_is_a_sentence():
    assert list(closing.findings(sites_run(explained=0.995))) == []
    found = list(closing.findings(sites_run(explained=0.98)))
    assert "sites: openssl@3.5.5, tls13-rsa-aes256: `established`: 50 pairs of 113,680 B" in found[5]
    assert "a rest of 116,000 B" in found[5]


def test_a_pair_that_costs_more_in_heap_runs_is_a_sentence():
    found = list(closing.findings(sites_run(), heap_runs(extra=450 * 2000)))
    assert any("`established`: the pair holds 116,000 B, one more pair costs 118,000 B" in one for one in found)


def test_with_a_window_only_phases_of_all_pairs_are_judged():
    phases = [one.phase for one in closing.close(sites_run(window=10))]
    assert phases == ["established", "payload", "reply", "idle", "closed", "trimmed"]


def test_the_table_has_a_row_per_phase():
    table = closing.closings(select([sites_run(alike=49), *heap_runs()]))
    row = next(row for row in table.rows if row[2].text == "established")
    texts = [cell.text for cell in row]
    assert texts[3:] == ["116,000", "50", "0", "5,800,000", "116,000", "98.00%", "4,096", "–"]
