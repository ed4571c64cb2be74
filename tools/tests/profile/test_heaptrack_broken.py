"""heaptrack's files that are torn, damaged, foreign or unsound."""

import gzip
import re

import pytest
from backports import zstd
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.support.heaptrack_text import END_COUNTS, TABLES, moments, written
from tlsmem.profile import heaptrack_reader
from tlsmem.profile.errors import Unreadable

PACKS = {"gzip": gzip.compress, "zstd": zstd.compress, "plain": bytes}
LONG = "".join(f"+ {n % 4}\n- {n % 4}\nc {n:x}\n" for n in range(999))


@pytest.mark.parametrize("pack", PACKS)
@pytest.mark.parametrize("part", [0.5, 0.9, 0.98])
def test_a_file_that_is_cut_off_is_read_as_far_as_it_goes(tmp_path, pack, part):
    """zstd is flushed now and then, as when it reads a pipe."""
    file = written(tmp_path, LONG)
    whole, packer = file.read_bytes(), zstd.ZstdCompressor()
    if pack == "zstd":
        chunks = (whole[at : at + 99] for at in range(0, len(whole), 99))
        pieces = (packer.compress(chunk, packer.FLUSH_BLOCK) for chunk in chunks)
        whole = b"".join(pieces) + packer.flush()
    else:
        whole = PACKS[pack](whole)
    file.write_bytes(whole[: int(len(whole) * part)])
    profile = heaptrack_reader.read_profile(file)
    warning = profile.warnings[0]
    assert profile.torn == warning
    assert re.fullmatch(r"cut off: only the first [\d,]+ lines are read, and `end` is what .*", warning)
    lines = int(re.sub(r"\D", "", warning.split("first")[1]))
    events = LONG.splitlines()[: lines - TABLES.count("\n")]
    assert profile.sizes.total() == sum(event[0] == "+" for event in events) > 300


def test_a_file_whose_end_was_never_written_is_cut_off(tmp_path):
    (warning,) = heaptrack_reader.read_profile(written(tmp_path, "+ 1\n", end="\n# strings: 6\n")).warnings
    assert warning.startswith("cut off: only the first 22 lines are read")


def test_a_file_that_is_damaged_says_where(tmp_path):
    file = tmp_path / "heaptrack.zst"
    frame = zstd.compress((TABLES + LONG).encode())
    file.write_bytes(frame + b"\x28\xb5\x2f\xfd" + b"\xff" * len(frame) * 3)
    warning = heaptrack_reader.read_profile(file).warnings[0]
    assert re.match(r"damaged at \d\d% of its [\d,]+ B: only the first 3,016 lines are read", warning)


# What int() takes for a number, or a table for an index from its end.
LOOSE = ["+ -1", "+ 0x1", "+ 01", "+ +1", "+  1", "+x1", "a -10 1", "a 1_0 1", "a +10 0x1", "a 10", "t -1 0", "t 1 -1"]
LOOSE += ["i 1 -1", "i -1 1", "i 1 1 -1", "s -1 x", "a A 1", f"a {'1' * 17} 1", "i 1 7", "i 1 1 7", "i 1 1 1 7", "c -1"]
LOOSE += ["+ 00", "- 00", "t1 0", "a 10 9"]


RAW = "v 10400 3\nx 5 ./app\nX ./app\nI 1000 10\nm 1 x 400000 0 1000\nt 400100 0\n"
WRONG_RAW = ["+ 10 2 f00", "+ 10 1", "+ x 1 f00", f"+ {'f' * 15} 1 f00", "- ", "- f00 f00", "t 400100 9", "t 1", "m 1"]
WRONG_RAW += ["m 99 x 400000 0 1000", "m 1 x 400000 0", "m 1 x", "x 9 ./app"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "no heaptrack file, or cut off before anything"),
        ("hello\n", "line 1: no heaptrack file: hello"),
        ("v\n", "line 1: no heaptrack file: v"),
        ("v 10400 3", "no heaptrack file, or cut off before anything"),
        ("v 10400 3\n", "no heaptrack file, or cut off before anything"),
        ("# strings: 0\n", "no heaptrack file, or cut off before anything"),
        ("\n# strings: 0\n# ips: 0\n", "heaptrack recorded nothing"),
        (TABLES + END_COUNTS, "heaptrack recorded nothing"),
        ("v 10400 4\n", "line 1: heaptrack's format 4; read are 1 to 3"),
        ("v 10000 0\n", "line 1: heaptrack's format 0; read are 1 to 3"),
        ("v 10400 3\nx 9 /bin/true\n", "heaptrack recorded nothing"),
        ("v 10400 3\nX ./a\nI 1 1\nx 9 /bin/true\n", "line 4: no line of heaptrack's format 3: x 9"),
        *((RAW + line + "\n", f"line 7: no line of a raw .* heaptrack: {re.escape(line)}") for line in WRONG_RAW),
        ("v 10400 3\ny 1\n", "line 2: no line of heaptrack's format 3: y 1"),
        (TABLES + "+ 4\n" + END_COUNTS, r"line 20: no line of heaptrack's format 3: \+ 4"),
        (TABLES + "+ one\n" + END_COUNTS, "no line of heaptrack's format 3"),
        (TABLES + "t 9 0\n" + END_COUNTS, "line 20: a number of what does not come before it: t 9 0"),
        (TABLES + "+ 1\nX ./again\n+ 7\n", r"line 21: no line of heaptrack's format 3: X ./again"),
        (TABLES + "s 9 short\n" + END_COUNTS, "no line of heaptrack's format 3: s 9 short"),
        (TABLES + "+ 1\n- 1\n- 1\n", "line 22: more blocks of a site are freed than were allocated"),
        (TABLES + "+ 1\n- 1\n- 1\nhello\n", "line 22: more blocks of a site are freed than were allocated"),
        (TABLES + "- 1\n+ 1\n" + END_COUNTS, "line 20: more blocks of a site are freed than were allocated"),
        (TABLES + "+ 1\n# strings: 7\n# ips: 3\n", "unsound: it says that it has 7 strings, and has 6"),
        *(
            (
                TABLES + line + "\n+ 1\n",
                f"line 20: (no line of heaptrack's format 3|a number of what does not .*): {re.escape(line)}",
            )
            for line in LOOSE
        ),
        ("v 10400 3\n" + "a" * 2_000_000, "no heaptrack file: it has a line of more than 1,048,576 B"),
    ],
)
def test_a_foreign_or_unsound_file_is_a_sentence(tmp_path, content, sentence):
    file = tmp_path / "file"
    file.write_text(content)
    with pytest.raises(Unreadable, match=f"^{file}: (line 20: )?({sentence})"):
        heaptrack_reader.read_profile(file)


def test_a_file_that_is_not_there_is_a_sentence(tmp_path):
    with pytest.raises(Unreadable, match=f"^{tmp_path}/none: cannot read it: No such file"):
        heaptrack_reader.read_profile(tmp_path / "none")


SMALL = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
CONTENT = (TABLES + "+ 1\n+ 0\n- 0\n+ 2\n- 1\nc 5\n+ 3\n+ 3\n- 3\n" + END_COUNTS).encode()


@pytest.mark.thorough
@SMALL
@given(st.integers(0, len(CONTENT)), st.sampled_from(sorted(PACKS)))
@example(len(CONTENT) - 1, "plain")
@example(len(CONTENT), "gzip")
def test_what_is_read_of_a_file_cut_anywhere_is_its_beginning(tmp_path, at, pack):
    file = tmp_path / "cut"
    packed = PACKS[pack](CONTENT)
    file.write_bytes(packed[:at])
    try:
        profile = heaptrack_reader.read_profile(file)
    except Unreadable as error:
        assert str(error).startswith(f"{file}: ")
        return
    first = re.search("only the first ([0-9]+) lines", "".join(profile.warnings))
    lines = CONTENT.splitlines(keepends=True)[: int(first[1]) if first else None]
    if pack == "plain":
        assert len(lines) == CONTENT[:at].count(b"\n")
    begun = heaptrack_reader.read_profile(written(tmp_path, "", b"".join(lines).decode(), ""))
    assert moments(profile) == moments(begun)
    assert (profile.allocated, profile.sizes, profile.runtime_s) == (begun.allocated, begun.sizes, begun.runtime_s)
    assert len(profile.warnings) == len(begun.warnings)


@SMALL
@given(st.integers(0, len(CONTENT)), st.binary(max_size=4))
def test_no_damage_is_worse_than_a_sentence(tmp_path, at, damage):
    file = tmp_path / "damaged"
    file.write_bytes(CONTENT[:at] + damage + CONTENT[at + len(damage) :])
    try:
        heaptrack_reader.read_profile(file)
    except Unreadable as error:
        assert str(error).startswith(f"{file}: ")


COMMAND = "v 10400 3\nX p\n"
REST = "I 1000 10\ns 1 f\ni 1 1 1\nt 1 0\na 5 1\n+ 0\n+ 0\n+ 0\n# strings: 1\n# ips: 1\n"


@pytest.mark.parametrize("more", ["", "+ 7\n", "- foo\n", "+ 0\n+ 0\n", "X q\n"])
def test_the_peak_has_no_line_of_the_command(tmp_path, more):
    file = tmp_path / "file"
    file.write_text(COMMAND + more + REST)
    assert moments(heaptrack_reader.read_profile(file))["peak"] == (15, {1: (15, 3)})


@pytest.mark.parametrize(
    ("begin", "line", "count"),
    [
        ("v 10400 3\nX app\nI 1000 5e3\n", "", heaptrack_reader.MOST_EMPTY_LINES + 1),
        ("v 10400 3\nX app\n", "x" * 999, heaptrack_reader.LONGEST_COMMAND // 1000 + 1),
    ],
)
def test_lines_that_pack_a_million_to_one_are_refused_early(tmp_path, monkeypatch, begin, line, count):
    """A file of 33 KB can hold 1 GiB of them."""
    lines = 0
    take = heaptrack_reader.HeaptrackTables.take_other_line

    def counted(tables, one):
        nonlocal lines
        lines += 1
        take(tables, one)

    monkeypatch.setattr(heaptrack_reader.HeaptrackTables, "take_other_line", counted)
    file = tmp_path / "bomb.zst"
    file.write_bytes(zstd.compress((begin + f"{line}\n" * (8 * count)).encode()))
    with pytest.raises(Unreadable, match="no heaptrack file: it"):
        heaptrack_reader.read_profile(file)
    assert lines < 3 * count


def test_what_a_sentence_quotes_of_a_file_moves_no_cursor(tmp_path):
    file = tmp_path / "file"
    file.write_text("v 10400 3\nX app\nI 1000 5e3\n\x1b[2J\x1b]0;title\x07\n")
    with pytest.raises(Unreadable) as error:
        heaptrack_reader.read_profile(file)
    assert str(error.value).isprintable() and "?[2J?]0;title?" in str(error.value)
