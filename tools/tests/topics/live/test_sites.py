"""The table of call sites: sums by holder, small call sites together, and which functions a row names."""

import pytest

from tests.support.live import live_record
from tlsmem.schema.live_records import LiveSite, parse_live
from tlsmem.stats.live_costs import group_live
from tlsmem.topics.live.sites import name_callers, sites_table

SITES = [
    LiveSite(
        bytes=90_000, held_by="TLS", library="OpenSSL 3.0.19 (libssl.so.3)", callers=["SSL_new", "accept", "main"]
    ),
    LiveSite(bytes=4_500, held_by="TLS", library=None, callers=["EVP_DigestInit", "accept", "main"]),
    LiveSite(bytes=1_500, held_by="TLS", library=None, callers=[]),
    LiveSite(bytes=4_000, held_by="server", library=None, callers=["grow", "main"]),
]


def run(connections: int = 10, **changes):
    found = live_record(connections, "rss", window=5)
    return found.model_copy(update={"meter": "sites", "sites": SITES} | changes)


def rows(records) -> list[tuple]:
    return [tuple(cell.value for cell in row) for row in sites_table(records).rows]


def test_rows_of_a_holder_add_up_to_it_and_holders_to_all():
    server = run().server
    assert rows([run()]) == [
        (server, 10_000, 1.0, "all", "all of it"),
        (server, 9_600, 0.96, "TLS", "all of it"),
        (server, 9_000, 0.9, "TLS", "SSL_new < accept"),
        (server, 600, 0.06, "TLS", "smaller call sites"),
        (server, 400, 0.04, "server's own", "all of it"),
        (server, 400, 0.04, "server's own", "grow"),
    ]


def test_the_newest_run_of_a_server_counts_and_failed_ones_do_not():
    newer = run(sites=SITES[:1], started_at="2027-01-01T00:00:00Z")
    failed = run(status="failed", reason="ended", started_at="2028-01-01T00:00:00Z")
    assert [row[1] for row in rows([newer, run(), failed])] == [9_000, 9_000]
    assert rows([run(sites=None), run(status="failed")]) == []


def test_each_kind_of_connections_has_rows_of_its_own():
    kinds = [{}, {"mutual": True}, {"protocol": "TLSv1.2"}, {"ktls": True}]
    found = {row[0] for row in rows([run(**kind) for kind in kinds])}
    server = run().server
    assert found == {server, f"{server}, TLSv1.3, mutual", f"{server}, TLSv1.2", f"{server}, kTLS"}


@pytest.mark.parametrize(
    ("callers", "named"),
    [
        (["CRYPTO_zalloc", "libssl.so.3+0x12", "libssl.so.3", "SSL_new", "main"], "CRYPTO_zalloc < SSL_new"),
        (["a", "b", "c", "d", "e"], "a < b < c < d"),
        (["stunnel4+0x10", "(below main)"], "stunnel4+0x10"),
        (["libssl.so.3+0x12", "main"], "libssl.so.3+0x12 < main"),
        ([], ""),
    ],
)
def test_unnamed_functions_of_libraries_are_left_out_where_there_are_others(callers, named):
    assert name_callers(LiveSite(bytes=1, held_by="TLS", library=None, callers=callers)) == named


def test_a_run_under_massif_is_in_no_series_and_is_recorded_whole():
    assert group_live([run()]) == []
    again = parse_live(run(schema_=4).to_json_line().rstrip(b"\n"), "here")
    assert again.sites == SITES
