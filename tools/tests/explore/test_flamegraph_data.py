"""The tree that a page draws, as JSON: it adds up to the profile, and fits into its room."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.explore.test_flamegraph_page import WICKED, made, own, read_run, whole
from tests.support.pairs import BUFFER, CLIENT, OTHER, frame, profile
from tlsmem.explore.diff import profile_diff
from tlsmem.explore.flamegraph import call_tree, page_data
from tlsmem.profile.buckets.sums import BucketSums
from tlsmem.profile.heap_profile import LiveHeap, Profile

FUNCTIONS = ["malloc", "client_handshake", "server_context_new", "f", "g<T>", WICKED]
HELD = st.tuples(st.integers(0, 10**12), st.none() | st.integers(0, 10**6))
STACKS = st.lists(st.tuples(st.lists(st.sampled_from(FUNCTIONS), max_size=6), st.lists(HELD, min_size=3, max_size=3)))


def read(profile: Profile, room: int = 10**6) -> dict:
    stacks = {stack for moment in profile.moments.values() for stack in moment.live}
    return json.loads(page_data.fit_tree_json(call_tree.tree_from_profile(profile, stacks), room))


@pytest.mark.thorough
@given(STACKS)
def test_what_a_page_holds_adds_up_to_the_profile(stacks):
    profile = made(stacks)
    tree = read(profile)
    assert [whole(tree, at) for at in range(len(profile.moments))] == [one.bytes for one in profile.moments.values()]
    assert tree["smaller"] is None
    assert all(node[0] < at for at, node in enumerate(tree["nodes"]) if at)


@pytest.mark.thorough
@given(STACKS, st.integers(0, 40))
def test_whatever_is_put_together_totals_stay(stacks, count):
    profile = made(stacks)
    tree = call_tree.tree_from_profile(profile, {stack for one in profile.moments.values() for stack in one.live})
    totals, first = tree.totals(), [0, *tree.owners()]
    order = first + sorted(set(range(len(totals))) - set(first), key=lambda at: (-max(totals[at].values()), at))
    small, rest = page_data.prune_tree(tree, set(order[: max(len(first), count)]))
    assert small.totals()[0] == totals[0]
    merged = [at for at, key in enumerate(small.keys) if key[0] == call_tree.SMALLER_SITES]
    for moment, size in rest.items():
        assert size == sum(small.held[at][moment].bytes for at in merged if moment in small.held[at])
    assert small.owners().keys() == {at for at in range(1, len(small.keys)) if small.callers[at] == 0}
    assert set(small.owners().values()) == set(tree.owners().values())


@given(st.dictionaries(st.integers(0, 8), st.builds(LiveHeap, st.integers(0, 3), st.none() | st.integers(0, 3))))
def test_changes_say_what_is_held_at_each_moment(held):
    node = [0, 0, 0, [], page_data.held_changes(held)]
    for moment in range(10):
        assert own(node, moment) == held.get(moment, (0, 0))


@settings(max_examples=20)
@given(STACKS, st.integers(400, 3000))
def test_what_fits_is_no_larger_than_its_room(stacks, room):
    profile = made(stacks)
    try:
        tree = read(profile, room)
    except ValueError as error:
        assert "cannot be made to fit" in str(error)
    else:
        assert len(page_data.pack_json(tree).encode()) <= room
        assert [whole(tree, at) for at in range(len(profile.moments))] == [
            one.bytes for one in profile.moments.values()
        ]


def test_stacks_share_what_is_below_a_library_function_that_both_call():
    """Neither the harness's entrance nor the allocator counts: all stacks have these."""
    elsewhere = (frame("wolfSSL_new", 3, "wolfssl/src/ssl.c"), *CLIENT)
    old = profile({BUFFER: 300, OTHER: 50}, "openssl@3.4.1")
    assert call_tree.shared_share(profile_diff.compare(old, profile({BUFFER: 200, OTHER: 50}))) == 1
    found = profile_diff.compare(old, profile({BUFFER: 200, elsewhere: 50}))
    assert call_tree.shared_share(found) == 500 / 600 and not call_tree.is_by_purpose(found)
    nothing = profile_diff.compare(old, profile({elsewhere: 50}, "wolfssl@5.9.4"))
    assert call_tree.shared_share(nothing) == 0 and call_tree.is_by_purpose(nothing)
    unknown = profile_diff.compare(old, profile({elsewhere: 50}, "nobody@1.0.0"))
    assert not call_tree.is_by_purpose(unknown), "without rules nothing is known of purposes"
    below = profile_diff.compare(profile({CLIENT: 7}, "openssl@3.4.1"), profile({CLIENT: 9}))
    assert call_tree.shared_share(below) == 1, "no library function is known"


@pytest.mark.thorough
def test_a_difference_by_purpose_adds_up_to_the_buckets_of_both():
    old, new = read_run("openssl@3.5.5"), read_run("rustls+aws-lc@0.23.46")
    tree = call_tree.tree_from_diff(profile_diff.compare(old, new, "established"))
    for at, side in enumerate((old, new)):
        found: dict[str, int] = {}
        for node, held in enumerate(tree.held):
            if at in held:
                found[tree.buckets[node]] = found.get(tree.buckets[node], 0) + held[at].bytes
        sums = BucketSums(side)
        expected = [sums.live_by_bucket("established", role) for role in ("client", "server")]
        for bucket in {bucket for one in expected for bucket in one}:
            assert found[bucket] == sum(one[bucket].bytes for one in expected if bucket in one)


def test_a_function_that_allocates_for_two_purposes_is_a_node_for_each(monkeypatch):
    found = profile_diff.compare(profile({BUFFER: 300}, "openssl@3.4.1"), profile({BUFFER: 200}))
    (row,) = found.rows
    purposes = {300: "record buffers, read", 7: "transport"}
    both = replace(found, rows=(row, row._replace(old=LiveHeap(7, 1), new=LiveHeap(0, 0))))
    monkeypatch.setattr(call_tree, "is_by_purpose", lambda _: True)
    monkeypatch.setattr(call_tree, "purpose", lambda _, row: purposes.get(row.old.bytes, purposes[300]))
    tree = call_tree.tree_from_diff(both)
    held = {tree.buckets[node]: held[0].bytes for node, held in enumerate(tree.held) if held}
    assert held == {purposes[300]: row.old.bytes, purposes[7]: 7}


def test_names_by_which_links_find_a_function_are_of_no_version():
    key = ("aws_lc_0_47_0_EVP_new::{closure#1}", "it.rs", "")
    assert page_data.name_frame(key)[-1] == "aws_lc_EVP_new::{closure}"
