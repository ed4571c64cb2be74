"""Closed accounts on records that nobody measured: what a pair holds times all pairs, and what is left over."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.synthetic import record
from tlsmem.schema.records import RecordLine
from tlsmem.selfcheck import audit
from tlsmem.stats.reconciliation import Reconciliation, reconcile
from tlsmem.stats.selection import select
from tlsmem.tables import reconciliation

STACK, SUITE = "openssl@3.5.5", "tls13-rsa-aes256"
WHERE = {"since": "sessions", "stack": 0}
PAIRS = 50


def with_sites(run: RecordLine, explained: float = 1, alike: int = PAIRS, lost: int = 0, **changes) -> RecordLine:
    """The heap run as a sites run whose pair holds this share of the bytes that each pair does, and lost so many blocks
    of each role."""
    phases = [phase.model_dump() for phase in run.phases]
    for phase in phases:
        held = {role: phase["heap"][role] for role in ("client", "server") if phase["heap"][role]["live_bytes"]}
        live = [WHERE | {"role": role} | of_pair(heap, explained, lost) for role, heap in held.items()]
        counts = {"pair": 25, "pairs": PAIRS, "alike": alike, "identical": alike}
        phase["sites"] = counts | {"live": live, "stack_bytes": {"client": 4096, "server": None}}
    changed = {"meter": "sites", "phases": phases, "sites": {"frames": [], "stacks": [[]]}}
    return RecordLine.model_validate(run.model_dump(by_alias=True) | changed | changes)


def of_pair(heap: dict, explained: float, lost: int) -> dict[str, int]:
    return {"bytes": int(heap["live_bytes"] * explained) // PAIRS, "blocks": heap["live_blocks"] // PAIRS - lost}


def sites_run(extra: int = 0, roles: str = "together", **kind) -> RecordLine:
    return with_sites(record(STACK, SUITE, 2 * PAIRS, "heap", extra=extra, roles=roles), **kind)


ECDSA = ["x", "memory", "certs=memtest/certs/ecdsa-p256"]  # a suite that does not repeat exactly


def heap_runs(extra: int = 0) -> tuple[RecordLine, RecordLine]:
    return record(STACK, SUITE, 100, "heap"), record(STACK, SUITE, 1000, "heap", extra=extra)


def test_an_account_closes_with_a_rest_of_nothing():
    accounts = {one.phase: one for one in reconcile(sites_run(), heap_runs())}
    at = accounts["established"]
    assert (at.pair_bytes, at.pairs, at.live_bytes, at.rest_bytes) == (116_000, 50, 5_800_000, 0)
    assert (str(at.slope), at.off_slope) == ("116,000", 0)
    assert "contexts" not in accounts and "freed" not in accounts
    assert accounts["closed"].live_bytes == accounts["closed"].pair_bytes == 0


@pytest.mark.thorough
@given(st.integers(0, 10**6))
def test_what_grows_beside_the_pair_is_the_rest(more):
    """Bytes planted in the client's heap at the end of every phase but the first; the pair has none of them."""
    run = sites_run()
    grown = [phase.model_dump() for phase in run.phases]
    for phase in grown[1:]:
        phase["heap"]["client"]["live_bytes"] += more
    run = RecordLine.model_validate(run.model_dump(by_alias=True) | {"phases": grown})
    for one in reconcile(run):
        assert one.rest_bytes == more
        assert one.pair_bytes * one.pairs + one.rest_bytes == one.live_bytes


def test_a_sound_run_has_no_findings():
    assert list(audit.account_findings(sites_run(), heap_runs())) == []


def test_a_rest_above_one_part_in_a_hundred_is_a_sentence():
    assert list(audit.account_findings(sites_run(explained=0.995, argv=ECDSA))) == []
    (found,) = audit.account_findings(sites_run(explained=0.98, argv=ECDSA))
    assert found == (
        "sites: openssl@3.5.5, tls13-rsa-aes256: `sessions`: 50 pairs of 17,738 B in 390 blocks leave a rest of "
        "18,100 B in 0 blocks"
    )
    (found,) = audit.account_findings(sites_run(lost=2, argv=ECDSA))
    assert found.endswith("50 pairs of 18,100 B in 386 blocks leave a rest of 0 B in 200 blocks")


def test_where_runs_repeat_exactly_any_rest_is_a_sentence():
    (found,) = audit.account_findings(sites_run(explained=0.9999))
    assert found.endswith("50 pairs of 18,098 B in 390 blocks leave a rest of 100 B in 0 blocks")
    (found,) = audit.account_findings(sites_run(lost=1))
    assert found.endswith("leave a rest of 0 B in 100 blocks")


def test_pairs_that_are_not_like_the_chosen_one_are_a_sentence():
    (found,) = audit.account_findings(sites_run(alike=1))
    assert found == "sites: openssl@3.5.5, tls13-rsa-aes256: `sessions`: 49 of 50 pairs are not like the chosen one"
    (found,) = audit.account_findings(sites_run(alike=49, argv=ECDSA))
    assert found.endswith("1 of 50 pairs are not like the chosen one")
    (found,) = audit.account_findings(
        sites_run(alike=1, window=10)
    )  # of sessions of other windows nothing is known before
    assert "`established`: 49 of 50" in found


def test_a_pair_that_costs_more_in_heap_runs_is_a_sentence():
    found = list(audit.account_findings(sites_run(), heap_runs(extra=450 * 2000)))
    assert [one.split("`: ")[1] for one in found] == [
        "the pair holds 18,100 B, one more pair costs 20,100 B in heap runs"
    ]


def test_with_a_window_only_phases_of_all_pairs_are_judged():
    phases = [one.phase for one in reconcile(sites_run(window=10))]
    assert phases == ["established", "payload", "reply", "idle", "closed", "trimmed"]


def texts(table) -> list[dict[str, str]]:
    keys = [column.key for column in table.columns]
    return [dict(zip(keys, (cell.text for cell in row), strict=True)) for row in table.rows]


def test_the_table_has_a_row_per_phase():
    rows = texts(reconciliation.reconciliation_table(select([sites_run(alike=49), *heap_runs()])))
    row = next(row for row in rows if row["phase"] == "established")
    assert [row[column.key] for column in reconciliation.COLUMNS[1:-2]] == [
        "116,000",
        "50",
        "0",
        "5,800,000",
        "116,000",
        "49",
        "49",
    ]
    assert (row["client_stack_bytes"], row["server_stack_bytes"]) == ("4,096", "–")


def test_the_short_table_has_the_phase_where_most_is_live_and_the_deepest_stack():
    run = sites_run(lost=1)
    phases = [phase.model_dump() for phase in run.phases]
    for phase, depth in zip(phases, [9_000, 5_000, 8_000], strict=False):  # the first is the warm-up's
        phase["sites"]["stack_bytes"]["client"] = depth
    (row,) = texts(
        reconciliation.reconciliation_summary_table(select([run.model_copy(update={"phases": reread(run, phases)})]))
    )
    figures = [row[column.key] for column in reconciliation.SHORT_COLUMNS[:-2]]
    assert figures == ["server 1", "146,000", "50", "0 B in 100 blocks", "50", "50"]
    assert (row["client_stack_bytes"], row["server_stack_bytes"]) == ("8,000", "–")


def test_a_pair_that_differs_is_not_rounded_away():
    one = Reconciliation("established", 50_000, 50_000, 49_999, 1, 1, 50_000, 50_000, None)
    row = reconciliation.ReconciliationRow(None, one, False, [])
    columns = {column.key: column for column in reconciliation.COLUMNS}
    assert [columns[key].cell(row).text for key in ("alike", "identical")] == ["50,000", "49,999"]


def reread(run: RecordLine, phases: list[dict]):
    return RecordLine.model_validate(run.model_dump(by_alias=True) | {"phases": phases}).phases


def test_rows_say_how_roles_were_placed_and_which_process_it_is():
    kinds = ("together", "split", "keep-client", "keep-server")
    runs = [sites_run(roles=roles) for roles in kinds]
    for table in (
        reconciliation.reconciliation_summary_table(select(runs)),
        reconciliation.reconciliation_table(select(runs)),
    ):
        rows = texts(table)
        found = dict.fromkeys((row["roles"], row["process"]) for row in rows)
        assert list(found) == [
            ("together", "both"),
            ("split", "client"),
            ("split", "server"),
            ("keep-client", "both"),
            ("keep-server", "both"),
        ]
        named = [column.key for column in table.columns if column.left]
        assert len({tuple(row[key] for key in named) for row in rows}) == len(rows)
