"""DHAT's files: exact to its own summary, one or a zip of them; whatever else is a sentence."""

import gzip
import io
import json
import re
import shutil
import subprocess
import zipfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tlsmem.profile import dhat_reader
from tlsmem.profile.errors import Unreadable
from tlsmem.profile.heap_profile import END, PEAK, AllocationTotals, LiveHeap, sum_live

FRAMES = [
    "[root]",
    "0x10: malloc (in /lib/vg.so)",
    "0x20: inner (a.c:7)",
    "0x20: SSL_new (a.c:9)",
    "0x30: main (m.rs:5:2)",
]


def point(live: int, blocks: int, *frames: int, peak: int = 0) -> dict:
    made = {"tb": 1000 + live, "tbk": 9, "gb": peak, "gbk": int(peak > 0), "eb": live, "ebk": blocks, "fs": [*frames]}
    return made | {"acc": [1, -2], "tl": 3}


DHAT = {"dhatFileVersion": 2, "mode": "heap", "verb": "Allocated", "cmd": "./harness", "ftbl": FRAMES}
DHAT |= {"pps": [point(100, 2, 1, 2, 3, 4, peak=50), point(24, 1, 1, 4), point(0, 0, 4, peak=7)]}


def zipped(**members: dict | str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content if isinstance(content, str) else json.dumps(content))
    return file.getvalue()


def written(tmp_path, content: bytes | str | dict):
    file = tmp_path / "dhat"
    content = json.dumps(content) if isinstance(content, dict) else content
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def test_what_is_live_at_the_end_is_the_sum_of_dhat_s_points(tmp_path):
    assert dhat_reader.read_end(written(tmp_path, DHAT)) == LiveHeap(124, 3)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_one_run_has_its_peak_and_its_end(tmp_path, pack):
    found = dhat_reader.read_profile(written(tmp_path, pack(json.dumps(DHAT).encode())))
    assert list(found.moments) == [PEAK, END] and found.command == "./harness"
    assert (sum_live(found.live(PEAK)), sum_live(found.live(END))) == (LiveHeap(57, 2), LiveHeap(124, 3))
    assert (found.moments[PEAK].bytes, found.moments[END].bytes) == (57, 124)
    live = {" < ".join(map(str, found.stacks.frames(stack))): held for stack, held in found.live(END).items()}
    assert live == {
        "malloc (vg.so+0x10) < inner (a.c:7) < SSL_new (a.c:9) < main (m.rs:5)": LiveHeap(100, 2),
        "malloc (vg.so+0x10) < main (m.rs:5)": LiveHeap(24, 1),
    }
    assert sorted(found.allocated.values()) == [
        AllocationTotals(9, 1000, None, 3),
        AllocationTotals(9, 1024, None, 3),
        AllocationTotals(9, 1100, None, 3),
    ]


def test_short_lived_blocks_are_those_of_dhat_s_viewer(tmp_path):
    """dh_view.js: a mean lifetime of at most `tuth`."""
    lifetimes = (4500, 4501, 0)  # of 9 blocks each
    points = [one | {"tl": total} for one, total in zip(DHAT["pps"], lifetimes, strict=True)]
    found = dhat_reader.read_profile(written(tmp_path, DHAT | {"pps": points, "tuth": 500, "tu": "instrs"}))
    assert sorted((one.lifetime, one.temporary) for one in found.allocated.values()) == [(0, 9), (4500, 9), (4501, 0)]
    assert found.lifetime_unit == "instructions" and "500 instructions or less" in found.temporary_means
    without = [{key: value for key, value in one.items() if key != "tl"} for one in points]
    found = dhat_reader.read_profile(written(tmp_path, DHAT | {"pps": without, "tuth": 500}))
    assert {(one.lifetime, one.temporary) for one in found.allocated.values()} == {(None, None)}
    assert found.lifetime_unit is None


def test_a_zip_has_the_end_of_each_run_in_the_order_of_its_members(tmp_path):
    other = DHAT | {"ftbl": [FRAMES[0], *FRAMES[:0:-1]], "pps": [point(60, 3, 4, 3, 2, 1, peak=9)]}
    other["pps"][0]["fs"] = [4, 3, 2, 1]
    found = dhat_reader.read_profile(written(tmp_path, zipped(**{"server 1.json": DHAT, "contexts.json": other})))
    assert list(found.moments) == ["server 1", "contexts", PEAK]
    assert [moment.bytes for moment in found.moments.values()] == [124, 60, 9]
    (stack,) = found.live("contexts")
    assert found.live("server 1")[stack] == LiveHeap(100, 2), "the same frames by other numbers are the same stack"
    assert list(found.allocated.values()) == [AllocationTotals(9, 1060, None, 3)]


def test_points_of_the_same_frames_are_one_stack(tmp_path):
    found = dhat_reader.read_profile(written(tmp_path, DHAT | {"pps": [point(5, 1, 4), point(6, 1, 4)]}))
    assert list(found.live(END).values()) == [LiveHeap(11, 2)]
    assert list(found.allocated.values()) == [AllocationTotals(18, 2011, None, 6)]


UNSOUND = {  # the content, and the key that the sentence names
    "cut off": (json.dumps(DHAT)[:-3], ""),
    "too deep": ("[" * 100_000, ""),
    "empty": ("", ""),
    "a list": ("[]", ""),
    "version": (DHAT | {"dhatFileVersion": 3}, "dhatFileVersion: "),
    "no lifetimes of a point": (DHAT | {"pps": [{"tb": 1, "tbk": 1, "fs": [1]}]}, "lacks gb, gbk, eb or ebk"),
    "no total": (DHAT | {"pps": [{"eb": 1}]}, "pps.0.tb: "),
    "no points": (DHAT | {"pps": None}, "pps: "),
    "no such frame": (DHAT | {"pps": [point(1, 1, 9)]}, "ftbl"),
    "negative": (DHAT | {"pps": [point(-1, 1, 1)]}, "pps.0.eb: "),
    "packed and cut off": (gzip.compress(json.dumps(DHAT).encode())[:-12], ""),
}


@pytest.mark.parametrize("name", UNSOUND)
def test_no_dhat_file_is_a_sentence(tmp_path, name, snapshot):
    content, key = UNSOUND[name]
    file = written(tmp_path, content)
    sentences = set()
    for read in (dhat_reader.read_end, dhat_reader.read_profile):
        with pytest.raises(Unreadable, match=f"^{file}: .*{re.escape(key)}") as refused:
            read(file)
        sentences.add(str(refused.value))
    assert list(sentences) == snapshot


UNSOUND_ZIPS = {  # the content, and the member that the sentence names
    "no JSON": (zipped(a=DHAT, b="no JSON"), "b: "),
    "cut off": (zipped(a=DHAT)[:-9], ""),
    "damaged": (zipped(a=DHAT).replace(b"PK\x01\x02", b"PK\x01\x03"), ""),
    "zeros": (b"PK\x03\x04" + b"\x00" * 1000, ""),
}


@pytest.mark.parametrize("name", UNSOUND_ZIPS)
def test_no_zip_of_them_is_a_sentence(tmp_path, name, snapshot):
    content, member = UNSOUND_ZIPS[name]
    file = written(tmp_path, content)
    with pytest.raises(Unreadable, match=f"^{file}: {member}") as refused:
        dhat_reader.read_profile(file)
    assert without_words_of_python(refused.value) == snapshot


def without_words_of_python(error: Unreadable) -> str:
    cause = error.__context__
    return str(error).replace(str(cause), "WORDS OF PYTHON") if isinstance(cause, zipfile.BadZipFile) else str(error)


def test_what_is_too_large_is_a_sentence(tmp_path, monkeypatch, snapshot):
    monkeypatch.setattr(dhat_reader, "LARGEST", 100 << 10)
    spaces = json.dumps(DHAT) + " " * (200 << 10)
    for name, content in {"json": spaces, "zip": zipped(a=spaces)}.items():
        with pytest.raises(Unreadable, match="0 MiB") as refused:
            dhat_reader.read_profile(written(tmp_path, content))
        assert str(refused.value) == snapshot(name=name)


WHOLE = {"json": json.dumps(DHAT).encode(), "zip": zipped(**{"server 1.json": DHAT, "contexts.json": DHAT})}


@pytest.mark.thorough
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=300)
@given(st.sampled_from(sorted(WHOLE)), st.integers(0, 2000), st.binary(max_size=4), st.booleans())
def test_no_damage_is_worse_than_a_sentence(tmp_path, form, at, damage, cut):
    whole = WHOLE[form]
    file = written(tmp_path, whole[:at] if cut else whole[:at] + damage + whole[at + len(damage) :])
    try:
        dhat_reader.read_profile(file)
    except Unreadable as error:
        assert str(error).startswith(f"{file}: ")


@pytest.mark.thorough
@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed")
def test_totals_are_dhat_s_own(tmp_path):
    file = tmp_path / "dhat"
    argv = ["valgrind", "--tool=dhat", f"--dhat-out-file={file}", "ls", "/"]
    said = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=120).stderr.replace(",", "")
    found = dhat_reader.read_profile(file)
    allocated = found.allocated.values()
    totals = [LiveHeap(sum(one.bytes for one in allocated), sum(one.blocks for one in allocated))]
    totals += [sum_live(found.live(name)) for name in (PEAK, END)]
    summary = re.findall(r"(?:Total|At t-gmax|At t-end): +(\d+) bytes in (\d+) blocks", said)
    assert [(str(held.bytes), str(held.blocks)) for held in totals] == summary
