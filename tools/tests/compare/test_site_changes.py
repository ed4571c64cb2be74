"""Call sites of a difference: whatever is planted, they add up to what the heap's slope differs by."""

import re
from fractions import Fraction

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.support import planted
from tlsmem.compare import change_text, comparison_output, comparison_tables, largest_changes
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
from tlsmem.schema.records import RecordLine

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


@pytest.mark.thorough
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


@pytest.mark.thorough
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


GROWN = {"client": {"tls_process_server_hello": (9_000, 1)}, "server": planted.TEMPORARY["server"]}
SMALL = {"client": {"tls_process_server_hello": (3_000, 1)}, "server": planted.TEMPORARY["server"]}


def test_a_temporary_block_that_grows_is_a_change_and_named():
    """As many blocks, all of them freed, and none at the peak of all sessions."""
    found = compare(allocating(SMALL), allocating(GROWN))
    assert [(row.place.role, row.place.meter, row.change.amount) for row in found.changed] == [
        ("client", "allocated", 6_000),
        ("pair", "allocated", 6_000),
    ]
    assert comparison_output.exit_status(found) == 3
    explained = CallSiteExplainer(found)
    (change,) = largest_changes.select_with_moves(found, explained)
    sentence = change_text.describe_large_change(change, explained)
    assert "client session, bytes allocated up to established: 17,100 -> 23,100 B (+6,000 B" in sentence
    assert sentence.endswith("all of it in tls_process_server_hello (ssl.c:14)")
    markdown = comparison_output.format_comparison(found, "markdown")
    assert re.search(
        r"tls_process_server_hello \(ssl.c:14\) < client_handshake < main +\| as many \| 6,000 B more", markdown
    )


@pytest.mark.parametrize(("more", "changed"), [(455, False), (456, True)])
def test_what_unchanged_builds_differ_by_is_no_change_of_allocated_bytes(more, changed):
    """4 KiB over the square root of the 90 pairs by which the two runs differ, rounded down to a whole root."""
    new = {"client": {"tls_process_server_hello": (3_000 + more, 1)}, "server": planted.TEMPORARY["server"]}
    found = compare(allocating(SMALL), allocating(new))
    assert [row.place.meter for row in found.changed] == ["allocated"] * changed


@pytest.mark.parametrize(
    ("more", "meters"),
    [
        ({"tls_sign": (5_000, 6)}, ["allocations"]),  # one block more, and its bytes
        ({"tls_sign": (5_000, 4)}, ["allocated", "allocations"]),  # fewer blocks, more bytes
    ],
)
def test_bytes_are_told_beside_blocks_where_these_go_another_way(more, meters):
    found = compare(allocating(planted.TEMPORARY), allocating({"client": planted.TEMPORARY["client"], "server": more}))
    assert sorted(one.row.place.meter for one in largest_changes.select_largest(found)) == meters


def test_bytes_that_are_still_live_are_told_once():
    found = compare(
        allocating(planted.TEMPORARY),
        allocating(planted.TEMPORARY, sites=planted.with_sites("server", SSL_new=(15_000, 20))),
    )
    assert [one.row.place.meter for one in largest_changes.select_largest(found)] == ["heap"]


DUP = ("ASN1_item_dup", "X509_dup", "tls_post_process_server_certificate")
PARTS = {"asn1_item_embed_new": (2_000, 20), "ossl_asn1_enc_save": (900, 4), "BN_bin2bn": (1_300, 40)}


def below(run, functions, callers):
    """The run with these callers between the functions and what called them."""
    given = run.model_dump(by_alias=True)
    frames, stacks = given["sites"]["frames"], given["sites"]["stacks"]
    first = len(frames)
    frames += [
        frames[0] | {"function": name, "line": 100 + at, "offset": 1_000 + at} for at, name in enumerate(callers)
    ]
    for stack in stacks:
        if frames[stack[1]]["function"] in functions:
            stack[2:2] = range(first, first + len(callers))
    return RecordLine.model_validate(given)


def kept_certificate(**more):
    """Of each client session the parts of a certificate that was copied, and what else is given."""
    runs = planted.counted(planted.with_sites("client", **PARTS, **more))
    return [below(run, PARTS, DUP) if run.meter == "sites" else run for run in runs]


def test_sites_below_one_call_are_told_by_who_made_it():
    """The nearest caller of all outside of generic code, with its own caller; parts are listed behind."""
    found = compare(planted.counted(), kept_certificate())
    explained = CallSiteExplainer(found)
    (change,) = largest_changes.select_largest(found)
    sentence = change_text.describe_large_change(change, explained)
    assert "(+4,200 B, exact; 40 -> 104 blocks)" in sentence
    assert sentence.endswith(
        "all of it in X509_dup (ssl.c:101) < tls_post_process_server_certificate, at 3 call sites below it"
    )
    (row,) = explained.sites(change.row)
    assert (row.bytes, row.blocks) == (4_200, 64)
    assert [(one.callers[0], one.bytes, one.blocks) for one in row.parts] == [
        (name, *PARTS[name]) for name in ("asn1_item_embed_new", "BN_bin2bn", "ossl_asn1_enc_save")
    ]
    tables = {table.name: table for table in comparison_tables.build_tables(found, explained)}
    assert [
        dict(zip([c.key for c in tables["sites"].columns], r, strict=True))["more_bytes"].value
        for r in tables["sites"].rows
    ] == [4_200, 4_200]
    assert [r[-4].value for r in tables["sites-below"].rows] == [2_000, 1_300, 900]
    assert "Call sites below one caller" in comparison_output.format_comparison(found, "markdown")


def test_another_change_beside_a_group_is_a_line_of_its_own():
    found = compare(planted.counted(), kept_certificate(SSL_new=(9_016, 3)))
    explained = CallSiteExplainer(found)
    (change,) = largest_changes.select_largest(found)
    assert [(one.callers[0], one.bytes, len(one.parts)) for one in explained.sites(change.row)] == [
        ("X509_dup", 4_200, 3),
        ("SSL_new", 16, 0),
    ]


def test_a_call_that_most_of_a_session_is_below_explains_nothing():
    """All of a session is below its state machine: two changes in it are two lines."""
    runs = []
    for parts in ((8_000, 5_000), (9_000, 6_000)):
        sites = {"client": {"f": (parts[0], 3), "g": (parts[1], 4)}, "server": planted.SITES["server"]}
        made = planted.counted(sites)
        runs.append([below(run, ("f", "g"), ("state_machine",)) if run.meter == "sites" else run for run in made])
    found = compare(*runs)
    (change,) = largest_changes.select_largest(found)
    assert [one.callers[0] for one in CallSiteExplainer(found).sites(change.row)] == ["f", "g"]


def test_a_profile_is_read_once_for_all_phases():
    sites = SiteComparison(planted.run("sites", 200), planted.run("sites", 200, MORE))
    assert sites.diff("idle") is sites.diff("idle")
    with pytest.raises(ValueError, match="no moment nowhere"):
        sites.diff("nowhere")
