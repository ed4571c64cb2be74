"""Mixed pairs: an end beside the same end of pairs of one stack, to the byte where that is exact."""

import pytest

from tests.stats.test_role_sums import texts
from tests.support import synthetic
from tlsmem.stats.repeats import RepeatChange
from tlsmem.stats.selection import select
from tlsmem.tables.mixed_pairs import mixed_pair_table

A, B, SUITE = "openssl@3.5.5", "rustls+aws-lc@0.23.46", "tls13-rsa-aes256"
COUNTS = (100, 1000, 5000)
CELLS = ("live_established", "live_established_change", "live_peak_change", "rss_bytes_per_session", "rss_change")


def table(records):
    return mixed_pair_table(select(records))


def test_every_end_of_every_mixed_pair_has_a_row():
    rows = texts(table(synthetic.interop([A, B], SUITE, COUNTS)), "stack", "process", "peer")
    assert sorted(rows) == [(A, "client", B), (A, "server", B), (B, "client", A), (B, "server", A)]


def test_a_role_that_does_not_depend_on_its_peer_shows_no_difference():
    found = table(synthetic.interop([A, B], SUITE, COUNTS))
    rows = dict(zip(texts(found, "stack", "process"), texts(found, *CELLS), strict=True))
    assert rows[A, "server"] == ("52,000 (150)", "none", "none", "90,199", "none")
    assert rows[B, "client"] == ("9,200 (60)", "none", "none", "14,740", "none")


def planted(record):
    """Ten bytes more per session on the client of the mixed pair: 4,500 over the 450 of two N."""
    if record.peer and record.stack == A and record.meter == "heap" and record.sessions == 1000:
        return synthetic.record(A, SUITE, 1000, "heap", extra=4500, client=B)
    return record


def test_a_difference_is_in_bytes_and_percent_and_of_the_end_that_has_it():
    found = table(map(planted, synthetic.interop([A, B], SUITE, COUNTS)))
    rows = dict(zip(texts(found, "stack", "process"), texts(found, *CELLS), strict=True))
    assert rows[B, "client"][:3] == ("9,210 (60)", "+10 (+0.11 %)", "+10 (+0.07 %)")
    assert {row[1] for end, row in rows.items() if end != (B, "client")} == {"none"}


def repeated(factors, client=None):
    return [
        synthetic.scaled(synthetic.record(A, SUITE, sessions, roles="split", client=client), factor, repeat)
        for repeat, factor in enumerate(factors, start=1)
        for sessions in COUNTS
    ]


@pytest.mark.parametrize(
    ("alone", "mixed", "said"),
    [
        ((1.0, 1.02, 0.99), (1.01, 1.0, 1.02), "none"),
        ((1.0, 1.001, 0.999), (1.05, 1.051, 1.049), "+4,510 (+5.00 %)"),
        ((1.0,), (1.028,), "none"),  # 3 % is assumed of what was measured once
        ((1.0,), (1.04,), "+3,608 (+4.00 %)"),
    ],
)
def test_no_difference_inside_the_spread_is_called_one(alone, mixed, said):
    found = table([*repeated(alone), *repeated(mixed, client=B)])
    server = dict(texts(found, "process", "rss_change"))["server"]
    assert server == said
    once = "measured once; a spread of 3 % is assumed, the largest that repeats have" in found.notes()
    assert once == (len(alone) == 1)


def test_without_the_stack_itself_as_peer_the_difference_is_a_hole():
    found = table(synthetic.campaign([A], [SUITE], COUNTS, client=B))
    assert f"no split runs of {A} with itself as peer among these" in found.notes()
    assert texts(found, "live_established")[0] == ("52,000 (150)",)


def test_figures_that_are_exact_need_no_repeats():
    assert RepeatChange((100.0,), (100.1,), exact=True).beyond_spread
    assert not RepeatChange((100.0,), (100.1,)).beyond_spread


def test_lines_go_through_the_same_n_or_are_not_compared():
    """The pairs of one stack bend at an N that the mixed ones do not have."""
    alone = [synthetic.record(A, SUITE, sessions, roles="split") for sessions in (100, 1000)]
    alone.append(synthetic.scaled(synthetic.record(A, SUITE, 5000, roles="split"), 1.3, 1))
    mixed = [synthetic.record(A, SUITE, sessions, roles="split", client=B) for sessions in (100, 1000)]
    assert dict(texts(table([*alone, *mixed]), "process", "rss_change"))["server"] == "none"
    note = "no two N in common with pairs of the same stack"
    other = [synthetic.record(A, SUITE, sessions, roles="split", client=B) for sessions in (200, 2000)]
    assert {row[-1].note for row in table([*alone, *other]).rows if row[2].value == "server"} == {note}
