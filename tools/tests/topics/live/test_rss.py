"""What the RSS of a connection is made of, from runs whose memory is known."""

import pytest

from tests.support import live
from tests.support.live import live_record
from tlsmem.stats.live_costs import group_live
from tlsmem.stats.missing import Missing
from tlsmem.topics.live.rss import split_rss
from tlsmem.topics.live.table import rss_table

COUNTS = (1000, 3000, 9900)


def records(malloc=True, counts=COUNTS):
    return [live_record(count, meter, malloc=malloc) for count in counts for meter in ("heap", "rss")]


def test_the_parts_are_known_and_leave_no_remainder():
    (series,) = group_live(records())
    parts = split_rss(series, "established")
    assert parts.live_bytes == pytest.approx(live.HEAP)
    assert parts.overhead_bytes == pytest.approx(live.HEADERS)
    assert parts.unwritten_bytes == pytest.approx(live.UNWRITTEN)
    assert parts.free_bytes == pytest.approx(live.FREE)
    assert parts.other_bytes == pytest.approx(10)
    assert parts.rss_anon_bytes == pytest.approx(live.RSS)
    assert parts.rss_bytes == pytest.approx(live.RSS + live.PAGE_TABLE)


def test_sizes_of_free_chunks_are_those_that_each_connection_leaves():
    (series,) = group_live(records())
    assert split_rss(series, "established").free_sizes == {8208: 0.5}


@pytest.mark.parametrize("found", [records(malloc=False), records(counts=COUNTS[:1])])
def test_without_chunks_or_with_one_number_of_connections_there_are_none(found):
    (series,) = group_live(found)
    assert isinstance(split_rss(series, "established"), Missing)
    assert not rss_table(found).rows


def test_the_table_names_the_free_chunks():
    (row,) = rss_table(records()).rows
    assert [cell.text for cell in row[4:]] == ["14,148", "300", "48", "190", "10", "60", "14,660", "0.50 × 8,208"]
