"""What TLS adds: the difference of two series whose bytes are known, and what the heap meter does not see."""

from tests.support.live import HEAP, live_record
from tlsmem.topics.live.added import added_table

PLAIN = 700
PHASES = ("started", "connected", "established", "idle", "closed")
CONNECTIONS = (100, 300)


def runs(server: str, meters=("rss", "heap")):
    found = []
    for transport, heap_each in (("plain", PLAIN), ("tls", HEAP)):
        for meter in meters:
            found += [
                live_record(count, meter, transport, window=10, phases=PHASES, heap_each=heap_each)
                for count in CONNECTIONS
            ]
    return [one.model_copy(update={"server": server}) for one in found]


def rows(records):
    table = added_table(records)
    keys = [column.key for column in table.columns]
    return [dict(zip(keys, row, strict=True)) for row in table.rows]


def test_live_heap_is_that_over_tls_less_that_of_the_plain_connection():
    found = rows(runs("mosquitto"))
    assert [row["state"].text for row in found] == ["established", "idle"]  # plain connections have no `connected`
    assert {row["live_bytes"].value for row in found} == {HEAP - PLAIN}
    assert {round(row["rss_anon_bytes"].value) for row in found} == {0}  # of these runs RSS is the same
    assert not any(row["live_bytes"].note for row in found)


def test_what_the_meter_does_not_see_stands_beside_the_figure():
    (note,) = {row["live_bytes"].note for row in rows(runs("httpd"))}
    assert note == "httpd: the heap meter does not see pools of APR, which maps them past malloc"


def test_without_a_run_under_the_meter_the_cell_says_why():
    cells = [row["live_bytes"] for row in rows(runs("mosquitto", meters=("rss",)))]
    assert all(cell.is_missing and cell.note == "no run under the heap meter" for cell in cells)


def test_a_server_whose_plain_connections_were_not_measured_has_no_row():
    assert rows([one for one in runs("mosquitto") if one.transport == "tls"]) == []


def test_runs_whose_clients_keep_no_tls_have_no_row():
    hollow = [one.model_copy(update={"hollow": one.transport == "tls"}) for one in runs("mosquitto")]
    assert rows(hollow) == []


def test_of_a_proxy_that_listens_for_tls_alone_nothing_is_subtracted():
    for row in rows([one for one in runs("hitch") if one.transport == "tls"]):
        assert row["tls_live_bytes"].value == HEAP
        for key in ("plain_rss_anon_bytes", "rss_anon_bytes", "live_bytes", "kernel_bytes"):
            assert row[key].is_missing and row[key].note.startswith("hitch: it listens for TLS alone")
