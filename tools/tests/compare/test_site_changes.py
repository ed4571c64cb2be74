"""Call sites of a difference: whatever is planted, they add up to what the heap's slope differs by."""

from fractions import Fraction

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.support import planted
from tlsmem.compare import change_text, comparison_output, largest_changes
from tlsmem.compare.comparison import compare
from tlsmem.compare.site_changes import (
    UNEXPLAINED,
    CallSiteExplainer,
    SiteChange,
    SiteComparison,
    compare_sites,
    describe_changes,
)
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


def moved(more: int, *callers: str) -> SiteChange:
    nothing = Fraction(0)
    return SiteChange(f"{callers[0]} (a.c:1)", callers, Fraction(more), nothing, nothing, nothing, nothing, nothing)


@pytest.mark.parametrize(
    ("here", "there", "expected"),
    [
        (("f", "new", "g"), ("f", "g", "h"), "8 B more in f (a.c:1) < new and 8 B less in f (a.c:1) < g"),
        (("f", "g", "new"), ("f", "g", "h"), "8 B more in f (a.c:1) < g < new and 8 B less in f (a.c:1) < g < h"),
        (("f", "g"), ("f", "g", "h"), "8 B more in f (a.c:1) < g and 8 B less in f (a.c:1) < g < h"),
    ],
)
def test_sites_with_one_innermost_caller_are_told_apart_by_those_behind_it(here, there, expected):
    assert describe_changes([moved(8, *here), moved(-8, *there)]) == expected


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


SIGN = {"client": planted.TEMPORARY["client"], "server": {"tls_sign": (1_024, 8)}}
HASH = {"client": planted.TEMPORARY["client"], "server": {"tls_hash": (640, 5)}}


def allocating(temporary: planted.Sites | None, **kind):
    return planted.counted(temporary=temporary, **kind)


def test_temporary_blocks_are_found_by_who_allocated_them():
    old, new = (planted.run("sites", 200, temporary=one) for one in (planted.TEMPORARY, SIGN))
    (row,) = compare_sites(old, new, "server", "established", counted="allocations")
    assert (row.callers[0], row.blocks, row.bytes, row.old_blocks, row.new_blocks) == ("tls_sign", 3, 384, 5, 8)
    assert compare_sites(old, new, "server", "established") == []
    assert compare_sites(old, new, "client", "established", counted="allocations") == []


def test_live_blocks_are_allocations_too():
    old, new = (planted.run("sites", 200, one, temporary=planted.TEMPORARY) for one in (planted.SITES, MORE))
    (row,) = compare_sites(old, new, "server", "closed", counted="allocations")
    assert (row.callers[0], row.bytes, row.old_bytes, row.new_bytes) == (HELLO, 16, 4_116, 4_132)


def test_of_allocations_the_largest_is_that_of_most_blocks():
    new = {"client": planted.TEMPORARY["client"], "server": {"tls_sign": (641, 7), "tls_hash": (5_000, 1)}}
    old, new = (planted.run("sites", 200, temporary=one) for one in (planted.TEMPORARY, new))
    changes = compare_sites(old, new, "server", "established", counted="allocations")
    assert [(one.callers[0], one.blocks) for one in changes] == [("tls_sign", 2), ("tls_hash", 1)]


def test_a_change_of_allocations_names_its_call_sites(snapshot):
    found = compare(allocating(planted.TEMPORARY), allocating(SIGN))
    assert [(row.place.role, row.place.meter, row.change.amount) for row in found.changed] == [
        ("server", "allocations", 3),
        ("pair", "allocations", 3),
    ]
    assert comparison_output.format_comparison(found, "markdown") == snapshot


def test_allocations_that_moved_are_no_change():
    assert compare(allocating(planted.TEMPORARY), allocating(HASH)).changed == []


def test_without_call_stacks_of_temporary_blocks_that_is_said(snapshot):
    old, new = (planted.run("sites", 200, temporary=one) for one in (None, SIGN))
    with pytest.raises(Unreadable, match="temporary blocks were not recorded"):
        compare_sites(old, new, "server", "established", counted="allocations")
    before = [*allocating(planted.TEMPORARY)[:2], old]
    found = compare(before, allocating(SIGN))
    explained = CallSiteExplainer(found)
    (change,) = largest_changes.select_largest(found)
    assert change_text.describe_large_change(change, explained) == snapshot
    assert "Call sites of allocations" not in comparison_output.format_comparison(found, "markdown")


@settings(max_examples=12, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(BOTH, BOTH, BOTH, BOTH)
def test_rows_of_allocations_add_up_too(old, new, freed, other):
    found = compare(planted.counted(old, temporary=freed), planted.counted(new, temporary=other))
    explained = CallSiteExplainer(found)
    rows = [row for row in found.rows if row.place.meter == "allocations" and row.place.role in ("client", "server")]
    assert len(rows) == 2
    for row in rows:
        sites = explained.sites(row)
        assert all(one.is_site for one in sites)
        assert sum(one.blocks for one in sites) == row.change.amount
        assert sum(one.new_blocks - one.old_blocks for one in sites) == row.change.amount


def test_a_profile_is_read_once_for_all_phases():
    sites = SiteComparison(planted.run("sites", 200), planted.run("sites", 200, MORE))
    assert sites.diff("idle") is sites.diff("idle")
    with pytest.raises(ValueError, match="no moment nowhere"):
        sites.diff("nowhere")
