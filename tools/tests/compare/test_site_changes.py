"""Call sites of a difference: whatever is planted, they add up to what the heap's slope differs by."""

from fractions import Fraction

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.support import planted
from tlsmem.compare.comparison import compare
from tlsmem.compare.site_changes import UNEXPLAINED, CallSiteExplainer, SiteComparison, compare_sites, describe_changes
from tlsmem.profile.errors import Unreadable

HELLO = "tls_construct_server_hello"
MORE = planted.with_sites("server", **{HELLO: (4_132, 20)})


def test_all_of_it_is_in_the_function_that_it_was_planted_in(snapshot):
    old, new = planted.run("sites", 200), planted.run("sites", 200, MORE)
    (row,) = compare_sites(old, new, "server", "established")
    assert (row.bytes, row.blocks, row.old_bytes, row.new_bytes) == (16, 0, 4_116, 4_132)
    assert row.where.startswith(HELLO)
    assert describe_changes([row]) == snapshot
    assert compare_sites(old, new, "client", "established") == []


def test_what_no_call_stack_has_is_a_row(snapshot):
    old, new = planted.run("sites", 200), planted.run("sites", 200, planted.SITES, rest_bytes=24)
    (row,) = compare_sites(old, new, "client", "established")
    assert (row.where, row.bytes, row.is_site) == (UNEXPLAINED, 24, False)
    assert describe_changes([row]) == snapshot
    rows = compare_sites(old, planted.run("sites", 200, MORE), "server", "idle", Fraction(20), Fraction(1))
    assert [(one.is_site, one.bytes, one.blocks) for one in rows] == [(True, 16, 0), (False, 4, 1)]


def test_largest_parts_are_said_with_their_direction(snapshot):
    old = planted.run("sites", 200)
    new = planted.run("sites", 200, planted.with_sites("server", SSL_new=(10_100, 21), **{HELLO: (4_100, 20)}))
    changes = compare_sites(old, new, "server", "idle")
    assert [(one.where.partition(" ")[0], one.bytes) for one in changes[:2]] == [("SSL_new", 100), (HELLO, -16)]
    assert describe_changes(changes) == snapshot


def test_a_heap_run_has_no_call_stacks():
    with pytest.raises(Unreadable, match="is no sites run"):
        compare_sites(planted.run("heap", 200), planted.run("sites", 200), "server", "idle")


SITE = st.tuples(st.integers(1, 5_000), st.integers(1, 30))
ROLE = st.fixed_dictionaries({}, optional=dict.fromkeys([*planted.NAMES, "new_one"], SITE))
BOTH = st.fixed_dictionaries({"client": ROLE.filter(bool), "server": ROLE.filter(bool)})


@settings(max_examples=12, phases=[Phase.explicit, Phase.reuse, Phase.generate])  # shrinking would take minutes
@given(BOTH, BOTH, BOTH, st.integers(0, 99))
def test_rows_add_up_to_the_difference_of_the_slopes_whatever_the_call_stacks_say(old, new, known, rest):
    """`known` is what NEW's call stacks tell, which may be anything."""
    found = compare(planted.counted(old), planted.counted(new, known, rest))
    explained = CallSiteExplainer(found)
    heap = [row for row in found.rows if row.place.meter == "heap" and row.place.role in ("client", "server")]
    assert len(heap) == 12
    for row in heap:
        rows = explained.sites(row)
        assert sum(one.bytes for one in rows) == row.new.values[0] - row.old.values[0]
        assert sum(one.blocks for one in rows) == explained.beside(row, "blocks").change.amount
        assert [one for one in rows if not one.is_site] == rows[len([one for one in rows if one.is_site]) :]


def test_a_profile_is_read_once_for_all_phases():
    sites = SiteComparison(planted.run("sites", 200), planted.run("sites", 200, MORE))
    assert sites.diff("idle") is sites.diff("idle")
    with pytest.raises(ValueError, match="no moment nowhere"):
        sites.diff("nowhere")
