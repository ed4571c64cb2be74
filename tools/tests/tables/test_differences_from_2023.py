"""The account of the figures of 2023: each line adds what was planted; what is left is what was published, less it."""

import pytest

from tests.support import synthetic
from tlsmem.schema.records import RecordLine
from tlsmem.stats.selection import select
from tlsmem.tables import catalogue
from tlsmem.tables.differences_from_2023 import LADDERS, account_2023_table, published_slope

OPENSSL, RUSTLS = LADDERS[0], LADDERS[2]
KIB, MIB = 1024, 1024 * 1024


def run(rung, sessions: int, meter: str, each: int, reply: int) -> RecordLine:
    """A peak of `each` bytes a session up to the payload, and of `reply` more after it."""
    made = synthetic.record("openssl@3.5.5", rung.suite, sessions, meter).model_copy(update={"stack": rung.stack})
    for at, phase in enumerate(made.phases):
        size = MIB + each * sessions + (reply * sessions if at > synthetic.PHASES.index("payload") else 0)
        changed = {"peak_rss_bytes": size}
        if meter == "heap":
            total = phase.heap.total.model_copy(update={"peak_bytes": size})
            changed["heap"] = phase.heap.model_copy(update={"total": total})
        made.phases[at] = phase.model_copy(update=changed)
    return made


def ladder(rungs=OPENSSL, counts=(100, 1_000, 5_000), meters=("rss", "heap")) -> list[RecordLine]:
    """Each rung from the second on adds its number times 100 bytes a session, and a heap run's ten times as much; at
    N = 100 all is elsewhere."""
    found = {}
    for number, rung in enumerate(rungs):
        each = 50_000 + 100 * sum(range(2, number + 1))
        for meter, factor in ((one, 10 if one == "heap" else 1) for one in meters):
            for count in counts:
                size = 9_999_999 if count == 100 else factor * each
                found[rung.stack, rung.suite, count, meter] = run(rung, count, meter, size, 70 * factor)
    return list(found.values())


def column(table, key: str) -> list:
    at = [one.key for one in table.columns].index(key)
    return [row[at].value for row in table.rows]


def test_each_line_adds_what_was_planted():
    table = account_2023_table(select(ladder()))
    assert column(table, "rss_bytes_per_session")[:5] == [50_070, 50_000, 50_200, 50_500, 50_900]
    assert column(table, "added_bytes")[1:5] == [-70, 200, 300, 400]
    assert column(table, "added_heap_bytes")[1:5] == [-700, 2_000, 3_000, 4_000]


def test_what_is_left_over_is_what_was_published_less_the_last_line():
    table = account_2023_table(select(ladder()))
    published = (382_476 - 83_300) * KIB / 4_000  # of the same two N
    assert column(table, "rss_bytes_per_session")[-1] == pytest.approx(published, abs=0.1)
    assert column(table, "added_bytes")[-2] == pytest.approx(published - 50_900, abs=0.1)
    assert column(table, "added_bytes")[-1] == pytest.approx(1 - 50_900 / published, abs=1e-4)


def test_published_slopes_are_through_the_N_of_ours():
    assert published_slope(RUSTLS[0], {1_000, 5_000}) == pytest.approx((57_124 - 21_044) * KIB / 4_000)
    assert published_slope(RUSTLS[0], {5_000, 10_000}) == pytest.approx((104_932 - 57_124) * KIB / 5_000)
    assert published_slope(RUSTLS[0], {100, 1_000}) is None


def test_a_line_that_is_not_measured_is_a_hole_and_so_are_those_that_need_it():
    runs = [one for one in ladder() if not one.suite.endswith("-chain3")]
    table = account_2023_table(select(runs))
    notes = [row[-3].note for row in table.rows]
    assert [bool(note) for note in notes] == [False, False, False, True, False, False, False]
    assert [row[-2].note for row in table.rows][3:5] == ["not measured at two N of 1,000 and more"] * 2


def test_a_stack_with_jemalloc_has_no_live_heap_and_says_why():
    table = account_2023_table(select(ladder(RUSTLS, meters=("rss",))))
    assert {row[-1].note for row in table.rows[1:3]} == {"no heap runs: the heap meter does not see its jemalloc"}
    assert column(table, "added_bytes")[1:3] == [-70, 200]


def test_of_other_stacks_there_is_no_account(snapshot):
    with pytest.raises(ValueError, match="account") as error:
        catalogue.build(select(synthetic.campaign(["openssl@3.5.5"], ["tls12-rsa-aes256"])), ["account"])
    assert str(error.value) == snapshot
