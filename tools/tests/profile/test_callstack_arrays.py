"""Call stacks that are made a tree all at once: the same stacks as one by one, and points of DHAT in many pieces."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.profile.test_dhat_reader import DHAT, point
from tlsmem.profile import dhat_reader
from tlsmem.profile.callstack_arrays import CallstackArrays, find_unique
from tlsmem.profile.callstack_lists import CallstackLists
from tlsmem.profile.errors import Unreadable
from tlsmem.profile.frames import Frame
from tlsmem.profile.heap_profile import END, CallstackTree, LiveHeap

# Some have the address of another: a function and what was inlined there; some have none.
FRAMES = [Frame(f"f{at}", None, None, "app", None if at % 5 == 4 else at // 2) for at in range(12)]


@pytest.mark.thorough
@given(st.lists(st.lists(st.lists(st.integers(0, len(FRAMES) - 1), max_size=9), max_size=20), max_size=3))
def test_stacks_are_those_that_lists_make_one_by_one(pieces):
    arrays, lists = CallstackArrays(), CallstackLists(CallstackTree(), FRAMES)
    for piece in pieces:
        arrays.add(piece)
    made = CallstackTree()
    found = arrays.build(made, FRAMES).tolist()
    expected = [lists.stack(stack) for piece in pieces for stack in piece]
    assert [made.frames(one) for one in found] == [lists.stacks.frames(one) for one in expected]
    places = [[made.places[place] for place in made.walk(one)] for one in found]
    assert places == [[lists.stacks.places[place] for place in lists.stacks.walk(one)] for one in expected]
    assert len(made.nodes) == len(lists.stacks.nodes) and len(made.places) == len(lists.stacks.places)
    assert len({*zip(found, expected, strict=True)}) == len({*expected}) == len({*found})
    assert all(caller < node for node, (_, caller) in enumerate(made.nodes) if node)


@given(st.lists(st.one_of(st.integers(0, 50), st.integers(0, 1 << 62)), min_size=1))
def test_unique_keys_are_numpy_s(keys):
    found = find_unique(np.array(keys))
    expected = np.unique(np.array(keys), return_inverse=True)
    assert [column.tolist() for column in found] == [column.tolist() for column in expected]


def test_places_that_say_who_called_are_as_few_as_needed():
    stacks = CallstackTree()
    malloc, inlined, outer = (
        stacks.place(tuple(Frame(name, None, None, None, None) for name in names))
        for names in (["malloc"], ["a", "b"], ["c", "d"])
    )
    main = stacks.place((Frame("main", None, None, None, None),))
    stack = stacks.add(malloc, stacks.add(inlined, stacks.add(outer, stacks.add(main, 0))))
    assert stacks.inner_places(stack, 3) == (malloc, inlined, outer)
    assert stacks.inner_places(stack, 2) == (malloc, inlined)
    assert stacks.inner_places(stacks.add(malloc, 0), 3) == (malloc,)


def read_in_pieces(monkeypatch, text: bytes, size: int):
    """What dhat_reader makes of this text, of which it gets so many bytes at a time."""
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    monkeypatch.setattr(dhat_reader, "read_chunks", lambda *_: iter(pieces))
    return dhat_reader.read_profile("dhat")


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("size", [1, 7, 100, 1 << 18])
def test_points_in_many_pieces_are_those_of_one(monkeypatch, indent, size):
    content = DHAT | {"pps": [point(at, 1, 1 + at % 2, 4) for at in range(1, 200)]}
    found = read_in_pieces(monkeypatch, json.dumps(content, indent=indent).encode(), size)
    assert [*found.live(END).values()] == [LiveHeap(10_000, 100), LiveHeap(9_900, 99)]


def test_a_wrong_point_is_named_by_its_number_in_the_file(monkeypatch):
    points = [point(1, 1, 1) for _ in range(100)]
    points[70]["tb"] = -1
    with pytest.raises(Unreadable, match=r"^dhat: not as DHAT writes it: pps\.70\.tb: "):
        read_in_pieces(monkeypatch, json.dumps(DHAT | {"pps": points}).encode(), 300)


@pytest.mark.parametrize("between", [b"} {", b"}x{", b"},,{"])
@pytest.mark.parametrize("size", [1, 1 << 18])
def test_what_is_no_comma_between_points_is_no_json(monkeypatch, between, size):
    text = json.dumps(DHAT).encode().replace(b"}, {", between, 1)
    with pytest.raises(Unreadable, match=r"it is not JSON$"):
        read_in_pieces(monkeypatch, text, size)


def test_a_comma_after_the_last_point_is_no_json(monkeypatch):
    with pytest.raises(Unreadable, match=r"it is not JSON$"):
        read_in_pieces(monkeypatch, json.dumps(DHAT).encode().replace(b"}]", b"},]", 1), 100)
