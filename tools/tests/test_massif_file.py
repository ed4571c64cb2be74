"""massif's and DHAT's files."""

import json
import shutil
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dhat_file
import massif_file
from unreadable import Unreadable

HEAD = "desc: --time-unit=B\ncmd: ./harness\ntime_unit: B\n"
EMPTY = """\
#-----------
snapshot=0
#-----------
time=0
mem_heap_B=0
mem_heap_extra_B=0
mem_stacks_B=0
heap_tree=empty
"""
DETAILED = """\
#-----------
snapshot=1
#-----------
time=160
mem_heap_B=100
mem_heap_extra_B=24
mem_stacks_B=8
heap_tree=detailed
n3: 100 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.
 n1: 60 0x2B6F80: CRYPTO_malloc (mem.c:213)
  n0: 60 0x2B70E0: operator()(int) (mem.c:233)
 n0: 30 0x4846720: ??? (in /lib/libc.so.6)
 n0: 10 in 2 places, all below massif's threshold (1.00%)
"""


def test_snapshots_come_in_order_with_their_trees(tmp_path):
    file = tmp_path / "massif"
    file.write_text(HEAD + EMPTY + DETAILED)
    empty, detailed = massif_file.read(file)
    assert (empty.heap_bytes, empty.kind, empty.tree) == (0, "empty", None)
    assert (detailed.number, detailed.time, detailed.heap_bytes) == (1, 160, 100)
    assert (detailed.extra_bytes, detailed.stacks_bytes) == (24, 8)
    root = detailed.tree
    assert [(one.heap_bytes, one.address, one.where) for one in root.callers] == [
        (60, 0x2B6F80, "mem.c:213"),
        (30, 0x4846720, "/lib/libc.so.6"),
        (10, None, None),
    ]
    assert root.callers[0].callers[0].function == "operator()(int)"


@pytest.mark.parametrize("count", [0, 2])
def test_a_file_of_one_snapshot_has_one(tmp_path, count):
    file = tmp_path / "massif"
    file.write_text(HEAD + EMPTY * count)
    with pytest.raises(Unreadable, match="one snapshot is expected"):
        massif_file.only(file)


@pytest.mark.parametrize(
    ("was", "becomes", "sentence"),
    [
        ("desc:", "description:", "line 1 of a massif file starts with `desc:`"),
        ("time=160", "time=soon", "time is a number"),
        ("heap_tree=detailed", "heap_tree=rich", "heap_tree is one of"),
        ("mem_heap_B=100", "mem_heap_B=101", "mem_heap_B is 101, its tree holds 100"),
        (" n0: 30 ", " n0: 31 ", "a place holds other bytes than those who call it"),
        (" n1: 60", " n2: 60", "starts with `  n`, and this one does not"),
        (" n0: 30 0x4846720: ???", " n: 30 ???", "is no node of a heap tree"),
        ("mem_heap_B=100", f"mem_heap_B={'1' * 5000}", "mem_heap_B is a number of at most 20 digits"),
        ("n3: 100 ", f"n3: {'1' * 5000} ", "is no node of a heap tree"),
        ("n3: 100 ", f"n{'1' * 5000}: 100 ", "is no node of a heap tree"),
        ("n3: 100 ", "n3: \u0661 ", "is no node of a heap tree"),
    ],
)
def test_what_is_not_sound_is_a_sentence(tmp_path, was, becomes, sentence):
    file = tmp_path / "massif"
    file.write_text((HEAD + DETAILED).replace(was, becomes, 1))
    with pytest.raises(Unreadable, match=f"^{file}: .*{sentence}"):
        list(massif_file.read(file))


def chain(levels: int) -> str:
    """A snapshot whose tree has one node on each level below its root."""
    nodes = [f"{' ' * level}n{int(level < levels)}: 100 0x1: f (f.c:1)\n" for level in range(levels + 1)]
    return HEAD + DETAILED.partition("n3:")[0] + "".join(nodes)


def test_a_tree_may_be_deep_and_has_an_end(tmp_path):
    file = tmp_path / "massif"
    file.write_text(chain(massif_file.DEEPEST))
    node, levels = massif_file.only(file).tree, 0
    while node.callers:
        (node,), levels = node.callers, levels + 1
    assert levels == massif_file.DEEPEST
    file.write_text(chain(massif_file.DEEPEST + 1))
    with pytest.raises(Unreadable, match=f"^{file}: line 513: a heap tree of more than 500 levels"):
        massif_file.only(file)


WHOLE = HEAD + EMPTY + DETAILED
BOUNDARIES = (len(HEAD), len(HEAD + EMPTY))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.integers(0, len(WHOLE) - 1).filter(lambda at: at not in BOUNDARIES))
def test_a_file_that_is_cut_off_within_a_snapshot_is_a_sentence(tmp_path, at):
    file = tmp_path / "massif"
    file.write_text(WHOLE[:at])
    with pytest.raises(Unreadable, match=f"^{file}: "):
        list(massif_file.read(file))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.integers(0, len(WHOLE)), st.binary(max_size=4))
def test_no_damage_is_worse_than_a_sentence(tmp_path, at, damage):
    file = tmp_path / "massif"
    file.write_bytes(WHOLE.encode()[:at] + damage + WHOLE.encode()[at + len(damage) :])
    try:
        list(massif_file.read(file))
    except Unreadable as error:
        assert str(error).startswith(f"{file}: ")


POINTS = [{"eb": 100, "ebk": 2, "fs": [0]}, {"eb": 24, "ebk": 1, "fs": [1]}]
DHAT = {"dhatFileVersion": 2, "mode": "heap", "pps": POINTS}


def test_what_is_live_at_the_end_is_the_sum_of_dhat_s_points(tmp_path):
    file = tmp_path / "dhat"
    file.write_text(json.dumps(DHAT))
    assert dhat_file.end(file) == dhat_file.End(124, 3)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (json.dumps(DHAT)[:-3], "cut off, or no DHAT file"),
        ("[" * 100_000, "cut off, or no DHAT file"),
        ("[]", "no DHAT file of version 2"),
        (json.dumps(DHAT | {"dhatFileVersion": 3}), "no DHAT file of version 2"),
        (json.dumps(DHAT | {"mode": "copy"}), "no DHAT file of version 2 in mode heap"),
        (json.dumps(DHAT | {"pps": [{"eb": 1}]}), "lack eb or ebk"),
        (json.dumps(DHAT | {"pps": None}), "lack eb or ebk"),
    ],
)
def test_no_dhat_file_is_a_sentence(tmp_path, content, sentence):
    file = tmp_path / "dhat"
    file.write_text(content)
    with pytest.raises(Unreadable, match=f"^{file}: .*{sentence}"):
        dhat_file.end(file)


@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed")
@pytest.mark.parametrize("options", [[], ["--threshold=0", "--depth=3"], ["--detailed-freq=1", "--threshold=10"]])
def test_a_file_that_massif_wrote_is_sound(tmp_path, options):
    file = tmp_path / "massif"
    command = ["valgrind", "-q", "--tool=massif", f"--massif-out-file={file}", *options, "ls", "/"]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True, timeout=120)
    assert max(one.heap_bytes for one in massif_file.read(file)) > 0
