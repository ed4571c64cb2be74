"""heaptrack's files: by hand, by chance against a plain model, and one that heaptrack itself wrote."""

import gzip
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import heaptrack_file
from heaptrack_profile import Frame
from unreadable import Unreadable

# Two modules; place 2 is `other`, inlined into main. Sites: 1 B at a mark, 16 B, and 32 B of a place without a name.
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
"""
END = "# strings: 6\n# ips: 3\n"


def written(folder: Path, events: str, tables: str = TABLES, end: str = END) -> Path:
    file = folder / "heaptrack.1"
    file.write_text(tables + events + end)
    return file


def test_marks_peak_and_end_are_those_of_the_events(tmp_path):
    file = written(tmp_path, "+ 1\n+ 2\nc a\n+ 0\n- 0\n- 2\nR 5\n+ 0\n- 0\n+ 1\n")
    profile = heaptrack_file.read(file)
    assert [(mark.live_bytes, mark.live_blocks, mark.by_site) for mark in profile.marks] == [
        (0x30, 2, [0, 1, 1]),
        (0x10, 1, [0, 1, 0]),
    ]
    assert profile.peak_bytes == 0x31
    assert (profile.end.live_bytes, profile.end.live_blocks) == (0x20, 2)
    assert profile.command == "./harness memory"


def test_a_mark_is_known_by_its_function_and_never_by_its_size(tmp_path):
    renamed = TABLES.replace("s a meter_mark", "s a meter_make")
    assert heaptrack_file.read(written(tmp_path, "+ 0\n- 0\n", renamed)).marks == []


def test_a_call_stack_is_innermost_first_and_inlined_functions_are_frames(tmp_path):
    profile = heaptrack_file.read(written(tmp_path, ""))
    unknown, main = profile.places_of(2)
    assert (unknown.address, unknown.module, unknown.frames) == (0x300, "libstdc++.so.6", ())
    assert main.frames == (Frame("other", "main.c", 11), Frame("main", "main.c", 12))


def test_what_a_module_allocated_by_itself_is_told_apart(tmp_path):
    profile = heaptrack_file.read(written(tmp_path, "+ 1\n+ 2\n+ 2\n"))
    assert profile.from_module(profile.end, "libstdc++") == (0x40, 2)
    assert profile.from_module(profile.end, "libunwind") == (0, 0)


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress])
def test_packed_files_are_known_by_their_content(tmp_path, pack):
    file = written(tmp_path, "+ 1\n")
    file.write_bytes(pack(file.read_bytes()))
    assert heaptrack_file.read(file).end.live_bytes == 0x10


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress, bytes])
@pytest.mark.parametrize("part", [0.1, 0.5, 0.9, 0.999])
def test_a_file_that_is_cut_off_is_a_sentence(tmp_path, pack, part):
    file = written(tmp_path, "".join(f"+ {n % 3}\n- {n % 3}\n" for n in range(999)))
    whole = pack(file.read_bytes())
    file.write_bytes(whole[: int(len(whole) * part)])
    with pytest.raises(Unreadable, match=f"^{file}: "):
        heaptrack_file.read(file)


# What int() takes for a number, or a table for an index from its end.
LOOSE = ["+ -1", "+ 0x1", "+ 01", "+ +1", "+  1", "+x1", "a -10 1", "a 1_0 1", "a +10 0x1", "a 10", "t -1 0", "t 1 -1"]
LOOSE += ["i 1 -1", "i -1 1", "i 1 1 -1", "s -1 x", "a A 1", f"a {'1' * 17} 1"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "no heaptrack file"),
        ("hello\n", "no heaptrack file"),
        ("v 10400 2\n", "heaptrack's format 2; read is 3"),
        ("v 10400 3\nx 4 /bin/true\n", "a raw recording of heaptrack"),
        ("v 10400 3\ny 1\n", "no line of heaptrack's format 3: y 1"),
        (TABLES + "+ 3\n" + END, r"no line of heaptrack's format 3: \+ 3"),
        (TABLES + "+ one\n" + END, "no line of heaptrack's format 3"),
        (TABLES + "t 9 0\n" + END, "no line of heaptrack's format 3: t 9 0"),
        (TABLES + "s 9 short\n" + END, "no line of heaptrack's format 3: s 9 short"),
        (TABLES + "- 1\n" + END, "more blocks of a site are freed than were allocated"),
        (TABLES + "+ 1\n", "cut off: the counts that end a heaptrack file"),
        (TABLES + "# strings: 7\n# ips: 3\n", "cut off: the counts that end a heaptrack file"),
        (TABLES + "- 1\n+ 1\n" + END, "more blocks of a site are freed than were allocated"),
        *((TABLES + line + "\n" + END, f"no line of heaptrack's format 3: {re.escape(line)}") for line in LOOSE),
        ("v 10400 3\n" + "a" * 2_000_000, "cut off in the middle of a line"),
    ],
)
def test_a_foreign_file_is_a_sentence(tmp_path, content, sentence):
    file = tmp_path / "file"
    file.write_text(content)
    with pytest.raises(Unreadable, match=f"^{file}: .*{sentence}"):
        heaptrack_file.read(file)


def test_a_file_that_is_not_there_is_a_sentence(tmp_path):
    with pytest.raises(Unreadable, match="No such file"):
        heaptrack_file.read(tmp_path / "none")


SMALL = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


@SMALL
@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), max_size=60))
def test_totals_are_those_of_a_plain_model(tmp_path, wanted):
    events, live, peak, marks = [], [0, 0, 0], 0, []
    for site, frees in wanted:
        frees = frees and live[site] > 0
        if site == 0 and not frees:
            marks.append(tuple(live))
        live[site] += -1 if frees else 1
        events.append(f"{'-' if frees else '+'} {site}\n")
        peak = max(peak, live[0] + 16 * live[1] + 32 * live[2])
    profile = heaptrack_file.read(written(tmp_path, "".join(events)))
    assert profile.peak_bytes == peak
    assert profile.end.by_site == live
    assert [tuple(mark.by_site) for mark in profile.marks] == marks


@SMALL
@given(st.integers(0, len(TABLES)), st.binary(max_size=4))
def test_no_damage_is_worse_than_a_sentence(tmp_path, at, damage):
    file = tmp_path / "damaged"
    content = (TABLES + "+ 1\n+ 2\n- 1\n" + END).encode()
    file.write_bytes(content[:at] + damage + content[at + len(damage) :])
    try:
        heaptrack_file.read(file)
    except Unreadable as error:
        assert str(error).startswith(f"{file}: ")


@pytest.mark.skipif(not shutil.which("heaptrack"), reason="heaptrack is not installed")
def test_the_peak_is_heaptrack_print_s_to_the_byte(tmp_path):
    recorded, folded = tmp_path / "recorded", tmp_path / "folded"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "check": True, "timeout": 120}
    subprocess.run(["heaptrack", "-o", recorded, "ls", "-lR", "/usr/include"], **quiet)
    (file,) = tmp_path.glob("recorded.*")
    subprocess.run(["heaptrack_print", "-f", file, "-F", folded, "--flamegraph-cost-type", "peak"], **quiet)
    told = sum(int(line.rpartition(" ")[2]) for line in folded.read_text().splitlines())
    assert heaptrack_file.read(file).peak_bytes == told > 72704
