"""Native and managed memory in one row: series whose heaps are known."""

import pytest

from tests.support.live import HEAP, RSS, live_record
from tlsmem.schema.live_records import ManagedBytes
from tlsmem.topics.live.runtimes import runtime_table

MANAGED, PLAIN_MANAGED, PLAIN_HEAP, EXTERNAL = 5_000, 3_000, 700, 2_048
PHASES = ("started", "established", "idle", "collected", "closed")
CONNECTIONS = (500, 750, 1_000)


def managed_record(count, meter, transport, each, heap_each):
    run = live_record(count, meter, transport, window=10, phases=PHASES, heap_each=heap_each)

    def add(phase):
        used = 9_000_000 + each * phase.connections
        parts = {"external": 1_000 + EXTERNAL * phase.connections}
        return phase.model_copy(
            update={"managed": ManagedBytes(used_bytes=used, committed_bytes=2 * used, parts=parts)}
        )

    return run.model_copy(update={"server": "node", "phases": [add(one) for one in run.phases]})


def records(counts=CONNECTIONS, meters=("rss", "heap")):
    kinds = (("plain", PLAIN_MANAGED, PLAIN_HEAP), ("tls", MANAGED, HEAP))
    return [
        managed_record(count, meter, transport, each, heap)
        for transport, each, heap in kinds
        for meter in meters
        for count in counts
    ]


def rows(runs):
    table = runtime_table(runs)
    keys = [column.key for column in table.columns]
    return {
        (found["transport"].text, found["state"].text): found
        for found in (dict(zip(keys, row, strict=True)) for row in table.rows)
    }


def test_a_row_has_native_and_managed_bytes_and_the_rest_is_what_rss_has_beyond():
    row = rows(records())["TLSv1.3", "collected"]
    assert row["native_bytes"].value == pytest.approx(HEAP)
    assert row["managed_bytes"].value == pytest.approx(MANAGED)
    assert row["rss_anon_bytes"].value == pytest.approx(RSS)
    assert row["rest_bytes"].value == pytest.approx(RSS - HEAP - MANAGED)
    assert row["parts"].text == "external 2,048"


def test_what_tls_adds_is_the_difference_of_each_column():
    row = rows(records())["TLS adds", "idle"]
    assert row["managed_bytes"].value == pytest.approx(MANAGED - PLAIN_MANAGED)
    assert row["native_bytes"].value == pytest.approx(HEAP - PLAIN_HEAP)
    assert row["rss_anon_bytes"].value == pytest.approx(0, abs=1e-6)  # of these runs RSS is the same
    assert row["parts"].text == "external 0"


def test_a_row_is_of_every_state_and_of_plain_connections_too():
    kinds = ("plain", "TLSv1.3", "TLS adds")
    assert set(rows(records())) == {(kind, state) for kind in kinds for state in ("established", "idle", "collected")}


def test_one_number_of_connections_is_a_quotient_and_says_so():
    cell = rows(records(counts=(500,)))["plain", "idle"]["managed_bytes"]
    assert (cell.value, cell.note) == (PLAIN_MANAGED, "quotient")


def test_runs_that_are_not_on_a_line_have_a_note():
    runs = records()
    bent = runs[0].phases[2].model_copy(update={"managed": ManagedBytes(used_bytes=19_000_000, committed_bytes=0)})
    phases = [*runs[0].phases[:2], bent, *runs[0].phases[3:]]
    cell = rows([runs[0].model_copy(update={"phases": phases}), *runs[1:]])["plain", "idle"]["managed_bytes"]
    assert cell.note.startswith("largest residual ")


def test_without_a_run_under_the_meter_the_native_part_and_the_rest_are_missing():
    row = rows(records(meters=("rss",)))["plain", "idle"]
    assert row["native_bytes"].is_missing and row["native_bytes"].note == "no run under the heap meter"
    assert row["rest_bytes"].is_missing and not row["managed_bytes"].is_missing


def test_go_has_no_malloc_so_that_its_native_part_is_nothing_and_the_rest_is_known():
    runs = [one.model_copy(update={"server": "go"}) for one in records(meters=("rss",))]
    row = rows(runs)["plain", "idle"]
    assert row["native_bytes"].value == 0
    assert row["rest_bytes"].value == pytest.approx(RSS - PLAIN_MANAGED)
    assert "go, objects and the stacks of goroutines" in runtime_table(runs).caption


def test_a_client_has_the_heap_of_its_runtime_in_the_caption_once():
    clients = [one.model_copy(update={"server": "node-client"}) for one in records()]
    caption = runtime_table([*records(), *clients]).caption
    assert caption.count("node, heapUsed") == 1 and "node-client, " not in caption


def test_servers_without_a_managed_heap_have_no_row():
    assert rows([live_record(count) for count in CONNECTIONS]) == {}
