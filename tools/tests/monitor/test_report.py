"""What tls-memtest heap says of resident memory: of readings that are made up."""

from types import SimpleNamespace

import pytest

from tlsmem.monitor import report
from tlsmem.monitor.rss_parts import RssParts, parse
from tlsmem.monitor.tree import ENDED, RUNNING

TALLY = {"chunks": 1, "bytes": 0, "resident_bytes": 0}
DIVIDED = {
    "pid": 7,
    "rss_anon_bytes": 4_000_000,
    "used": {"chunks": 9, "bytes": 1_500_000, "resident_bytes": 1_200_000},
    "cached": TALLY | {"resident_bytes": 50_000},
    "free": TALLY | {"resident_bytes": 1_950_000},
    "mmapped": {"chunks": 1, "bytes": 400_000, "resident_bytes": 300_000},
    "requested": {"chunks": 8, "bytes": 1_100_000, "resident_bytes": 900_000},
    "mmapped_requested": {"chunks": 1, "bytes": 399_000, "resident_bytes": 299_000},
    "own_bytes": 2_000,
    "exact": True,
    "stack_bytes": 98_000,
    "file_bytes": 200_000,
    "other_bytes": 200_000,
}
UNDIVIDED = {"pid": 8, "rss_anon_bytes": 900, "undivided": "it is odd", "heap_bytes": 600}
UNDIVIDED |= {"stack_bytes": 100, "file_bytes": 100, "other_bytes": 100}


def program(rss, live=1_499_000, state=RUNNING, own_malloc=False):
    page = SimpleNamespace(program="x", pid=rss.pid, own_malloc=own_malloc, total=SimpleNamespace(live_bytes=live))
    return SimpleNamespace(page=page, state=state, rss=rss)


def test_parts_of_a_heap_under_the_meter_add_up():
    rss = parse(DIVIDED)
    assert rss.parts == {
        "live": 900_000,
        "overhead": 302_000,
        "cached": 50_000,
        "free": 1_950_000,
        "mmapped": 300_000,
        "heap": None,
        "stacks": 98_000,
        "files": 200_000,
        "other": 200_000,
    }
    assert (rss.unexplained_bytes, rss.kept_bytes) == (0, 2_000_000)
    assert (rss.absent_bytes, rss.found_bytes) == (300_000, 1_499_000)


def test_without_the_meter_live_is_chunks_in_use():
    plain = {key: value for key, value in DIVIDED.items() if "requested" not in key}
    rss = parse(plain)
    assert (rss.parts["live"], rss.parts["overhead"], rss.unexplained_bytes) == (1_200_000, 2_000, 0)
    assert (rss.absent_bytes, rss.found_bytes) == (400_000, None)


def test_a_table_has_the_columns_that_are_known_and_says_what_is_kept():
    both = report.rss_table("all", [program(parse(DIVIDED)), program(parse(UNDIVIDED))])
    odd = report.rss_table("all", [program(parse(UNDIVIDED))])
    assert [column.key for column in both.columns][3:9] == [
        *("live_bytes", "overhead_bytes", "cached_bytes", "free_bytes", "mmapped_bytes", "heap_bytes")
    ]
    assert both.caption.endswith('in columns "cached by malloc" and "free, but kept": 1.9 MiB.')
    assert [cell.value for cell in odd.rows[0]] == ["x", 8, 900, 600, 100, 100, 100]
    assert [column.key for column in odd.columns][2:] == [
        *("anon_bytes", "heap_bytes", "stacks_bytes", "files_bytes", "other_bytes")
    ]
    assert report.rss_table("all", [SimpleNamespace(rss=None), SimpleNamespace(rss="it has ended")]) is None


def test_a_program_that_has_ended_keeps_its_last_reading():
    table = report.rss_table("all", [program(parse(DIVIDED), state=ENDED)])
    assert table.rows[0][2].note == report.LAST_READING


@pytest.mark.parametrize(
    ("change", "live", "said"),
    [
        ({}, 1_499_000, []),
        ({}, 1_550_000, []),
        ({}, 9_000_000, ["7.2 MiB of its live heap are in no chunk of the C library's malloc that was found"]),
        ({"rss_anon_bytes": 3_900_000}, 1_499_000, []),
        ({"rss_anon_bytes": 3_000_000}, 1_499_000, ["the parts of its RSS add up to 1,000,000 B more than RssAnon"]),
        ({"rss_anon_bytes": 5_000_000}, 1_499_000, ["the parts of its RSS add up to 1,000,000 B less than RssAnon"]),
        (
            {"exact": False},
            1_499_000,
            ["it changed while it was read: the parts of its RSS are off by what it allocated or freed meanwhile"],
        ),
    ],
)
def test_what_is_not_as_it_should_be_is_a_sentence(change, live, said):
    rss = parse(DIVIDED | change)
    assert list(report.rss_remarks([program(rss, live)])) == [f"x[7]: {sentence}" for sentence in said]


def test_why_a_heap_is_not_divided_is_said_once():
    rss = parse(UNDIVIDED)
    assert isinstance(rss, RssParts) and rss.unexplained_bytes == 0
    assert list(report.rss_remarks([program(rss)])) == ["x[8]: its heap is not divided: it is odd"]
    assert list(report.rss_remarks([program(rss, own_malloc=True)])) == []  # tls-memtest heap says that by itself
