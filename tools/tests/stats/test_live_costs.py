"""What a connection costs a real server, from runs whose memory is known."""

from fractions import Fraction

import pytest

from tests.support import live
from tests.support.live import live_record
from tlsmem.stats import live_costs
from tlsmem.stats.live_costs import group_live, is_constant
from tlsmem.stats.missing import Missing

COUNTS = (1000, 3000, 9900)


def series(*records):
    (found,) = group_live(records)
    return found


def test_live_heap_is_the_same_whole_number_at_each_number_of_connections():
    found = series(*(live_record(count, "heap") for count in COUNTS)).increments("established", live_costs.live_bytes)
    assert found == dict.fromkeys(COUNTS[1:], Fraction(live.HEAP))
    assert is_constant(list(found.values()))


def test_one_byte_more_at_one_number_is_not_constant():
    runs = [live_record(count, "heap", heap_each=live.HEAP + (count == 3000)) for count in COUNTS]
    assert not is_constant(list(series(*runs).increments("established", live_costs.live_bytes).values()))


def test_runs_of_one_server_on_two_libraries_are_two_series():
    runs = [live_record(count, stack=stack) for count in COUNTS for stack in (None, "awslc@5.12.0", "openssl@3.5.5")]
    found = group_live(runs)
    assert [(one.server, one.stack, len(one.runs)) for one in found] == [
        ("nginx", None, 3),
        ("nginx", "awslc@5.12.0", 3),
        ("nginx", "openssl@3.5.5", 3),
    ]


def test_rss_and_the_kernel_are_slopes_and_page_tables_are_counted_once():
    found = series(*map(live_record, COUNTS))
    assert found.line("established", live_costs.rss_bytes).slope == pytest.approx(live.RSS + live.PAGE_TABLE)
    assert found.line("established", live_costs.server_kernel_bytes).slope == pytest.approx(live.SERVER_KERNEL)
    assert found.line("established", live_costs.client_kernel_bytes).slope == pytest.approx(live.CLIENT_KERNEL)


def test_one_number_of_connections_has_no_slope():
    assert isinstance(series(live_record(1000)).line("established", live_costs.rss_bytes), Missing)


def test_when_all_are_closed_the_heap_is_as_before_and_rss_is_not():
    heap, rss = live_record(1000, "heap"), live_record(1000)
    assert live_costs.added(heap, "closed", live_costs.live_bytes) == 0
    assert live_costs.added(rss, "closed", live_costs.rss_bytes) == 1000 * (live.RSS + live.PAGE_TABLE)
    assert live_costs.added(rss, "idle", live_costs.rss_bytes) is None


def test_windows_and_transports_are_series_of_their_own_and_failed_runs_have_no_figures():
    runs = [live_record(1000, window=100), live_record(1000), live_record(1000, transport="plain")]
    found = group_live([*runs, live_record(3000, status="failed")])
    assert [(one.transport, one.window) for one in found] == [("plain", None), ("tls", 100), ("tls", None)]
    assert [run.connections for run in found[-1].measured("rss")] == [1000]


def test_of_two_runs_of_one_kind_the_newest_counts():
    old = live_record(1000)
    new = old.model_copy(update={"started_at": "2026-11-24T09:00:00Z"})
    assert series(new, old).runs == (new,)
