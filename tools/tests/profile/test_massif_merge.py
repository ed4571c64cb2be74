"""Snapshots of phases and the peak come to one file that massif could have written."""

import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tlsmem.profile import massif_reader
from tlsmem.profile.capture import massif_merge
from tlsmem.profile.errors import Unreadable

HEADER = "desc: --threshold=0 --massif-out-file=/tmp/scratch/whole\ncmd: build/harness/null@c memory\ntime_unit: B\n"
ROOT = Path("/somewhere")


def snapshot(time: int, kind: str = "detailed", held: int = 7) -> str:
    tree = f"n1: {held} (heap allocation functions)\n n0: {held} 0x1A: main (in {ROOT}/build/harness/null@c)\n"
    numbers = f"time={time}\nmem_heap_B={held}\nmem_heap_extra_B=1\nmem_stacks_B=0\nheap_tree={kind}\n"
    return f"#-----------\nsnapshot=3\n#-----------\n{numbers}{tree if kind != 'empty' else ''}"


def joined(folder: Path, times: list[int], peak: int) -> bytes:
    whole, parts = folder / "whole", [folder / f"massif.{at}" for at in range(len(times))]
    others = snapshot(0, "empty", 0), snapshot(1), snapshot(peak, "peak", 9), snapshot(10**9, "empty", 0)
    whole.write_text(HEADER + "".join(others))
    for part, time in zip(parts, times, strict=True):
        part.write_text(HEADER + snapshot(time))
    to = io.BytesIO()
    massif_merge.merge_snapshots(whole, parts, to, ROOT)
    return to.getvalue()


@settings(max_examples=50, deadline=None)
@given(times=st.lists(st.integers(0, 10**6), min_size=1, unique=True).map(sorted), peak=st.integers(0, 10**6))
def test_snapshots_are_in_order_of_time_with_the_peak_among_them(tmp_path_factory, times, peak):
    folder = tmp_path_factory.mktemp("parts")
    (folder / "joined").write_bytes(joined(folder, times, peak))
    found = list(massif_reader.MassifReader(folder / "joined").snapshots())
    assert [one.number for one in found] == list(range(len(times) + 1))
    assert [one.time for one in found] == sorted([*times, peak])
    assert [(one.time, one.heap_bytes) for one in found if one.kind == "peak"] == [(peak, 9)]


def test_nothing_of_this_machine_is_in_it(tmp_path):
    said = joined(tmp_path, [1], 2).decode()
    assert said.startswith(
        "desc: --threshold=0\ncmd: build/harness/null@c memory\ntime_unit: B\n#-----------\nsnapshot=0\n"
    )
    assert "main (in build/harness/null@c)\n" in said and "/tmp" not in said


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("whole", HEADER + snapshot(1), "massif wrote no snapshot of the peak"),
        ("whole", "desc: of another kind\n", "cut off after line 1, where `cmd:` is expected"),
        ("whole", "desc: of\nanother: kind\n", "line 2 of a massif file starts with `cmd:`, and this one does not"),
        ("massif.0", HEADER, "one snapshot is expected, and there are 0"),
        ("massif.0", HEADER + snapshot(1) * 2, "one snapshot is expected, and there are 2"),
        ("massif.0", HEADER + snapshot(1)[:-3], "cut off in line 13"),
        ("massif.0", HEADER + snapshot(1).replace("n0: 7", "n0: 6"), "snapshot 3: mem_heap_B is 7, its tree holds 6"),
        ("massif.0", "", "cut off after line 0, where `desc:` is expected"),
    ],
)
def test_a_part_that_is_not_massif_s_is_a_sentence(tmp_path, name, text, said):
    joined(tmp_path, [1], 2)
    (tmp_path / name).write_text(text)
    with pytest.raises(Unreadable) as refused:
        massif_merge.merge_snapshots(tmp_path / "whole", [tmp_path / "massif.0"], io.BytesIO(), ROOT)
    assert str(refused.value) == f"{tmp_path / name}: {said}"
