"""Tables of a profile whose figures are known, and sums that hold whatever is asked for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import handmade
from tlsmem.config.choices import BY, LIVE
from tlsmem.explore import profile_selection, profile_tables
from tlsmem.explore.block_sizes import size_tables
from tlsmem.explore.profile_tables import by_phase, summary
from tlsmem.explore.short_function_names import short
from tlsmem.explore.top_sites import top_sites_table
from tlsmem.profile.frames import Frame
from tlsmem.profile.heap_profile import END, PEAK, CallstackTree, LiveHeap, Moment, Profile, sum_live
from tlsmem.schema.roles import OWNERS
from tlsmem.tables.table import Table


def texts(table: Table, *keys: str) -> list[tuple[str, ...]]:
    at = [[column.key for column in table.columns].index(key) for key in keys]
    return [tuple(row[one].text for one in at) for row in table.rows]


def values(table: Table, key: str) -> list:
    at = [column.key for column in table.columns].index(key)
    return [row[at].value for row in table.rows]


def note(table: Table, row: int, key: str) -> str:
    return table.rows[row][[column.key for column in table.columns].index(key)].note


def test_a_site_is_its_caller_s_with_its_owner_and_its_part_of_a_session(snapshot):
    found = top_sites_table(handmade.profile(), "sessions")
    assert texts(found, "bytes", "blocks", "share", "per_session", "owner", "callers") == [
        ("3,000", "4", "51.7 %", "1,500 in 2", "server", "buffer_new (buffer_new.c:20) < SSL_new < server_session_new"),
        ("2,000", "2", "34.5 %", "1,000 in 1", "client", "buffer_new (buffer_new.c:20) < SSL_new < client_session_new"),
        ("700", "7", "12.1 %", "–", "server context", "X509_parse (X509_parse.c:40) < server_context_new < main"),
        ("64", "1", "1.1 %", "–", "harness", "wires_new (wires_new.c:50) < main"),
        ("30", "3", "0.5 %", "10 in 1", "server", "key_new (key_new.c:21) < SSL_new < server_session_new"),
        ("5", "1", "0.1 %", "2.50 in 0.50", "server", "? (libfoo.so.1+0xbeef) < server_session_new < open_sessions"),
    ]
    assert found.caption.startswith("5,799 B in 18 blocks. ")
    assert found.caption == snapshot(name="caption")
    assert note(found, 2, "per_session") == snapshot(name="note")


def test_others_share_a_row_and_are_of_a_session_where_they_are_of_one_role(snapshot):
    found = top_sites_table(handmade.profile(), "sessions", rows=2)
    assert texts(found, "bytes", "blocks", "owner", "callers")[2:] == [("799", "12", "any", "4 others")]
    assert note(found, 2, "per_session") == snapshot
    (*_, others) = texts(
        top_sites_table(handmade.profile(), "sessions", "server", rows=1), "bytes", "per_session", "owner"
    )
    assert others == ("35", "12.50 in 1.50", "server")  # (20 + 5) B in (2 + 1) blocks, of two sessions
    *_, last = texts(top_sites_table(handmade.profile(), "sessions", rows=5), "bytes", "callers")
    assert last == ("5", "? (libfoo.so.1+0xbeef) < server_session_new < open_sessions")  # one is itself


def test_what_went_since_the_contexts_is_less_than_nothing_for_a_session():
    one = handmade.profile()
    one.moments["sessions"].live.pop(next(s for s, held in one.moments["contexts"].live.items() if held.bytes == 10))
    one.moments["sessions"].bytes -= 30
    (*_, key) = texts(top_sites_table(one, "sessions", "server"), "bytes", "per_session", "callers")
    assert key == ("0", "-5 in -0.50", "key_new (key_new.c:21) < SSL_new < server_session_new")


def test_without_a_number_of_sessions_it_is_said_how_to_give_it(snapshot):
    one = handmade.profile(sessions=None)
    assert note(top_sites_table(one, "sessions"), 0, "per_session") == snapshot(name="note")
    assert texts(top_sites_table(one, "sessions", sessions=4), "per_session")[0] == ("1,500 in 2",)
    for sessions in (3, 0):
        with pytest.raises(ValueError) as error:
            top_sites_table(one, "sessions", sessions=sessions)
        assert str(error.value) == snapshot(name=f"{sessions} sessions")


def test_nothing_is_a_session_s_before_there_are_any(snapshot):
    found = top_sites_table(handmade.profile(), "contexts")
    assert {note(found, row, "per_session") for row in range(3)} == snapshot(name="contexts")
    assert note(top_sites_table(handmade.profile(), "end"), 0, "per_session") == snapshot(name="end")
    one = handmade.profile(moments=("sessions", "end"))  # nothing is known to have been there before
    one.moments["end"].live[2] = LiveHeap(4, 2)
    assert "are freed" not in str(top_sites_table(one, "end").rows)


def test_a_program_without_roles_is_shared_by_all_its_sessions():
    found = top_sites_table(handmade.foreign(), "snapshot 3", sessions=5)
    assert texts(found, "bytes", "per_session")[0] == ("400", "80 in 0.80")
    assert len(profile_tables.overview(handmade.foreign())) == 2


def test_the_figures_of_a_sites_run_are_of_one_session_already():
    found = top_sites_table(handmade.profile("sites", 1, moments=("contexts", "sessions")), "sessions")
    assert "per_session" not in [column.key for column in found.columns] and "Of one session" in found.caption


def test_over_the_run_sites_are_ranked_by_what_was_asked_for():
    one = handmade.profile()
    assert texts(
        top_sites_table(one, "peak", by="allocations"), "allocations", "allocated_bytes", "temporary", "share"
    )[:2] == [
        ("40", "9,000", "36", "76.9 %"),
        ("8", "800", "1", "15.4 %"),
    ]
    assert values(top_sites_table(one, "peak", by="allocated"), "allocated_bytes") == [9000, 800, 64, 30]
    assert values(top_sites_table(one, "peak", by="temporary"), "temporary") == [36, 3, 1, 0]
    assert values(top_sites_table(one, "peak", "server", by="temporary"), "temporary") == [3]


def test_what_a_tool_does_not_tell_is_a_hole_or_a_sentence(snapshot):
    massif = handmade.profile("massif", counts=False)
    massif.allocated = massif.sizes = None
    found = top_sites_table(massif, "sessions")
    assert note(found, 0, "blocks") == snapshot(name="note")
    assert texts(found, "per_session")[0] == ("1,500",)
    for by in ("blocks", "allocations", "temporary"):
        with pytest.raises(ValueError) as error:
            top_sites_table(massif, "sessions", by=by)
        assert str(error.value) == snapshot(name=by)
    with pytest.raises(ValueError) as error:
        size_tables(massif, "sessions")
    assert str(error.value) == snapshot(name="sizes")


def test_a_pattern_finds_functions_files_and_modules_anywhere_in_a_stack(snapshot):
    one = handmade.profile()
    for pattern, found in (("^key_", [30]), (r"SSL_new\.c", [3000, 2000, 30]), ("libfoo", [5]), ("main", [5799])):
        assert sum(values(top_sites_table(one, "sessions", pattern=pattern), "bytes")) == sum(found)
    with pytest.raises(profile_selection.PatternNotFound) as error:
        top_sites_table(one, "sessions", pattern="nosuch")
    assert str(error.value) == snapshot
    with pytest.raises(profile_selection.PatternNotFound):
        top_sites_table(one, "sessions", by="temporary", pattern="nosuch")


def test_moments_are_found_or_named(snapshot):
    one = handmade.profile()
    assert [profile_selection.select_moment(one, name).name for name in (None, "sessions", "end")] == [
        "peak",
        "sessions",
        "end",
    ]
    assert profile_selection.select_moment(handmade.profile(moments=("contexts", "sessions", "end"))).name == "sessions"
    with pytest.raises(ValueError) as unknown:
        profile_selection.select_moment(one, "sesions")
    with pytest.raises(ValueError) as without:
        profile_selection.select_moment(Profile("massif", "f", "", CallstackTree(), {}))
    assert [str(unknown.value), str(without.value)] == snapshot


def test_a_session_by_phase(snapshot):
    found = by_phase(handmade.profile())
    assert texts(found, "moment", "client", "server", "contexts", "harness", "process") == [
        ("contexts", "–", "–", "700", "64", "774"),
        ("sessions", "1,000 in 1", "1,512.50 in 3.50", "700", "64", "5,799"),
        ("peak", "2,000 in 2", "1,500 in 2", "700", "290", "8,000"),
        ("end", "–", "–", "0", "64", "64"),
    ]
    without = by_phase(handmade.profile(sessions=None))
    assert without.caption == snapshot
    assert texts(without, "client")[1] == ("2,000 in 2",)


def test_a_summary():
    one = handmade.profile()
    one.warnings.append("cut off")  # which stderr tells
    found = dict(texts(summary(one), "what", "value"))
    assert found == {
        "file": "one.zst",
        "command": "build/harness/tls@1 memory sessions=4",
        "sessions of each role": "2",
        "peak": "8,000 B in 19 blocks",
        "most at a phase's end, `sessions`": "5,799 B in 18 blocks",
        "live at the end": "64 B in 1 block",
        "allocations": "52, of 9,894 B in all",
        "of them temporary": "76.9 %",
        "runtime": "1.2 s",
        "moments": "contexts, sessions, peak, end",
    }


def test_what_is_live_at_the_end_is_without_suppressions_and_it_is_said():
    """Of heaptrack's files alone: the other tools have none."""
    said = "Suppressions are off"
    one = handmade.profile()
    assert said in summary(one).caption and said in top_sites_table(one, END).caption
    assert said not in top_sites_table(one, PEAK).caption
    one.tool = "massif"
    assert said not in summary(one).caption and said not in top_sites_table(one, END).caption


def test_names_in_a_file_that_anybody_made_do_not_draw_on_the_terminal():
    stacks = CallstackTree()
    evil = handmade.number(stacks, [Frame("a\x1b[2Jb\nc", None, None, "m", 0)])
    one = Profile("massif", "f", "x\x1b[2J", stacks, {"peak": Moment("peak", 1, {evil: LiveHeap(1, None)})})
    shown = [
        *texts(top_sites_table(one, "peak"), "callers")[0],
        *(text for row in texts(summary(one), "value") for text in row),
    ]
    assert all(text.isprintable() for text in shown)


def test_short_names():
    names = {
        "SSL_new": "SSL_new",
        "rustls::msgs::deframer::Vec<T>::read": "Vec::read",
        "<rustls::client::Conn as core::ops::Deref>::deref": "Conn::deref",
        "<alloc::vec::Vec<T,A> as Clone>::clone": "Vec::clone",
        "a::b::C::into_owned::{{closure}}": "C::into_owned::{{closure}}",
        "std::vector<int, A<(int)3> >::push_back(int const&)": "vector::push_back",
        "ns::C::f(char) const": "C::f",
        "(anonymous namespace)::f(int)": "(anonymous namespace)::f",
        "operator new(unsigned long)": "operator new(unsigned long)",
        "A::operator<(B)": "A::operator<(B)",
        "<": "<",
        "<fn() -> T as a::B>::call": "fn -> T::call",
        "{closure#0}": "{closure#0}",
        "": "",
    }
    assert {name: short(name) for name in names} == names


@st.composite
def profiles(draw):
    names = st.sampled_from(["malloc", "f", "g", "client_session_new", "server_handshake", "server_context_new", None])
    frame = st.builds(Frame, names, st.none(), st.none(), st.just("m"), st.integers(0, 2))
    stacks, held = CallstackTree(), st.builds(LiveHeap, st.integers(0, 99), st.integers(0, 9))
    numbers = [0] + [handmade.number(stacks, path) for path in draw(st.lists(st.lists(frame, max_size=4), max_size=8))]
    moments = {}
    for name in ("contexts", "sessions", "peak"):
        live = draw(st.dictionaries(st.sampled_from(numbers), held))
        moments[name] = Moment(name, sum_live(live).bytes, live)
    return Profile("heaptrack", "f", "c", stacks, moments, sessions_of_role=draw(st.sampled_from([None, 1, 3])))


@pytest.mark.thorough
@given(profiles(), st.sampled_from([None, *OWNERS]), st.sampled_from(LIVE), st.integers(1, 9), st.data())
def test_rows_add_up_to_the_total_whatever_is_asked_for(one, owner, by, rows, data):
    name = data.draw(st.sampled_from([*one.moments]))
    pattern = data.draw(st.sampled_from([None, "f", "malloc|g", "session_new", "nosuch"]))
    try:
        found = top_sites_table(one, name, owner, by, rows, pattern)
    except profile_selection.PatternNotFound:
        assert pattern
        return
    held = profile_selection.live_by_stack(one, name, owner, pattern)
    every = sum_live(held)
    assert (sum(values(found, "bytes")), sum(values(found, "blocks"))) == every
    assert found.caption.startswith(f"{every.bytes:,} B in {every.blocks:,} block") and len(found.rows) <= rows + 1
    if pattern is None:
        assert every.bytes == sum_live(one.live(name, owner)).bytes
    if owner in profile_selection.ROLES and one.sessions_of_role and name != "contexts":
        each = sum(value["bytes"] for value in values(found, "per_session"))
        assert each == pytest.approx(
            sum_live(profile_selection.held_by_sessions(one, name, owner, pattern)).bytes / one.sessions_of_role
        )


def test_each_quantity_is_told():
    assert [top_sites_table(handmade.profile(), "peak", by=by).name for by in BY] == ["sites"] * len(BY)
