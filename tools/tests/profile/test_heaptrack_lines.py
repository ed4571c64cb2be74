"""Lines of heaptrack's files that are read as arrays are read as one by one."""

import re

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.support.heaptrack_text import END_COUNTS, TABLES, moments, written
from tlsmem.profile import heaptrack_reader
from tlsmem.profile.errors import Unreadable
from tlsmem.profile.heaptrack_lines import LineBlock
from tlsmem.profile.heaptrack_reader import HeaptrackTables

SMALL = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
NUMBER = re.compile(rb". (0|[1-9a-f][0-9a-f]{0,7})", re.DOTALL)
digits = st.text("0123456789abcdef", min_size=1, max_size=9)
near = st.text("019afgAF`:/@ +\x00", max_size=9)  # the digits, and what stands beside them among the characters


@pytest.mark.thorough
@SMALL
@given(st.lists(st.builds("{}{}{}".format, st.sampled_from("+-"), st.sampled_from("  x"), digits | near), min_size=1))
@example(["+ ffffffff", "- 0", "+ 12345678"])
@example(["+ 0", "+ 00"])
@example(["+ 1", "+ "])
@example(["+ :"])
@example(["+ `"])
@example(["+ A"])
@example(["+ g"])
def test_numbers_are_those_of_a_regular_expression(texts):
    lines = [text.encode() for text in texts]
    block = LineBlock(b"".join(line + b"\n" for line in lines))
    assert [block.content[a:b] for a, b in zip(block.starts, block.ends, strict=True)] == lines
    found = block.read_number(np.arange(len(lines)))
    if all(NUMBER.fullmatch(line) for line in lines):
        assert found.tolist() == [int(line[2:], 16) for line in lines]
    else:
        assert found is None


@pytest.mark.thorough
@SMALL
@given(st.lists(st.builds("{} {}{}{}".format, st.sampled_from("ta"), digits | near, st.just(" "), digits | near)))
@example(["t 12345678 ffffffff"])
def test_pairs_are_those_of_a_regular_expression(texts):
    lines = [text.encode() for text in ["t 1 0", *texts]]
    block = LineBlock(b"".join(line + b"\n" for line in lines))
    found = block.read_pair(np.arange(len(lines)))
    parts = [line[2:].split(b" ") for line in lines]
    if all(len(words) == 2 and all(NUMBER.fullmatch(b"+ " + word) for word in words) for words in parts):
        assert list(zip(*map(list, found), strict=True)) == [tuple(int(word, 16) for word in words) for words in parts]
    else:
        assert found is None


LINES = [
    "+ 0",
    "+ 1",
    "+ 1",
    "- 1",
    "+ 2",
    "- 2",
    "+ 3",
    "- 3",
    "c 5",
    "R 7",
    "A",
    "# x",
    "",
    "t 1 1",
    "t 3 3",
    "t 3 4",
]
LINES += ["a 30 2", "a 7fffffff 4", "+ 4", "- 4", "+ 5", "s 3 abc", "i 400 1 3 6 a", "i 500 1 7", "t 4 4"]
LINES += ["a 100000000 2", "t 01 0", "S a", "X again", "I 1 2", "+ 06", "- 9", "a 800000000001 1", "hello"]


@pytest.mark.thorough
@SMALL
@given(st.lists(st.sampled_from(LINES), max_size=40))
@example(["+ 1", "- 1", "- 1", "hello"])
@example(["i 400 1 3 6 a", "t 4 0", "a 1 4", "+ 4", "+ 4"])  # another place of the mark
@example(["i 400 1 3 6 a", "hello"])
@example(["+ 4", "a 30 2"])
@example(["i 400 1 3 6 a", "t 4 0", "a 1 4", "+ 4", "a 100000000 2", "+ 4"])
def test_a_block_is_read_as_its_lines_are(tmp_path, monkeypatch, lines):
    """The same profile; of a wrong file the same sentence, with the number of the same line."""
    file = written(tmp_path, "".join(f"{line}\n" for line in lines), end="+ 1\n" + END_COUNTS)

    def read():
        try:
            profile = heaptrack_reader.read_profile(file)
        except Unreadable as error:
            return str(error)
        return moments(profile), profile.stacks.places, profile.stacks.nodes, profile.allocated, profile.sizes

    as_block = read()
    with monkeypatch.context() as patched:
        patched.setattr(HeaptrackTables, "take_block", lambda *_: False)
        assert as_block == read()


def test_a_command_may_be_told_again(tmp_path):
    twice = TABLES.replace("I 1000 5e298d\n", "I 1000 5e298d\nX again\nhello\nI 1000 1\n")
    assert heaptrack_reader.read_profile(written(tmp_path, "+ 1\n", twice)).command == "again\nhello"


one_by_one = HeaptrackTables.take_lines


def test_a_whole_file_is_read_as_blocks(tmp_path, monkeypatch):
    """But for its first lines, which belong to the command."""
    taken = []
    monkeypatch.setattr(
        HeaptrackTables, "take_lines", lambda self, lines: taken.extend(lines) or one_by_one(self, lines)
    )
    heaptrack_reader.read_profile(written(tmp_path, "+ 1\n- 1\n+ 0\nt 3 3\na 30 4\n+ 4\n"))
    assert taken == TABLES.encode().splitlines()[:3]


@pytest.mark.thorough
@SMALL
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=60), st.integers(1, 99))
def test_the_first_block_that_is_freed_too_often_is_named(tmp_path, monkeypatch, wanted, chunk):
    monkeypatch.setattr("tlsmem.profile.heaptrack_reader.BLOCK", chunk)
    live, wrong = [0] * 4, None
    for line, (site, kind) in enumerate(wanted, TABLES.count("\n") + 1):
        live[site] += 1 if kind else -1
        wrong = wrong or (line if live[site] < 0 else None)
    file = written(tmp_path, "".join(f"{'+' if kind else '-'} {site}\n" for site, kind in wanted))
    if wrong:
        with pytest.raises(Unreadable, match=f": line {wrong}: more blocks of a site are freed than were allocated$"):
            heaptrack_reader.read_profile(file)
    else:
        assert heaptrack_reader.read_profile(file).sizes.total() == sum(bool(kind) for _, kind in wanted)
