"""Folded stacks and speedscope's file: their sums are what is live, and their names break no line."""

import json
import re

import pytest
from hypothesis import given

from tests.explore.test_profile_tables import profiles
from tests.support import handmade
from tlsmem.explore import folded_stacks, profile_selection
from tlsmem.profile.frames import Frame
from tlsmem.profile.heap_profile import CallstackTree, LiveHeap, Moment, Profile, sum_live


def test_stacks_begin_at_the_root():
    found = folded_stacks.folded(handmade.profile(), "peak", "server")
    assert found == {
        "main;open_sessions;server_session_new;SSL_new;buffer_new;CRYPTO_zalloc;malloc": 3000,
        "main;open_sessions;server_session_new;SSL_new;key_new;malloc": 10,
    }
    assert folded_stacks.folded(handmade.profile(), "peak", "harness") == {
        "main;wires_new;malloc": 64,
        "[no call stack]": 226,
    }
    assert folded_stacks.folded(handmade.profile(), "sessions", pattern="libfoo") == {
        "main;open_sessions;server_session_new;libfoo.so.1+0xbeef": 5
    }
    assert sum(folded_stacks.folded(handmade.profile(), "sessions", blocks=True).values()) == 18
    with pytest.raises(profile_selection.PatternNotFound):
        folded_stacks.folded(handmade.profile(), "peak", pattern="nosuch")


@pytest.mark.thorough
@given(profiles())
def test_they_add_up_to_what_is_live(one):
    for name, moment in one.moments.items():
        assert sum(folded_stacks.folded(one, name).values()) == moment.bytes


def test_a_name_neither_ends_a_frame_nor_a_line_nor_is_taken_for_the_number():
    names = {
        "f;g": "f:g",
        "operator new\n(int)": "operator new (int)",
        "f 12": "f_12",
        "<A as B>::f": "<A as B>::f",
        " ": "?",
        "f\x85\u20281": "f_1",
        "f\x1b[2J\x9b\0\ud800": "f?[2J???",
    }
    assert {name: folded_stacks.frame_label(Frame(name, None, None, None, None)) for name in names} == names
    (line,) = folded_stacks.lines(
        {folded_stacks.frame_label(Frame("f; 1\n 2", None, None, None, None)): 3}
    ).splitlines()
    assert re.fullmatch(r"(.*?)((?: [0-9.]+)+)", line).groups() == ("f: 1_2", " 3")


def test_speedscope_opens_every_moment():
    """By the rules of its schema: the keys, their types, indices of frames, weights beside samples, nothing else."""
    one = handmade.profile()
    made = json.loads(folded_stacks.speedscope(one, "sessions"))
    assert set(made) == {"$schema", "exporter", "name", "activeProfileIndex", "shared", "profiles"}
    assert made["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    assert [profile["name"] for profile in made["profiles"]] == list(one.moments)
    assert made["profiles"][made["activeProfileIndex"]]["name"] == "sessions"
    frames = made["shared"]["frames"]
    assert {"name": "buffer_new", "file": "src/buffer_new.c", "line": 20} in frames
    assert all(set(frame) <= {"name", "file", "line", "col"} and isinstance(frame["name"], str) for frame in frames)
    for profile in made["profiles"]:
        assert set(profile) == {"type", "name", "unit", "startValue", "endValue", "samples", "weights"}
        assert (profile["type"], profile["unit"], profile["startValue"]) == ("sampled", "bytes", 0)
        assert len(profile["samples"]) == len(profile["weights"])
        assert profile["endValue"] == sum(profile["weights"]) == one.moments[profile["name"]].bytes
        assert all(sample and all(0 <= at < len(frames) for at in sample) for sample in profile["samples"])
        assert all(frames[sample[0]]["name"] in ("main", "[no call stack]") for sample in profile["samples"])


def test_speedscope_of_a_choice():
    made = json.loads(folded_stacks.speedscope(handmade.profile(), "peak", "client", "buffer"))
    assert [profile["endValue"] for profile in made["profiles"]] == [0, 2000, 4000, 0]
    with pytest.raises(profile_selection.PatternNotFound):
        folded_stacks.speedscope(handmade.profile(), "peak", pattern="nosuch")


def test_a_block_of_nothing_is_in_no_line():
    stacks = CallstackTree()
    nothing = handmade.number(stacks, [handmade.frame("f")])
    one = Profile("massif", "f", "c", stacks, {"peak": Moment("peak", 0, {nothing: LiveHeap(0, 1)})})
    assert folded_stacks.folded(one, "peak") == {} and sum_live(one.live("peak")).blocks == 1
