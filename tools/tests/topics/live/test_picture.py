"""Pictures of real servers: what the bars are, what is left when connections have closed, and the findings."""

import pytest
from matplotlib import pyplot

from tests.support import live
from tests.support.colour_vision import find_alike
from tests.support.live import live_record
from tlsmem.schema.live_records import Samples
from tlsmem.topics.live import picture as live_servers
from tlsmem.topics.live import timeline as live_timeline

COUNTS = (1000, 3000)
PHASES = ("started", "established", "idle", "closed", "settled")


@pytest.fixture
def records():
    """Plain, one handshake at a time, and all at once, each under both meters."""
    return [
        live_record(count, meter, transport, window, PHASES)
        for count in COUNTS
        for meter in ("rss", "heap")
        for transport, window in (("plain", None), ("tls", 1), ("tls", None))
    ]


def test_a_bar_is_live_heap_and_rss_beyond_it_and_the_kernel(records):
    made, axes = pyplot.subplots(layout="constrained")
    live_servers.draw(made, axes, records)
    widths = [round(bar.get_width()) for bar in axes.patches]
    assert widths == 3 * [live.HEAP, live.RSS + live.PAGE_TABLE - live.HEAP, live.SERVER_KERNEL]
    assert [text.get_text() for text in axes.get_yticklabels()] == [
        "nginx, plain",
        "nginx, TLS, 1 handshake at a time",
        "nginx, TLS, all handshakes at once",
    ]
    assert find_alike(made) == []
    pyplot.close(made)


def test_the_title_compares_the_windows_of_one_server(records):
    assert live_servers.describe_finding(live_servers.select_costs(records)) == (
        "nginx 1.22.1: an idle TLS connection costs 18,260 B with the kernel's part, "
        "18,260 B after all handshakes came at once"
    )


def test_rss_of_a_server_without_the_heap_meter_is_one_part_and_no_live_heap_of_zero(records):
    made, axes = pyplot.subplots(layout="constrained")
    live_servers.draw(made, axes, [run for run in records if run.meter == "rss"])
    assert [round(bar.get_width()) for bar in axes.patches] == 3 * [live.RSS + live.PAGE_TABLE, live.SERVER_KERNEL]
    names = [text.get_text() for text in made.legends[0].get_texts()]
    assert names == ["RSS, live heap not measured", "kernel"] and find_alike(made) == []
    pyplot.close(made)


def test_runs_with_one_number_of_connections_are_no_picture():
    with pytest.raises(ValueError, match="no live runs with two numbers of connections"):
        live_servers.draw(*pyplot.subplots(), [live_record(1000)])


def test_the_timeline_says_how_many_handshakes_there_were_at_a_time():
    """Servers whose runs differ in it have none that is of all."""
    narrow, wide = live_record(1000, window=1), live_record(3000)
    assert live_timeline.describe_opening([narrow]) == "1,000 TLS connections, 1 handshake at a time"
    assert live_timeline.describe_opening([narrow, wide]) == "1,000 to 3,000 TLS connections"


def test_the_timeline_shows_the_largest_run_and_what_it_keeps(records):
    run = live_record(9900, phases=PHASES)
    base = run.phases[0].server.rss_anon_bytes + run.phases[0].server.page_table_bytes
    kept = base + 9900 * (live.RSS + live.PAGE_TABLE)
    samples = Samples(elapsed_s=[5.0, 15.0, 45.0], user_bytes=[base, 2 * kept, kept], kernel_bytes=[0, 1000, 0])
    runs = live_timeline.select_runs([*records, run.model_copy(update={"samples": samples})])
    assert [one.connections for one in runs] == [9900]
    assert live_timeline.describe_finding(runs) == (
        "When 9,900 connections have closed, nginx keeps 50\N{NO-BREAK SPACE}% of its RSS"
    )
    assert live_timeline.describe_opening(runs) == "9,900 TLS connections, all handshakes at once"
    made, axes = pyplot.subplots(layout="constrained")
    live_timeline.draw(made, [axes], runs)
    assert len(axes.lines) == 5
    pyplot.close(made)
