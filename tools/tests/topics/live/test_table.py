"""Tables of live runs: bytes of a connection by state, and what is left when connections are closed."""

from tests.support import live
from tests.support.live import live_record
from tlsmem.topics.live.table import left_table, live_table

COUNTS = (1000, 3000)
PHASES = ("started", "established", "closed", "settled")


def records(**more):
    return [live_record(count, meter, phases=PHASES, **more) for count in COUNTS for meter in ("rss", "heap")]


def cells(table, column):
    at = [one.key for one in table.columns].index(column)
    return [row[at] for row in table.rows]


def test_a_state_has_live_heap_and_slopes_of_rss_and_kernel():
    table = live_table(records())
    assert [cell.text for cell in cells(table, "state")] == ["established"]
    assert [cell.text for cell in cells(table, "live_bytes")] == [f"{live.HEAP:,}"]
    assert [cell.text for cell in cells(table, "rss_bytes")] == [f"{live.RSS + live.PAGE_TABLE:,}"]
    assert [cell.text for cell in cells(table, "server_kernel_bytes")] == [f"{live.SERVER_KERNEL:,}"]


def test_one_byte_more_in_one_run_is_a_note():
    runs = [*records(), live_record(9900, "heap", phases=PHASES, heap_each=live.HEAP + 1)]
    (cell,) = cells(live_table(runs), "live_bytes")
    assert "not alike: 14,148.0 at 3,000, 14,149.4 at 9,900" in str(cell.note)


def test_nothing_of_the_live_heap_is_left_and_all_of_the_rss():
    table = left_table(records())
    assert [cell.value for cell in cells(table, "left_bytes")] == [0, 0]
    assert [cell.value for cell in cells(table, "settled_bytes")] == [
        count * (live.RSS + live.PAGE_TABLE) for count in COUNTS
    ]


def test_a_failed_run_is_named_until_it_is_measured():
    failed = live_record(1000, status="failed", phases=PHASES)
    reason = "nginx, 1,000 connections: the server has closed a connection"
    assert live_table([failed, *records()]).without == []
    assert live_table([failed, live_record(3000, phases=PHASES)]).without == [reason]


def test_a_server_on_several_libraries_has_a_column_for_them_and_one_that_is_packaged_has_none():
    assert "stack" not in [one.key for one in live_table(records()).columns]
    table = live_table([*records(), *records(stack="awslc@5.12.0")])
    assert [cell.text for cell in cells(table, "stack")] == ["system", "awslc@5.12.0"]


def test_two_versions_of_a_server_are_two_rows_with_a_column_for_the_version():
    newer = [one.model_copy(update={"reported": "nginx version: nginx/1.26.3"}) for one in records()]
    newer = [one.model_copy(update={"key": one.key[::-1]}) for one in newer]
    table = live_table([*records(), *newer])
    assert [cell.text for cell in cells(table, "version")] == ["nginx/1.22.1", "nginx/1.26.3"]
    assert "version" not in [one.key for one in live_table(records()).columns]
