"""Steps from requested to resident that cannot be: books that move in larger steps than the runs' N lie apart."""

import pytest

from tests.tables.test_accounts import heap_runs, row_of, with_books
from tlsmem.stats.allocator_statistics import COARSE_NOTE
from tlsmem.stats.selection import select
from tlsmem.tables import waterfall

STEPS = [column.key for column in waterfall.COLUMNS]


def glibc(held: int, usable: int) -> dict:
    return {"glibc": {"arena_bytes": held, "hblkhd_bytes": 0, "uordblks_bytes": usable}}


@pytest.mark.parametrize(
    ("books", "known"),
    [
        (glibc(150_000, 120_000), STEPS),
        (glibc(116_000, 116_000), STEPS),
        (glibc(150_000, 115_000), ["requested_bytes", "held_bytes", "untouched_bytes", "resident_bytes"]),
        (glibc(119_000, 120_000), ["requested_bytes", "rounding_bytes", "usable_bytes", "resident_bytes"]),
        (glibc(114_000, 113_000), ["requested_bytes", "resident_bytes"]),
        ({"mimalloc": {"committed_bytes": 23_000}}, ["requested_bytes", "resident_bytes"]),
    ],
)
def test_what_cannot_be_is_a_hole(books, known):
    """Requested are 116,000 bytes per pair."""
    row = row_of(waterfall.waterfall(select([*with_books(books), *heap_runs()])), stack="openssl@3.5.5")
    assert [key for key in STEPS if row[key].value is not None] == known
    notes = {row[key].note for key in STEPS if key not in known}
    assert notes <= {COARSE_NOTE, "mimalloc reports no live figure"}
    assert "held_bytes" in known or row["held_bytes"].note == COARSE_NOTE


def test_books_that_fall_are_a_hole():
    runs = list(with_books({"mimalloc": {"committed_bytes": 1}}))
    for phase in (phase for run in runs for phase in run.phases if phase.allocator):
        phase.allocator["mimalloc"]["committed_bytes"] = 10**9 - phase.allocator["mimalloc"]["committed_bytes"]
    row = row_of(waterfall.waterfall(select([*runs, *heap_runs()])), stack="openssl@3.5.5")
    assert (row["held_bytes"].value, row["held_bytes"].note) == (None, COARSE_NOTE)
