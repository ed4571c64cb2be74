"""Who called the allocator, as a tree whose branches add up."""

import io

import pytest
import rich.console
from hypothesis import given

from tests.explore.test_profile_tables import profiles, texts
from tests.support import handmade
from tlsmem.explore import callers_tree
from tlsmem.explore.callers_tree import CallerNode, tree
from tlsmem.profile.heap_profile import CallstackTree, LiveHeap, Moment, Profile, sum_live


def drawn(root: CallerNode, rows: int = 10) -> list[str]:
    console = rich.console.Console(file=io.StringIO(), width=100, color_system=None)
    console.print(callers_tree.draw_tree(root, "Callers", rows))
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def test_callers_that_two_stacks_have_in_common_are_joined():
    assert drawn(tree(handmade.profile(), "peak"))[:6] == [
        "Callers",
        "├── 7,000 B in 8, 87.5 % buffer_new (buffer_new.c:20)",
        "│   < SSL_new (SSL_new.c:30)",
        "│   ├── 4,000 B in 4, 50.0 % client_session_new (frames.c:9)",
        "│   └── 3,000 B in 4, 37.5 % server_session_new (frames.c:9)",
        "├── 700 B in 7, 8.8 % X509_parse (X509_parse.c:40)",
    ]


def test_below_one_percent_callers_are_counted_together():
    found = drawn(tree(handmade.profile(), "peak"))
    assert found[-1] == "└── … 2 more, 74 B in 2, 0.9 %" and "├── 226 B in 2, 2.8 % no call stack is known" in found
    assert drawn(tree(handmade.profile(), "peak"), 1)[-1] == "└── … 4 more, 1,000 B in 11, 12.5 %"


def test_without_blocks():
    assert drawn(tree(handmade.profile(counts=False), "peak"))[1].startswith("├── 7,000 B, 87.5 % buffer_new")


def test_for_programs_it_is_a_table():
    one = handmade.profile()
    found = callers_tree.callers_table(one, tree(one, "peak", "server", "SSL_new"), "Callers")
    assert texts(found, "depth", "bytes", "callers") == [
        ("1", "3,000", "buffer_new (buffer_new.c:20)"),
        ("2", "3,000", "SSL_new (SSL_new.c:30)"),
        ("3", "3,000", "server_session_new (frames.c:9)"),
        ("1", "10", "1 more"),
    ]


def test_a_stack_that_ends_where_another_goes_on():
    stacks = CallstackTree()
    f, g = handmade.frame("f", 1), handmade.frame("g", 2)
    held = {handmade.number(stacks, [f]): LiveHeap(60, 1), handmade.number(stacks, [f, g]): LiveHeap(40, 1)}
    root = tree(Profile("massif", "f", "c", stacks, {"peak": Moment("peak", 100, held)}), "peak")
    assert drawn(root)[1:] == ["└── 100 B in 2, 100.0 % f (f.c:1)", "    └── 40 B in 1, 40.0 % g (g.c:2)"]


@pytest.mark.thorough
@given(profiles())
def test_no_byte_is_lost(one):
    for name in one.moments:
        root = tree(one, name)
        assert (root.bytes, root.blocks) == sum_live(one.live(name))
        assert sum(node.bytes for node in root.callers.values()) == root.bytes
        shown = [node.bytes for depth, node in callers_tree.nodes(root, root.bytes, 3) if depth == 1]
        assert sum(shown) == root.bytes


@pytest.mark.thorough
def test_stacks_deeper_than_python_s_own():
    """Of a function that calls itself and allocates each time, so that no two callers are in a row."""
    stacks, live, stack = CallstackTree(), {}, 0
    place = stacks.place((handmade.frame("f", 1),))
    for _ in range(callers_tree.MOST + 200):
        stack = stacks.add(place, stack)
        live[stack] = LiveHeap(1, 1)
    live[stack] = LiveHeap(998_801, 1)
    deep = Profile("heaptrack", "it", "it", stacks, {"peak": Moment("peak", 1_000_000, live)})
    root = callers_tree.tree(deep, "peak")
    rows = callers_tree.callers_table(deep, root, "it").rows
    cells = [[cell.value for cell in row] for row in rows]
    assert max(depth for depth, *_ in cells) == callers_tree.MOST + 1
    assert cells[callers_tree.MOST][4] == callers_tree.BEYOND == "callers beyond 1,000"
    assert any("1,000,000 B" in line and "callers beyond" not in line for line in drawn(root)[:2])
