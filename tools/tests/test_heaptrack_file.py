"""heaptrack's files: by hand, by chance against a plain model, cut anywhere, and some that heaptrack itself wrote."""

import gzip
import re
from collections import Counter
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import heaptrack_file
from frames import Frame
from heap_profile import END, PEAK, Allocated, Held, Profile
from unreadable import Unreadable

# Two modules; place 2 is `other`, inlined into main. Sites: 1 B at a mark, 16 B, 32 B of a place without a name, and
# 32 B of the stack that has the 16 B. Bytes and stacks of the four:
TABLES = """\
v 10400 3
X ./harness memory
I 1000 5e298d
s 7 harness
s e libstdc++.so.6
s a meter_mark
s 5 other
s 4 main
s 6 main.c
i 100 1 3 6 a
i 200 1 4 6 b 5 6 c
i 300 2
t 1 0
t 2 0
t 3 2
a 1 1
a 10 2
a 20 3
a 20 2
"""
SIZES, STACKS = [1, 16, 32, 32], [1, 2, 3, 2]
END_COUNTS = "# strings: 6\n# ips: 3\n"


def written(folder: Path, events: str, tables: str = TABLES, end: str = END_COUNTS) -> Path:
    file = folder / "heaptrack.1"
    file.write_text(tables + events + end)
    return file


def held(*blocks: int) -> tuple[int, dict[int, Held]]:
    """A moment by blocks of each site."""
    live: dict[int, Held] = {}
    for count, size, stack in zip(blocks, SIZES, STACKS, strict=True):
        if count:
            before = live.get(stack, Held(0, 0))
            live[stack] = Held(before.bytes + count * size, before.blocks + count)
    return sum(one.bytes for one in live.values()), live


def moments(profile: Profile) -> dict[str, tuple[int, dict[int, Held]]]:
    return {name: (moment.bytes, moment.live) for name, moment in profile.moments.items()}


def test_marks_peak_and_end_are_those_of_the_events(tmp_path):
    events = "+ 1\n+ 2\nc a\n+ 0\n- 0\n+ 3\n- 2\n+ 2\n- 3\nR 5\n+ 0\n- 0\n+ 1\nc 5dc\n"
    profile = heaptrack_file.read(written(tmp_path, events))
    assert moments(profile) == {
        "mark 1": held(0, 1, 1, 0),
        "mark 2": held(0, 1, 1, 0),
        PEAK: held(0, 1, 1, 1),
        END: held(0, 2, 1, 0),
    }
    assert (profile.command, profile.runtime_s, profile.tool) == ("./harness memory", 1.5, "heaptrack")
    assert profile.sizes == {1: 2, 16: 2, 32: 3}
    # Stack 2 has two sizes. Temporary: the marks' own blocks; of the 32 B none, which were freed after another.
    assert profile.allocated == {1: Allocated(2, 2, 2), 2: Allocated(3, 64, 0), 3: Allocated(2, 64, 0)}


def test_a_peak_is_taken_where_it_was_reached_first(tmp_path):
    events = "+ 2\n- 2\n+ 3\n- 3\n+ 1\n"  # 32 B twice, of different stacks
    assert moments(heaptrack_file.read(written(tmp_path, events)))[PEAK] == held(0, 0, 1, 0)


def test_a_peak_lies_in_an_earlier_chunk_than_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr("packed.CHUNK", 16)
    events = "+ 1\n" * 50 + "+ 2\n" + "- 1\n" * 50 + "- 2\n+ 3\n"
    assert moments(heaptrack_file.read(written(tmp_path, events)))[PEAK] == held(0, 50, 1, 0)


def test_a_block_is_temporary_when_it_is_freed_before_anything_else_happens(tmp_path):
    events = "+ 1\n- 1\n+ 1\n+ 1\n- 1\n- 1\n+ 2\n+ 3\n- 2\n"
    profile = heaptrack_file.read(written(tmp_path, events))
    assert {stack: one.temporary for stack, one in profile.allocated.items()} == {2: 2, 3: 0}


def test_a_mark_is_known_by_its_function_and_never_by_its_size(tmp_path):
    renamed = TABLES.replace("s a meter_mark", "s a meter_make")
    assert list(heaptrack_file.read(written(tmp_path, "+ 0\n- 0\n", renamed)).moments) == [PEAK, END]
    assert "mark 1" in heaptrack_file.read(written(tmp_path, "+ 0\n", renamed), mark="meter_make").moments


def test_a_call_stack_is_innermost_first_and_inlined_functions_are_frames(tmp_path):
    stacks = heaptrack_file.read(written(tmp_path, "+ 2\n")).stacks
    assert stacks.frames(3) == (
        Frame(None, None, None, "libstdc++.so.6", 0x300),
        Frame("other", "main.c", 11, "harness", 0x200),
        Frame("main", "main.c", 12, "harness", 0x200),
    )


def test_functions_are_demangled_and_files_begin_at_their_package(tmp_path):
    long = "/home/a/cargo/registry/src/index.crates.io-6f17/rustls-0.23.46/src/vecbuf.rs"
    name = "rustls..vecbuf..ChunkVecBuffer$LT$T$GT$::append::h0123456789abcdef"
    tables = TABLES.replace("s 6 main.c", f"s {len(long):x} {long}").replace("s 5 other", f"s {len(name):x} {name}")
    frames = heaptrack_file.read(written(tmp_path, "+ 1\n", tables)).stacks.frames(2)
    assert str(frames[0]) == "rustls::vecbuf::ChunkVecBuffer<T>::append (vecbuf.rs:11)"
    assert frames[0].file == "rustls-0.23.46/src/vecbuf.rs"


PACKS = {"gzip": gzip.compress, "zstd": zstandard.ZstdCompressor().compress, "plain": bytes}


@pytest.mark.parametrize("pack", PACKS)
def test_packed_files_are_known_by_their_content(tmp_path, pack):
    file = written(tmp_path, "+ 1\n")
    file.write_bytes(PACKS[pack](file.read_bytes()))
    profile = heaptrack_file.read(file)
    assert profile.moments[END].bytes == 0x10
    assert not profile.warnings


LONG = "".join(f"+ {n % 4}\n- {n % 4}\nc {n:x}\n" for n in range(999))


@pytest.mark.parametrize("pack", PACKS)
@pytest.mark.parametrize("part", [0.5, 0.9, 0.98])
def test_a_file_that_is_cut_off_is_read_as_far_as_it_goes(tmp_path, pack, part):
    """zstd is flushed now and then, as when it reads a pipe."""
    file = written(tmp_path, LONG)
    whole, packer = file.read_bytes(), zstandard.ZstdCompressor().compressobj()
    if pack == "zstd":
        pieces = (packer.compress(whole[at : at + 99]) + packer.flush(1) for at in range(0, len(whole), 99))
        whole = b"".join(pieces) + packer.flush()
    else:
        whole = PACKS[pack](whole)
    file.write_bytes(whole[: int(len(whole) * part)])
    profile = heaptrack_file.read(file)
    warning = profile.warnings[0]
    assert re.fullmatch(rf"{file}: cut off: only the first [\d,]+ lines are read, and `end` is what .*", warning)
    lines = int(re.sub(r"\D", "", warning.split("first")[1]))
    events = LONG.splitlines()[: lines - TABLES.count("\n")]
    assert profile.sizes.total() == sum(event[0] == "+" for event in events) > 300


def test_a_file_whose_end_was_never_written_is_cut_off(tmp_path):
    (warning,) = heaptrack_file.read(written(tmp_path, "+ 1\n", end="\n# strings: 6\n")).warnings
    assert ": cut off: only the first 22 lines are read" in warning


def test_a_file_that_is_damaged_says_where(tmp_path):
    file = tmp_path / "heaptrack.zst"
    frame = zstandard.ZstdCompressor().compress((TABLES + LONG).encode())
    file.write_bytes(frame + b"\x28\xb5\x2f\xfd" + b"\xff" * len(frame) * 3)
    warning = heaptrack_file.read(file).warnings[0]
    assert re.search(r": damaged at \d\d% of its [\d,]+ B: only the first 3,016 lines are read", warning)


# What int() takes for a number, or a table for an index from its end.
LOOSE = ["+ -1", "+ 0x1", "+ 01", "+ +1", "+  1", "+x1", "a -10 1", "a 1_0 1", "a +10 0x1", "a 10", "t -1 0", "t 1 -1"]
LOOSE += ["i 1 -1", "i -1 1", "i 1 1 -1", "s -1 x", "a A 1", f"a {'1' * 17} 1", "i 1 7", "i 1 1 7", "i 1 1 1 7", "c -1"]
LOOSE += ["+ 00", "- 00", "t1 0", "a 10 9"]


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
        ("v 10400 2\n", "line 1: heaptrack's format 2; read is 3"),
        ("v 10400 3\nx 4 /bin/true\n", "line 2: a raw recording of heaptrack"),
        ("v 10400 3\ny 1\n", "line 2: no line of heaptrack's format 3: y 1"),
        (TABLES + "+ 4\n" + END_COUNTS, r"line 20: no line of heaptrack's format 3: \+ 4"),
        (TABLES + "+ one\n" + END_COUNTS, "no line of heaptrack's format 3"),
        (TABLES + "t 9 0\n" + END_COUNTS, "no line of heaptrack's format 3: t 9 0"),
        (TABLES + "s 9 short\n" + END_COUNTS, "no line of heaptrack's format 3: s 9 short"),
        (TABLES + "+ 1\n- 1\n- 1\n", "line 22: more blocks of a site are freed than were allocated"),
        (TABLES + "- 1\n+ 1\n" + END_COUNTS, "line 20: more blocks of a site are freed than were allocated"),
        (TABLES + "+ 1\n# strings: 7\n# ips: 3\n", "unsound: it says that it has 7 strings, and has 6"),
        *(
            (TABLES + line + "\n+ 1\n", f"line 20: no line of heaptrack's format 3: {re.escape(line)}")
            for line in LOOSE
        ),
        ("v 10400 3\n" + "a" * 2_000_000, "no heaptrack file: it has a line of more than 1,048,576 B"),
    ],
)
def test_a_foreign_or_unsound_file_is_a_sentence(tmp_path, content, sentence):
    file = tmp_path / "file"
    file.write_text(content)
    with pytest.raises(Unreadable, match=f"^{file}: (line 20: )?{sentence}"):
        heaptrack_file.read(file)


def test_a_file_that_is_not_there_is_a_sentence(tmp_path):
    with pytest.raises(Unreadable, match=f"^{tmp_path}/none: cannot read it: No such file"):
        heaptrack_file.read(tmp_path / "none")


SMALL = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


@SMALL
@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=60), st.integers(1, 60))
def test_all_is_that_of_a_plain_model(tmp_path, monkeypatch, wanted, chunk):
    monkeypatch.setattr("packed.CHUNK", chunk)
    live, peak, marks, made, latest = [0] * 4, [0] * 4, [], {}, None
    temporary, sizes, events = Counter(), Counter(), []
    for site, frees in wanted:
        stack, size = STACKS[site], SIZES[site]
        if frees and live[site]:
            live[site] -= 1
            temporary[stack] += latest == site
            latest = None
            events.append(f"- {site}\n")
            continue
        if site == 0:
            marks.append(held(*live))
        live[site] += 1
        blocks, amount = made.get(stack, (0, 0))
        made[stack] = (blocks + 1, amount + size)
        sizes[size] += 1
        latest = site
        events.append(f"+ {site}\n")
        if held(*live)[0] > held(*peak)[0]:
            peak = live.copy()
    profile = heaptrack_file.read(written(tmp_path, "".join(events)))
    expected = {f"mark {number}": mark for number, mark in enumerate(marks, 1)}
    assert moments(profile) == {**expected, PEAK: held(*peak), END: held(*live)}
    assert profile.allocated == {stack: Allocated(*both, temporary[stack]) for stack, both in made.items()}
    assert profile.sizes == sizes
    assert not [warning for warning in profile.warnings if "no names" not in warning]


CONTENT = (TABLES + "+ 1\n+ 0\n- 0\n+ 2\n- 1\nc 5\n+ 3\n+ 3\n- 3\n" + END_COUNTS).encode()


@SMALL
@given(st.integers(0, len(CONTENT)), st.sampled_from(sorted(PACKS)))
@example(len(CONTENT) - 1, "plain")
@example(len(CONTENT), "gzip")
def test_what_is_read_of_a_file_cut_anywhere_is_its_beginning(tmp_path, at, pack):
    file = tmp_path / "cut"
    packed = PACKS[pack](CONTENT)
    file.write_bytes(packed[:at])
    try:
        profile = heaptrack_file.read(file)
    except Unreadable as error:
        assert str(error).startswith(f"{file}: ")
        return
    first = re.search("only the first ([0-9]+) lines", "".join(profile.warnings))
    lines = CONTENT.splitlines(keepends=True)[: int(first[1]) if first else None]
    if pack == "plain":
        assert len(lines) == CONTENT[:at].count(b"\n")
    begun = heaptrack_file.read(written(tmp_path, "", b"".join(lines).decode(), ""))
    assert moments(profile) == moments(begun)
    assert (profile.allocated, profile.sizes, profile.runtime_s) == (begun.allocated, begun.sizes, begun.runtime_s)
    assert len(profile.warnings) == len(begun.warnings)


@SMALL
@given(st.integers(0, len(CONTENT)), st.binary(max_size=4))
def test_no_damage_is_worse_than_a_sentence(tmp_path, at, damage):
    file = tmp_path / "damaged"
    file.write_bytes(CONTENT[:at] + damage + CONTENT[at + len(damage) :])
    try:
        heaptrack_file.read(file)
    except Unreadable as error:
        assert str(error).startswith(f"{file}: ")
