"""Roles apart: their tables, that no figure is of two processes at once, and that they add up to what is together."""

import pytest

from tests.support import synthetic
from tlsmem.selfcheck.audit import describe_split_difference
from tlsmem.stats import session_cost
from tlsmem.stats.role_sums import check_split_sums
from tlsmem.stats.selection import select, select_campaign
from tlsmem.stats.session_cost import Quotient
from tlsmem.tables.c10k import c10k
from tlsmem.tables.heap import heap_costs
from tlsmem.tables.rss import role_costs, rss_costs
from tlsmem.tables.table import Table

STACK, OTHER, SUITE = "openssl@3.5.5", "rustls+aws-lc@0.23.46", "tls13-rsa-aes256"
COUNTS = (200, 2000, 20000)


def split(**changes):
    return synthetic.campaign([STACK], [SUITE], COUNTS, roles="split", **changes)


def texts(table: Table, *keys: str) -> list[tuple[str, ...]]:
    at = [[column.key for column in table.columns].index(key) for key in keys]
    return [tuple(row[index].text for index in at) for row in table.rows]


def test_each_role_has_a_row_of_its_own_process():
    rows = texts(heap_costs(select(split())), "role", "sessions", "peak", "peak_phase", "established")
    assert rows == [
        ("client", "9,000 (240)", "75,000 (240)", "client 1", "64,000 (240)"),
        ("server", "9,100 (150)", "82,000 (150)", "server 1", "52,000 (150)"),
    ]


def test_rss_of_a_role_is_per_session_of_that_role():
    rows = texts(role_costs(select(split())), "process", "at", "slope_bytes_per_session", "intercept_bytes")
    assert rows[0] == ("client", "peak of the run", "82,500", "9.00 MiB")  # 75,000 and a tenth
    assert rows[3] == ("server", "peak of the run", "90,200", "9.00 MiB")
    assert rows[4][:3] == ("server", "established", "57,200")


def test_ten_thousand_servers_stand_beside_the_published_figure():
    both = [*split(), *synthetic.campaign([STACK], [SUITE])]
    rows = texts(c10k(select(both)), "process", "peak_rss_kib", "origin")
    assert rows == [
        ("5,000 clients and 5,000 servers", "793,392", "measured"),
        ("10,000 clients", "814,880", "measured"),
        ("10,000 servers", "890,072", "measured"),
    ]
    fewer = synthetic.campaign([STACK], [SUITE], COUNTS[:2], roles="split")
    assert [row[2] for row in texts(c10k(select(fewer)), "process", "peak_rss_kib", "origin")] == ["from the fit"] * 2


def test_a_role_that_is_kept_has_rss_and_a_c10k_figure_of_its_own():
    """Of 20,000 sessions 10,000 are the role's; its rows bear its name, though its process is called `both`."""
    for role, peak, figure in (("client", "82,500", "814,880"), ("server", "90,200", "890,072")):
        kept = select(synthetic.campaign([STACK], [SUITE], COUNTS, roles=f"keep-{role}", window=100))
        found = role_costs(kept)
        rows = texts(found, "process", "at", "slope_bytes_per_session", "intercept_bytes")
        assert rows[0] == (role, "peak of the run", peak, "9.00 MiB")
        assert rows[2] == (role, "1 KiB each way", "–", "–")
        assert "without its peer a session exchanges no payload" in found.notes()
        assert texts(c10k(kept), "process", "peak_rss_kib", "origin") == [(f"10,000 {role}s", figure, "measured")]


def test_roles_kept_stand_beside_roles_split():
    both = select([*split(), *synthetic.campaign([STACK], [SUITE], COUNTS, roles="keep-server")])
    rows = texts(role_costs(both), "roles", "process", "at")
    assert [row for row in rows if row[2] == "established"] == [
        ("split", "client", "established"),
        ("split", "server", "established"),
        ("keep-server", "server", "established"),
    ]


def test_a_role_that_is_kept_has_what_is_established_and_no_payload():
    kept = synthetic.campaign([STACK], [SUITE], (200, 2000), roles="keep-server", window=100)
    table = heap_costs(select(kept))
    assert texts(table, "role", "sessions", "established", "reply") == [("server", "–", "52,000 (150)", "–")]
    assert "without its peer a session exchanges no payload" in table.notes()


def test_tables_of_what_is_together_do_not_change_for_other_runs_beside_it():
    alone = synthetic.campaign([STACK], [SUITE])
    sites = [synthetic.record(STACK, SUITE, 1000, "sites", extra=10**6)]
    others = [*sites, *split(), *synthetic.campaign([STACK], [SUITE], COUNTS, client=OTHER)]
    first, then = (select(records) for records in (alone, [*others, *alone]))
    assert rss_costs(first).rows == rss_costs(then).rows
    assert texts(heap_costs(then), "role", "established")[:3] == texts(heap_costs(first), "role", "established")
    assert heap_costs(first).rows == heap_costs(select([*sites, *alone])).rows
    mixed = select(synthetic.campaign([STACK], [SUITE], COUNTS, client=OTHER))
    assert not any(table(mixed).rows for table in (heap_costs, role_costs, rss_costs, c10k))


def test_records_of_both_schemas_stand_in_one_line():
    old, new = synthetic.record(STACK, SUITE, 100, schema=1), synthetic.record(STACK, SUITE, 1000)
    selection = select([old, new])
    assert selection.sessions() == [100, 1000] and len(selection.settings) == 1 and not selection.left_out


def test_a_figure_of_two_processes_is_refused():
    run = split()[0]
    for ask in (session_cost.peak_rss, lambda run: session_cost.phase_of(run, "established")):
        with pytest.raises(ValueError, match="has a process for each of client and server; name one of them"):
            ask(run)
    with pytest.raises(ValueError, match="had no process `both`, but client and server"):
        select([run]).series(STACK, select([run]).settings[0])
    assert session_cost.phase_of(run, "established", "server").process == "server"
    together = synthetic.record(STACK, SUITE, 100)
    assert session_cost.phase_of(together, "established", "both") == session_cost.phase_of(together, "established")


def test_campaigns_ask_for_roles_peers_and_environments():
    asked = select_campaign([*split(), synthetic.record(STACK, SUITE, 20000)], "split")
    assert asked and {record.roles for record in asked} == {"split"}
    mixed = [synthetic.record(STACK, "tls12-rsa-aes256", 2000, client=client) for client in (OTHER, "null@c")]
    assert select_campaign(mixed, "interop") == mixed[:1]


def test_a_pair_of_an_old_client_is_left_out():
    peer = synthetic.peer(OTHER) | {"binary_sha256": "a" * 64}
    old = synthetic.record(STACK, SUITE, 100, client=OTHER, peer=peer)
    new = synthetic.record(OTHER, SUITE, 100, roles="split", started_at="2026-02-01T12:00:00Z")
    assert select([old, new]).records == (new,)
    assert select([old, new]).left_out == (f"1 run of another build of {OTHER} to {STACK} is left out",)


# Whether roles add up

TOGETHER = [synthetic.record(STACK, SUITE, sessions, "heap") for sessions in (100, 1000)]


def metered(extra: int = 0, **kind):
    """What `extra` plants is on the larger run's client: 9,000 bytes are 10 per session."""
    counts = ((200, 0), (2000, extra))
    return [synthetic.record(STACK, SUITE, sessions, "heap", extra=planted, **kind) for sessions, planted in counts]


@pytest.mark.parametrize("kind", [{"roles": "split"}, {"roles": "keep-client", "window": 10}, {"roles": "keep-server"}])
def test_roles_that_add_up_need_no_word(kind):
    assert check_split_sums([*TOGETHER, *metered(**kind)]) == []
    assert check_split_sums(metered(9000, **kind)) == []  # nothing to compare with


def test_a_role_that_costs_more_apart_is_told_by_its_phase():
    (found,) = check_split_sums([*TOGETHER, *metered(9000, roles="split")])
    assert (found.stack, found.setting.roles, found.phase) == (STACK, "split", "contexts")
    assert found.roles == [("client", (Quotient(9000, 900), Quotient(0, 900)), (Quotient(0, 450), Quotient(0, 450)))]
    where = f"split: {STACK}, {SUITE}, split, at the end of `contexts`"
    sentence = f"{where}: live per session of the client 10 B in 0 blocks, not 0 B in 0"
    assert describe_split_difference(found) == sentence


def test_a_role_that_is_kept_must_cost_what_it_costs_apart():
    (found,) = check_split_sums([*metered(roles="split"), *metered(9000, roles="keep-client", window=10)])
    assert (found.setting.roles, found.phase) == ("keep-client", "established")
    assert describe_split_difference(found).endswith(
        "live per session of the client 64,010 B in 240 blocks, not 64,000 B in 240"
    )


def test_lengths_of_signatures_are_no_difference():
    assert check_split_sums([*TOGETHER, *metered(30, roles="split")]) == []
    assert len(check_split_sums([*TOGETHER, *metered(930, roles="split")])) == 1


def test_the_table_of_live_heap_has_their_difference():
    rows = texts(heap_costs(select([*TOGETHER, *metered(9000, roles="split")])), "role", "established", "peak")
    assert rows[-1] == ("pair, less together", "10 (0)", "–")
    rows = texts(heap_costs(select([*TOGETHER, *metered(roles="split")])), "role", "established")
    assert rows[-1] == ("pair, less together", "0 (0)")
