"""Lines that bend are told from lines whose repeats lie apart."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import synthetic
from tests.tables.test_accounts import End, run
from tlsmem.stats.bends import find_bends, find_growth, find_rss_bends, known_parts
from tlsmem.stats.selection import select
from tlsmem.stats.session_cost import MIB
from tlsmem.tables import nonlinearity
from tlsmem.tables.rss_accounts import processes_with_rss

COUNTS = (1000, 2000, 4000, 8000)


def line(slope: int = 10_000, repeats: tuple[int, ...] = (0,), **jumps: int) -> dict[int, list[int]]:
    """Sessions to bytes: `slope` per pair, repeats off by so much, and n4000=X: X bytes more from there on."""
    extra = {int(name[1:]): amount for name, amount in jumps.items()}
    more = {n: sum(amount for at, amount in extra.items() if n >= at) for n in COUNTS}
    return {n: [MIB + slope * n // 2 + more[n] + off for off in repeats] for n in COUNTS}


@settings(deadline=None)
@given(st.integers(1, 10**6), st.lists(st.integers(0, 10**5), min_size=1, max_size=5))
def test_a_straight_line_bends_nowhere(slope, repeats):
    assert find_bends(line(slope, tuple(repeats))) == []


def test_a_jump_is_found_between_its_two_n():
    (found,) = find_bends(line(n4000=2_000_000))
    assert (found.step.low, found.step.high, found.excess) == (2000, 4000, 2000.0)


def test_a_line_that_goes_on_steeper_bends_once():
    points = {n: [10_000 * n // 2 + (5_000 * (n - 4000) if n > 4000 else 0)] for n in COUNTS}
    (found,) = find_bends(points)
    assert (found.step.low, found.step.high) == (4000, 8000)


def test_uneven_n_are_compared_per_pair():
    assert find_bends({100: [500_000], 1000: [5_000_000], 10_000: [50_000_000]}) == []


@settings(deadline=None)
@given(st.integers(0, 400_000))
def test_no_difference_inside_the_spread_of_repeats_is_one(jump):
    assert find_bends(line(repeats=(0, 100_000, 200_000), n4000=jump)) == []


def test_beyond_the_spread_it_is_one():
    (found,) = find_bends(line(repeats=(0, 100_000, 200_000), n4000=1_300_000))
    assert found.step.high == 4000


def test_runs_made_once_take_more_than_what_is_known_to_vary():
    assert find_bends(line(n4000=600_000)) == []  # 3 % of both increments are 618 B per pair, of 1,000 pairs
    assert len(find_bends(line(n4000=630_000))) == 1


def test_two_n_have_one_increment_and_no_bend():
    assert find_bends({100: [1000], 1000: [10**9]}) == []


def recorded(live: int = 0, mapped: int = 0, file: int = 0, free: int = 0):
    """RSS runs that jump at N = 4,000, by so many bytes of each part."""
    for n in COUNTS:
        late, pairs = n >= 4000, n // 2
        end = End(
            arena=20_000 * pairs,
            mapped=mapped * late,
            live=10_000 * pairs + live * late,
            data=20_000 * pairs,
            anon=10_000 * pairs + (live + mapped + free) * late,
            file=MIB + file * late,
            shmem=0,
        )
        peak = {"peak_rss_bytes": end.anon + end.file}
        yield run(n, end, peak)


def said(records) -> list[str]:
    return [row[-1].text for row in nonlinearity.nonlinearity_table(select(records)).rows]


def test_what_grew_is_named():
    jump = 10 * MIB
    parts = {
        "live": "live memory",
        "mapped": "large blocks",
        "file": "pages of files",
        "free": "pages that hold nothing",
    }
    for part, name in parts.items():
        assert all(text.startswith(name) for text in said(recorded(**{part: jump}))), part


def test_a_table_that_grows_with_n_is_named_from_heap_runs():
    def heap_run(n):
        made = synthetic.phase("established", synthetic.SHAPES["openssl@3.5.5"], n, "heap", 0)
        made["heap"]["server_context"]["live_bytes"] += 10 * MIB * (n >= 4000)
        return synthetic.record("openssl@3.5.5", "tls13-rsa-aes256", n, "heap", schema=2, phases=[made])

    records = [*recorded(live=10 * MIB), *map(heap_run, COUNTS)]
    assert set(said(records)) == {"a table of the server's context grew by 10,485,760 B of live heap"}


def test_the_bytes_that_grew_are_a_number():
    (series,) = processes_with_rss(select(recorded(live=10 * MIB)))
    (bend,) = find_rss_bends(series, "established")
    assert find_growth(series, bend, "established") == ("live", pytest.approx(10 * MIB / 1000), 1000)
    assert find_growth(series, replace(bend, excess=21 * MIB / 1000), "established") is None, "it is less than half"


def test_a_straight_line_has_no_row():
    assert [row[-5].text for row in nonlinearity.nonlinearity_table(select(recorded())).rows] == []


def test_two_n_are_a_dash_with_the_reason():
    table = nonlinearity.nonlinearity_table(select(list(recorded())[:2]))
    assert {row[-1].note for row in table.rows} == {"two increments need three N"}


def test_books_without_the_figure_of_large_blocks_have_no_such_part():
    for book, there in (({"arena_bytes": 1}, False), ({"arena_bytes": 1, "hblkhd_bytes": 1}, True)):
        told = run(100, End(0, 0, 0, 0, 1, 1, 0), {"allocator": {"glibc": book}})
        assert ("large_blocks" in known_parts([told], "established")) is there
