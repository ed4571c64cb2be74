"""Diffs of heap profiles: what they come to, what is refused, and that everything adds up."""

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.pairs import AT, BUFFER, MALLOC, OTHER, SERVER, frame, profile, rows
from tlsmem.base.paths import ROOT
from tlsmem.base.phase_names import PEAK_OF
from tlsmem.explore.diff.profile_diff import Diff, compare, compare_moments
from tlsmem.explore.diff.sentences import NO_CHANGE, Strangers, describe_diff, summarise_diff
from tlsmem.explore.diff.tables import tables
from tlsmem.profile import open_profile, sites_reader
from tlsmem.profile.frames import Frame, skip_allocators
from tlsmem.profile.heap_profile import BASE, DUMP, END, PEAK, UNITS, LiveHeap, Profile
from tlsmem.schema import read_records
from tlsmem.tables import render

RECORDING = ROOT / "data/2026-11-21-amd-epyc-2"


def totals(diff: Diff) -> dict[str, tuple]:
    """OLD's and NEW's bytes by part."""
    return {part: amounts[:2] for part, amounts in summarise_diff(diff).totals}


def largest(diff: Diff) -> list[tuple]:
    """Part, innermost caller, how much more NEW holds, and who holds it alone."""
    sites = summarise_diff(diff).largest_sites
    return [(row.part, skip_allocators(row.frames)[0].function, more.more, row.only_holder) for row, more in sites]


def unjoined(diff: Diff) -> dict[str, tuple]:
    return {part: amounts[:2] for part, amounts in summarise_diff(diff).unjoined}


def test_growth_has_its_direction_its_place_and_is_per_session():
    old, new = profile({BUFFER: 4000, OTHER: 200}, "openssl@3.4.1"), profile({BUFFER: 6816, OTHER: 200})
    diff = compare(old, new)
    assert totals(diff) == {"client": (100, 100), "server": (2000, 3408)}
    assert largest(diff) == [("server", "ssl3_setup_read_buffer", 1408, None)]
    client, server = (amounts for _, amounts in summarise_diff(diff).totals)
    assert (client.share, server.share) == (0, 0.704)
    assert largest(compare(new, old)) == [("server", "ssl3_setup_read_buffer", -1408, None)]


def test_sentences_name_the_sides_the_direction_and_the_place(snapshot):
    old, new = profile({BUFFER: 4000, OTHER: 200}, "openssl@3.4.1"), profile({BUFFER: 6816, OTHER: 200})
    assert describe_diff(compare(old, new)) == snapshot(name="more")
    assert describe_diff(compare(new, old)) == snapshot(name="less")


def test_a_site_of_one_side_is_new_or_gone_and_not_joined(snapshot):
    gone = (MALLOC, frame("ssl_old_table"), *SERVER)
    diff = compare(profile({gone: 80, OTHER: 2}, "openssl@3.4.1"), profile({BUFFER: 40, OTHER: 2}))
    assert rows(diff)[1:] == [("server", "not joined", 80, 0), ("server", "not joined", 0, 40)]
    assert (diff.old.label, diff.new.label) == ("openssl@3.4.1", "openssl@3.5.5")
    assert largest(diff) == [
        ("server", "ssl_old_table", -40, "OLD"),
        ("server", "ssl3_setup_read_buffer", 20, "NEW"),
    ]
    assert unjoined(diff) == {"server": (40, 20)}
    assert describe_diff(diff) == snapshot(name="sentences")
    assert render.markdown(tables(diff)[1]) == snapshot(name="table")
    assert [(row[0].text, row[2].value) for row in tables(diff)[1].rows[1:]] == [("server", 20), ("server", -40)]


def test_what_could_not_be_joined_is_summed_by_part():
    same = (MALLOC, frame("SSL_read"), *SERVER)
    diff = compare(profile({OTHER: 80, same: 2}), profile({BUFFER: 40, same: 2}))
    assert unjoined(diff) == {"client": (40, 0), "server": (0, 20)}


def test_sites_below_one_call_that_changed_alike_are_one_row(snapshot):
    """As `compare` has it: a certificate that is copied, beside a buffer that grew and a site that is the same."""
    copied = (frame("X509_dup", 101), frame("tls_post_process_server_certificate", 102), *SERVER)
    parts = {"asn1_item_embed_new": 40, "ossl_asn1_enc_save": 10, "BN_bin2bn": 26}
    below = {(MALLOC, frame(name), *copied): size for name, size in parts.items()}
    state = {(MALLOC, frame("ssl_new_state"), *SERVER): 2_000}
    old, new = profile({BUFFER: 40, OTHER: 80, **state}), profile({BUFFER: 60, OTHER: 80, **state, **below})
    diff = compare(old, new)
    assert largest(diff) == [
        ("server", "X509_dup", 38, "NEW"),
        ("server", "ssl3_setup_read_buffer", 10, None),
    ]
    sentences = [line for line in describe_diff(diff) if "X509_dup" in line]
    assert sentences == snapshot(name="sentence")
    made = {table.name: table for table in tables(diff)}
    assert [row[2].value for row in made["diff-sites"].rows] == [0, 38, 10, 0]
    sites = [(row[8].text.partition(" (")[0], row[3].value) for row in made["diff-below"].rows]
    assert sites == [("asn1_item_embed_new", 20), ("BN_bin2bn", 13), ("ossl_asn1_enc_save", 5)]
    assert "diff-below" not in {table.name for table in tables(compare(old, old))}


def test_a_call_that_led_to_nearly_one_site_alone_is_no_row():
    """Which function allocates the buffer says more than which step of the handshake."""
    step = (frame("tls_new_record_layer", 7), frame("write_state_machine", 8), *SERVER)
    state = {(MALLOC, frame("ssl_new_state"), *SERVER): 90_000}
    added = {(MALLOC, frame("tls_setup_write_buffer"), *step): 33_000, (MALLOC, frame("EVP_MD_CTX_new"), *step): 144}
    diff = compare(profile(state), profile(state | added))
    assert [name for _, name, _, _ in largest(diff)] == ["tls_setup_write_buffer", "EVP_MD_CTX_new"]
    even = dict.fromkeys(added, 20_000)
    diff = compare(profile(state), profile(state | even))
    assert [name for _, name, _, _ in largest(diff)] == ["tls_new_record_layer"]


def test_the_largest_sites_are_few_and_of_either_direction():
    def site(name: str) -> tuple:
        return (MALLOC, frame(name), *SERVER)

    old, new = (
        {site(name): 2 * size for name, size in sizes.items()}
        for sizes in ({"a": 9, "b": 1, "c": 5, "d": 7}, {"a": 1, "b": 2, "c": 7, "d": 10})
    )
    diff = compare(profile(old), profile(new))
    assert [(name, more) for _, name, more, _ in largest(diff)] == [("a", -8), ("d", 3), ("c", 2)]


def test_two_programs_are_told_apart_first_of_all_whatever_the_harness_shares(snapshot):
    loader, own = (frame("dl_open"), frame("main")), (frame("report"), frame("main"))
    old = profile({OTHER: 80, loader: 4, own: 9}, "openssl@3.4.1")
    diff = compare(old, profile({BUFFER: 40, loader: 6}))
    assert ("harness", "name, file and line", 4, 6) in rows(diff)
    assert summarise_diff(diff).strangers == Strangers(by_sessions=True, are_two_stacks=True)
    assert unjoined(diff) == {}  # that is all
    assert largest(diff) == [("harness", "dl_open", 2, None)]  # what both have
    assert describe_diff(diff) == snapshot(name="two stacks")
    same_stack = compare(profile({OTHER: 80}), profile({BUFFER: 40}))
    assert summarise_diff(same_stack).strangers == Strangers(by_sessions=True, are_two_stacks=False)
    assert describe_diff(same_stack) == snapshot(name="one stack")
    assert summarise_diff(compare(profile({OTHER: 80, loader: 4}), profile({OTHER: 8, own: 6}))).strangers is None
    assert summarise_diff(compare(profile({OTHER: 80}), profile({}))).strangers is None  # one side holds nothing
    foreign = (profile({PEAK: {(frame(name), frame("main")): 9}}, None) for name in "fg")
    assert summarise_diff(compare(*foreign)).strangers == Strangers(by_sessions=False, are_two_stacks=False)


def test_no_change_is_told():
    diff = compare(profile({BUFFER: 4000, OTHER: 200}), profile({BUFFER: 4000, OTHER: 200}))
    assert not summarise_diff(diff).has_changes and NO_CHANGE in describe_diff(diff)
    assert [row.stage for row in diff.rows] == ["name, file and line"] * 2
    more_blocks = compare(profile({BUFFER: (40, 2)}), profile({BUFFER: (40, 4)}))
    assert summarise_diff(more_blocks).has_changes and NO_CHANGE not in describe_diff(more_blocks)


def test_sessions_are_divided_and_what_was_there_before_is_apart(snapshot):
    context = (MALLOC, Frame("server_context_new", "memtest/frames.c", 69, "harness", 9))
    old = profile({BASE: {BUFFER: 100, context: 30}, AT: {BUFFER: 104, context: 30}})
    new = profile({BASE: {BUFFER: 120, context: 50}, AT: {BUFFER: 126, context: 50}})
    diff = compare(old, new)
    assert totals(diff) == {"server": (2, 3), "server context": (30, 50), "warm-up": (100, 120)}
    assert describe_diff(diff) == snapshot
    assert totals(compare(old, new, BASE)) == {"server": (100, 120), "server context": (30, 50)}


def test_whole_processes_are_compared_where_sessions_are_not_known(snapshot):
    old, new = (profile({PEAK: {BUFFER: size}}, None, file=f"{size}.out") for size in (100, 107))
    diff = compare(old, new)
    assert (diff.old.moment, diff.old.sessions, diff.old.label) == (PEAK, None, "100.out")
    assert totals(diff) == {"server": (100, 107)}
    assert describe_diff(diff) == snapshot(name="a role")
    foreign = (frame("f", 3, "a.c"), frame("main", 4, "a.c"))
    diff = compare(*(profile({PEAK: {foreign: size}}, None) for size in (100, 107)))
    assert describe_diff(diff) == snapshot(name="a program")


def test_a_tool_that_counts_no_blocks(snapshot):
    diff = compare(*(profile({BUFFER: (size, None)}, tool="massif") for size in (100, 100)))
    (total,) = summarise_diff(diff).totals
    assert total.amounts == (50, 50, None, None)
    assert not summarise_diff(diff).has_changes
    assert describe_diff(diff) == snapshot(name="sentences")
    assert render.markdown(tables(diff)[0]) == snapshot(name="table")
    gone = compare(profile({BUFFER: (100, None)}, tool="massif"), profile({}, tool="massif"))
    assert [row.only_holder for row in gone.rows] == ["OLD"]
    other = profile({BUFFER: (100, 2)}, tool="dhat")
    forced = compare(profile({BUFFER: (100, None)}, tool="massif"), other, force=True)
    assert not summarise_diff(forced).has_changes


def test_half_a_byte_is_not_rounded_away(snapshot):
    diff = compare(profile({BUFFER: 4}), profile({BUFFER: 5}))
    assert totals(diff) == {"server": (2, 2.5)}
    assert describe_diff(diff) == snapshot


UNLIKE = {
    "suite": profile({BUFFER: 2}, suite="tls12-rsa-aes256"),
    "N": profile({BUFFER: 2}, sessions=1000),
    "moment": profile({BASE: {}, PEAK: {BUFFER: 2}}),
    "program": profile({AT: {BUFFER: 2}}, None),
    "sessions": profile({AT: {BUFFER: 2}}),
}


@pytest.mark.parametrize("name", UNLIKE)
def test_what_is_unlike_is_refused_unless_forced(name, snapshot):
    new = UNLIKE[name]
    with pytest.raises(ValueError) as refused:
        compare(profile({BUFFER: 2}), new, AT)
    assert str(refused.value) == snapshot(name="refused")
    diff = compare(profile({BUFFER: 2}), new, AT, force=True)
    assert diff.forced and all(reason in describe_diff(diff)[1] for reason in diff.forced)
    assert describe_diff(diff) == snapshot(name="forced")
    assert sum(row.new.bytes for row in diff.rows) == sum(row.old.bytes for row in diff.rows) == 2
    assert (diff.old.moment, diff.new.moment) == (AT, PEAK if name == "moment" else AT)


@pytest.mark.parametrize("unit", ["usable", "size class", "mapped", "unspecified"])
def test_two_units_are_never_compared(unit):
    one, other = profile({BUFFER: 2}), profile({BUFFER: 2}, unit=unit)
    for pair in (one, other), (other, one):
        with pytest.raises(ValueError, match="the two count in different units") as refused:
            compare(*pair, AT, force=True)
        assert UNITS["requested"] in str(refused.value) and UNITS[unit] in str(refused.value)
    assert not any(row.old != row.new for row in compare(other, other, AT).rows)


def test_an_estimate_is_compared_with_a_count_only_where_it_is_forced():
    sampled = profile({BUFFER: 2}, sampled_every_bytes=524_288)
    with pytest.raises(ValueError, match=r"figures of NEW .* are estimates, from one sample in about 524,288 B"):
        compare(profile({BUFFER: 2}), sampled, AT)
    assert compare(profile({BUFFER: 2}), sampled, AT, force=True).forced
    compare(sampled, sampled, AT)
    with pytest.raises(ValueError, match=r"figures of OLD .* are estimates, from samples, and the file does not tell"):
        compare(profile({BUFFER: 2}, sampled_every_bytes=0), profile({BUFFER: 2}), AT)


def test_files_that_programs_write_are_compared_at_the_moment_of_writing():
    old = profile({DUMP: {BUFFER: 2}})
    told = describe_diff(compare(old, profile({DUMP: {BUFFER: 5}})))
    assert any("when the profile was written" in one for one in told), told


def test_beside_a_sites_run_only_sessions_are_compared(snapshot):
    new = profile({BUFFER: 2, (): 7}, tool="sites", of_one_pair=True)
    diff = compare(profile({BUFFER: 2, (): 5, (frame("main"),): 9}), new)
    assert rows(diff) == [("server", "name, file and line", 2, 2)]
    assert not diff.forced and diff.notes == snapshot


def test_two_tools_are_compared_and_it_is_said():
    diff = compare(profile({BUFFER: 2}), profile({BUFFER: 6}, tool="massif"))
    assert totals(diff) == {"server": (1, 3)} and not diff.forced
    assert any("OLD is by heaptrack, NEW by massif" in one for one in describe_diff(diff))


def test_a_dump_is_compared_with_the_moment_that_is_named():
    old, new = profile({PEAK: {BUFFER: 9}, END: {BUFFER: 4}}, None), profile({DUMP: {BUFFER: 5}}, None)
    for pair in (old, new), (new, old):
        with pytest.raises(ValueError, match="choose one of them with --phase peak or --phase end"):
            compare(*pair)
    for moment, held in ((PEAK, 9), (END, 4)):
        diff = compare(old, new, moment)
        assert totals(diff) == {"server": (held, 5)} and (diff.old.moment, diff.new.moment) == (moment, DUMP)


def test_two_moments_of_a_profile_are_compared_per_session(snapshot):
    """Counted by hand: 2 sessions of a role, 100 B of the server from before them."""
    context = (MALLOC, Frame("server_context_new", "memtest/frames.c", 69, "harness", 9))
    live = {
        BASE: {BUFFER: 100, context: 30},
        "server 1": {BUFFER: 500, context: 30, OTHER: 80},
        AT: {BUFFER: 300, context: 30, OTHER: 88},
        "freed": {BUFFER: 100, context: 10},
    }
    one = profile(live)
    diff = compare_moments(one, "server 1", AT)
    assert totals(diff) == {"client": (40, 44), "server": (200, 100), "server context": (30, 30), "warm-up": (100, 100)}
    assert describe_diff(diff) == snapshot(name="sentences")
    assert [(table.name, table.caption) for table in tables(diff)] == snapshot(name="tables")
    assert totals(compare_moments(one, AT, "server 1"))["server"] == (100, 200)
    whole = compare_moments(one, BASE, "freed")  # no session's: what the process still holds
    assert totals(whole) == {"server": (100, 100), "server context": (30, 10)}
    assert whole.old.sessions is None


def test_the_peak_inside_the_handshake_is_a_moment_like_others():
    """Of a recording: a session's peak is what the meter counted in that phase, to the byte."""
    file = ROOT / "data/2026-11-26-amd-epyc-p355e-sites/openssl@3.5.5.jsonl.zst"
    one = open_profile.open_profile(file, suite="tls13-rsa-aes256+tickets-library")
    phases = {phase.phase: phase.sites for phase in one.run.phases}
    diff = compare_moments(one, f"{PEAK_OF}client 2", AT)
    peak = phases["client 2"].peak_bytes
    live = {role: sum(held.bytes for held in phases[AT].live if held.role == role) for role in ("client", "server")}
    assert totals(diff) == {"client": (peak.client, live["client"]), "server": (peak.server, live["server"])}
    assert totals(diff)["client"] == (98_752, 47_800)
    assert totals(compare_moments(one, BASE, AT)) == {role: (0, size) for role, size in live.items()}


def test_a_line_is_a_site_of_its_own_in_one_profile():
    """Of two builds, lines move; of two moments, they do not."""
    moved = (BUFFER[0], frame("ssl3_setup_read_buffer", 99), *BUFFER[2:])
    one = profile({BASE: {}, "server 1": {BUFFER: 8}, AT: {moved: 8}})
    assert [(row.only_holder, row.stage) for row in compare_moments(one, "server 1", AT).rows] == [
        ("OLD", "not joined"),
        ("NEW", "not joined"),
    ]


def test_one_moment_twice_and_a_moment_that_is_not_there_are_sentences():
    one = profile({BASE: {}, PEAK: {}, AT: {}})
    with pytest.raises(ValueError, match="established and established are one moment; name two of contexts, peak, est"):
        compare_moments(one, AT, AT)
    with pytest.raises(ValueError, match=r"no moment etsablished among .*did you mean established"):
        compare_moments(one, PEAK, "etsablished")


def test_the_usual_moment_is_one_that_both_have(snapshot):
    old = profile({BASE: {}, PEAK: {BUFFER: 2}, AT: {}, END: {}})
    assert compare(old, old).new.moment == AT
    assert compare(old, profile({BASE: {}, END: {}, PEAK: {}})).new.moment == PEAK
    new = profile({BASE: {}, "server 1": {BUFFER: 2}})
    with pytest.raises(ValueError) as none_in_common:
        compare(old, new)
    forced = compare(old, new, force=True)
    assert (forced.old.moment, forced.new.moment) == (AT, "server 1")
    with pytest.raises(ValueError) as unknown:
        compare(old, old, "client 9", force=True)
    with pytest.raises(ValueError) as without:
        compare(old, profile({}, moments={}), force=True)
    assert [str(error.value) for error in (none_in_common, unknown, without)] == snapshot


def test_folded_has_functions_from_the_root_with_both_sides():
    unnamed = (frame("f<[u8; 4]>"), Frame(None, None, None, "/lib/libssl.so.3", 5), *SERVER)
    diff = compare(profile({BUFFER: 4, unnamed: 2}), profile({BUFFER: 6, OTHER: 8, unnamed: 2}))
    path = "main;server_handshake;ssl3_read_n;ssl3_setup_read_buffer;CRYPTO_malloc"
    assert sorted(diff.folded()) == [
        ("main;client_handshake;SSL_new;CRYPTO_malloc", 0, 8),
        ("main;server_handshake;[libssl.so.3];f<[u8: 4]>", 2, 2),
        (path, 4, 6),
    ]
    assert list(diff.folded("client")) == [("main;client_handshake;SSL_new;CRYPTO_malloc", 0, 8)]
    other = profile({BUFFER: 30}, sessions=20, sessions_of_role=10)
    assert list(compare(profile({BUFFER: 4}), other, force=True).folded()) == [(path, 20, 30)]


def test_rows_can_be_selected_by_part_and_pattern(snapshot):
    diff = compare(profile({BUFFER: 4, OTHER: 2}), profile({BUFFER: 6, OTHER: 8}))
    assert [row.part for row in diff.select("client").rows] == ["client"]
    assert [row.part for row in diff.select(wanted="read_n$").rows] == ["server"]
    nothing = diff.select("client", "read_n$")
    assert nothing.rows == summarise_diff(nothing).totals == ()
    assert describe_diff(nothing) == snapshot


names = st.sampled_from(["CRYPTO_malloc", "SSL_new", "ssl3_read_n", "tls_parse", "handshake", None])
entrances = st.sampled_from(["client_handshake", "server_session_new", "server_context_new", "harness_loop"])
frame_lists = st.lists(
    st.builds(frame, names, st.integers(1, 3), st.sampled_from(["a-1.0/x.c", "a-2.0/x.c", "y.c"]), st.just("m")),
    max_size=5,
)
stacks = st.builds(lambda inner, outer: (*inner, frame(outer), frame("main")), frame_lists, entrances)
sizes = st.tuples(st.integers(0, 10**6), st.integers(0, 99))
lives = st.dictionaries(st.one_of(stacks, st.just(())), sizes, max_size=12)


@pytest.mark.thorough
@settings(deadline=None)
@given(lives, lives, lives, lives, st.integers(1, 7))
def test_everything_adds_up(old_base, old_live, new_base, new_live, rows_shown):
    old, new = profile({BASE: old_base, AT: old_live}), profile({BASE: new_base, AT: new_live})
    diff = compare(old, new)
    for side, source in (("old", old), ("new", new)):
        sums = Counter()
        for row in diff.rows:
            sums[row.part] += getattr(row, side).bytes
        assert sum(sums.values()) == source.moments[AT].bytes
        for part in ("client", "server"):
            assert sums[part] == sum(held.bytes for held in source.live_of_sessions(AT, part).values())
    made = {table.name: table for table in tables(diff, rows_shown)}
    whole, sites, joins = (made[name] for name in ("diff", "diff-sites", "diff-joined"))
    for total in whole.rows:
        assert total[1].value == total[3].value - total[2].value
        for table in (sites, joins):
            at = [column.key for column in table.columns].index("more_bytes")
            of_part = [row for row in table.rows if row[0].value == total[0].value]
            for column in range(5):  # NEW holds, OLD, NEW, and the blocks of both
                values = [Fraction(row[at + column].value) for row in of_part]
                assert sum(values) == Fraction(total[1 + column].value)
    assert render.format_tables(tables(diff, rows_shown), "json") and describe_diff(diff)


@pytest.mark.thorough
@settings(deadline=None)
@given(lives, lives)
def test_a_diff_turned_round_is_the_same_with_another_sign(old_live, new_live):
    a, b = profile(old_live), profile(new_live)
    there, back = compare(a, b), compare(b, a)
    assert Counter(rows(there)) == Counter((part, stage, new, old) for part, stage, old, new in rows(back))
    assert sum(old for _, old, _ in there.folded()) == sum(held.bytes for held in a.live(AT).values())
    assert sum(new for _, _, new in there.folded()) == sum(held.bytes for held in b.live(AT).values())


@pytest.mark.thorough
@settings(deadline=None)
@given(lives)
def test_nothing_differs_from_itself(live):
    diff = compare(profile(live), profile(live))
    assert all(row.stage in ("name, file and line", "module only", "no call stack") for row in diff.rows)
    assert not any(diff.figures(row).differ for row in diff.rows)


def recorded(stack: str, suite: str) -> Profile:
    runs = read_records.load_file(RECORDING / f"{stack}.jsonl")
    return sites_reader.profile_from_record(next(run for run in runs if (run.meter, run.suite) == ("sites", suite)))


@pytest.mark.thorough
def test_the_recorded_stacks_tell_the_heap_meters_figures(snapshot):
    one = recorded("openssl@3.5.5", "tls13-rsa-aes256")
    same = compare(one, recorded("openssl@3.5.5", "tls13-rsa-aes256"))
    assert not summarise_diff(same).has_changes and {row.stage for row in same.rows} == {"name, file and line"}
    other = compare(one, recorded("rustls+aws-lc@0.23.46", "tls13-rsa-aes256"))
    assert [(row.part, row.old, row.new) for row in other.totals()] == [
        ("client", LiveHeap(47_592, 194), LiveHeap(9_712, 12)),
        ("server", LiveHeap(37_286, 48), LiveHeap(7_529, 10)),
    ]
    assert {row.stage for row in other.rows} == {"not joined"}
    with pytest.raises(ValueError, match="tls13-rsa-aes256-pq") as error:
        compare(one, recorded("openssl@3.5.5", "tls13-rsa-aes256-pq"))
    assert str(error.value) == snapshot(name="suites differ")
