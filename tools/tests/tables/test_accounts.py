"""Accounts close, whatever the numbers are; books mean what they say; steps add up."""

from dataclasses import dataclass
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import synthetic
from tlsmem.stats import allocator_statistics, rss_breakdown, session_cost
from tlsmem.stats.selection import select
from tlsmem.stats.session_cost import slope_per_pair
from tlsmem.tables import rss_accounts, waterfall

STACK, SUITE = "openssl@3.5.5", "tls13-rsa-aes256"
AMOUNT = st.integers(0, 10**13)
WALKED = ("rss_bytes", "rest_bytes", "walked_bytes")
COLUMNS = [column.key for column in rss_accounts.COLUMNS]


@dataclass(frozen=True)
class End:
    """What the meters say at `established`."""

    arena: int
    mapped: int
    live: int
    data: int
    anon: int
    file: int
    shmem: int
    walked: int | None = None  # by a walk of the page tables; None: as the counters have it

    def phase(self, base: dict) -> dict:
        rss = self.anon + self.file + self.shmem
        glibc = {"arena_bytes": self.arena, "hblkhd_bytes": self.mapped, "uordblks_bytes": self.live}
        memory = {"rss_bytes": rss, "rss_anon_bytes": self.anon, "rss_file_bytes": self.file}
        memory |= {
            "rss_shmem_bytes": self.shmem,
            "vm_data_bytes": self.data,
            "rollup_rss_bytes": rss if self.walked is None else self.walked,
        }
        return base | memory | {"allocator": {"glibc": glibc}}


def run(sessions: int, end: End, changes: dict | None = None, **declared):
    """An RSS run of schema 2; `changes` are to the phase."""
    base = synthetic.phase("established", synthetic.SHAPES[STACK], sessions, "rss", 0)
    phases = [end.phase(base) | (changes or {})]
    return synthetic.record(STACK, SUITE, sessions, schema=2, phases=phases, **declared)


def straight(pairs: int) -> End:
    """Per pair 150 kB held, 20 kB more of private memory, 40 kB of which untouched."""
    return End(140_000 * pairs, 10_000 * pairs, 110_000 * pairs, 170_000 * pairs, 130_000 * pairs, 3, 0)


def heap_runs():
    return [synthetic.record(STACK, SUITE, sessions, "heap") for sessions in (100, 1000)]


def rss_runs(**declared):
    return [run(sessions, straight(sessions // 2), **declared) for sessions in (100, 1000, 2000)]


def row_of(table, **wanted):
    """The first row whose cells say so, by column."""
    rows = [dict(zip((column.key for column in table.columns), row, strict=True)) for row in table.rows]
    return next(row for row in rows if all(row[key].text == text for key, text in wanted.items()))


ends = st.builds(End, *[AMOUNT] * 5, st.integers(1, 10**13), *[AMOUNT] * 2)  # no process is without a file's pages
recorded = st.lists(st.tuples(st.integers(1, 10**6), ends), min_size=2, max_size=6)


@pytest.mark.thorough
@settings(deadline=None)
@given(recorded.filter(lambda runs: len({pairs for pairs, _ in runs}) > 1))
def test_an_account_closes_to_the_last_fraction_of_a_byte(measured):
    found = rss_breakdown.break_down([run(2 * pairs, end) for pairs, end in measured])
    assert found.total == found.rss
    assert found.total + found.unexplained == found.walked


def test_the_rest_is_what_the_walk_finds_beyond_the_counters():
    runs = [run(n, straight(n // 2), {"rollup_rss_bytes": 130_010 * (n // 2) + 3}) for n in (100, 1000)]
    found = rss_breakdown.break_down(runs)
    assert (found.rss, found.unexplained, found.walked) == (130_000, 10, 130_010)
    row = row_of(rss_accounts.accounts(select(runs)), stack=STACK)
    assert [row[key].text for key in WALKED] == ["130,000", "10", "130,010"]


def test_without_a_walk_there_is_no_rest(snapshot):
    runs = [run(n, straight(n // 2), {"rollup_rss_bytes": None}) for n in (100, 1000)]
    row = row_of(rss_accounts.accounts(select(runs)), stack=STACK)
    counted, rest, walked = (row[key].note for key in WALKED)
    assert counted is None and "smaps_rollup" in rest and rest == walked
    assert rest == snapshot


@pytest.mark.thorough
@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, 10**6), AMOUNT, AMOUNT), min_size=2, max_size=8, unique_by=lambda one: one[0]))
def test_the_slope_of_a_sum_is_the_sum_of_the_slopes(points):
    book = {2 * pairs: (one, other) for pairs, one, other in points}
    runs = [synthetic.record(STACK, SUITE, sessions) for sessions in book]
    one, other, both = (
        slope_per_pair(runs, lambda record, of=of: of(*book[record.sessions]))
        for of in (lambda a, b: a, lambda a, b: b, lambda a, b: a + b)
    )
    assert one + other == both
    line = session_cost.fit_line({pairs: float(first) for pairs, first, _ in points})
    assert float(one) == pytest.approx(line.slope, rel=1e-6, abs=1e-3)


def test_one_n_has_no_slope():
    assert slope_per_pair([run(100, straight(50))], session_cost.peak_rss) is None


def test_a_row_of_accounts():
    table = rss_accounts.accounts(select([*rss_runs(), *heap_runs()]))
    row = row_of(table, stack=STACK)
    said = {"requested": "116,000", "allocator": "34,000", "untouched": "40,000", "outside": "20,000", "file": "0"}
    said |= {"shmem": "0", "rss": "130,000", "rest": "0", "walked": "130,000"}
    assert {name: row[f"{name}_bytes"].text for name in said} == said


def test_requested_bytes_are_the_systems_under_any_allocator():
    allocator = {"name": "jemalloc", "version": None, "settings": None, "library": "libjemalloc.so.2"}
    table = rss_accounts.accounts(select([*rss_runs(allocator=allocator), *rss_runs(), *heap_runs()]))
    assert row_of(table, allocator="jemalloc")["requested_bytes"].value == 116_000


def test_without_heap_runs_the_account_still_closes():
    row = row_of(rss_accounts.accounts(select(rss_runs())), stack=STACK)
    assert (row["requested_bytes"].text, row["allocator_bytes"].text) == ("–", "150,000")
    assert row["requested_bytes"].note == rss_breakdown.UNREQUESTED.reason


def test_records_of_schema_1_have_no_rows_and_beside_others_a_reason(snapshot):
    old = [one.model_copy(update={"schema_": 1}) for one in synthetic.campaign([STACK], [SUITE])]
    assert rss_accounts.accounts(select(old)).rows == waterfall.waterfall(select(old)).rows == []
    table = rss_accounts.accounts(select([*old, *(one.model_copy(update={"suite": "other"}) for one in rss_runs())]))
    (note,) = {cell.note for cell in table.rows[0][-len(COLUMNS) :]}
    assert "VmData" in note
    assert note == snapshot


def test_a_single_n_is_a_hole_with_the_reason(snapshot):
    table = rss_accounts.accounts(select([run(100, straight(50)), *heap_runs()]))
    cell = row_of(table, stack=STACK)["rss_bytes"]
    assert cell.text == "–" and "N = 100," in cell.note
    assert cell.note == snapshot


def test_from_requested_to_resident():
    row = row_of(waterfall.waterfall(select([*rss_runs(), *heap_runs()])), stack=STACK)
    said = [row[column.key].text for column in waterfall.COLUMNS]
    assert said == ["116,000", "+4,000", "120,000", "+30,000", "150,000", "-20,000", "130,000"]


def with_books(named: dict):
    """RSS runs whose books are these, times the pairs."""
    for sessions in (100, 1000):
        pairs = sessions // 2
        told = {name: {key: value * pairs for key, value in book.items()} for name, book in named.items()}
        yield run(sessions, straight(pairs), {"allocator": told})


@pytest.mark.parametrize(("held", "known"), [(116_000, True), (115_999, False)])
def test_an_allocator_that_seems_to_hold_less_than_was_requested_has_no_figure(held, known):
    runs = with_books({"mimalloc": {"committed_bytes": held}})
    row = row_of(rss_accounts.accounts(select([*runs, *heap_runs()])), stack=STACK)
    assert [row[key].note for key in ("allocator_bytes", "outside_bytes")] == [
        None if known else allocator_statistics.COARSE_NOTE
    ] * 2
    assert row["rss_bytes"].text == "130,000"


def test_an_allocator_that_tells_no_live_figure_has_a_dash_with_the_reason(snapshot):
    runs = with_books({"mimalloc": {"committed_bytes": 160_000, "peak_committed_bytes": 170_000}})
    row = row_of(waterfall.waterfall(select([*runs, *heap_runs()])), stack=STACK)
    assert [row[key].text for key in ("rounding_bytes", "usable_bytes", "free_bytes")] == ["–"] * 3
    assert "mimalloc" in row["usable_bytes"].note
    assert row["usable_bytes"].note == snapshot
    assert (row["held_bytes"].text, row["untouched_bytes"].text) == ("160,000", "-30,000")


TWO = {
    "glibc": {"arena_bytes": 20_000, "hblkhd_bytes": 0, "uordblks_bytes": 15_000},
    "jemalloc-rust": {"allocated_bytes": 50_000, "mapped_bytes": 70_000, "retained_bytes": 10_000},
}


def test_two_heaps_are_summed_and_each_is_shown(snapshot):
    table = waterfall.waterfall(select([*with_books(TWO), *heap_runs()]))
    both, glibc, brought = (
        row_of(table, books=name) for name in ("glibc + jemalloc-rust", "of these glibc", "of these jemalloc-rust")
    )
    assert [row["usable_bytes"].value for row in (both, glibc, brought)] == [65_000, 15_000, 50_000]
    assert [row["held_bytes"].value for row in (both, glibc, brought)] == [100_000, 20_000, 80_000]
    assert "jemalloc-rust" in both["requested_bytes"].note
    assert both["requested_bytes"].note == snapshot
    assert (both["resident_bytes"].value, glibc["resident_bytes"].text) == (130_000, "–")


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(sorted(allocator_statistics.LIVE_FIELDS)), st.integers(0, 10**12), min_size=1))
def test_what_all_allocators_hold_is_the_sum(amounts):
    told = {name: dict.fromkeys(allocator_statistics.OBTAINED_FIELDS[name], amount) for name, amount in amounts.items()}
    phase = session_cost.phase_of(run(100, straight(50), {"allocator": told}), "established")
    assert allocator_statistics.obtained_bytes(phase) == sum(
        amount * len(allocator_statistics.OBTAINED_FIELDS[name]) for name, amount in amounts.items()
    )


def test_a_slope_through_uneven_repeats_is_of_their_means():
    runs = [run(n, End(0, 0, 0, 0, anon, 0, 0, anon)) for n, anon in ((100, 50), (100, 52), (200, 151))]
    assert slope_per_pair(runs, session_cost.rss_at_end("established")) == Fraction(100, 50)
