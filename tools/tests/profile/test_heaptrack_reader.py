"""heaptrack's files as a profile: by hand, and by chance against a plain model."""

import gzip
from collections import Counter

import pytest
from backports import zstd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.heaptrack_text import SIZES, STACKS, TABLES, held, moments, written
from tlsmem.profile import heaptrack_reader
from tlsmem.profile.frames import Frame
from tlsmem.profile.heap_profile import END, PEAK, AllocationTotals, LiveHeap
from tlsmem.selfcheck.reference_profilers import allocated_by_module


def test_marks_peak_and_end_are_those_of_the_events(tmp_path):
    events = "+ 1\n+ 2\nc a\n+ 0\n- 0\n+ 3\n- 2\n+ 2\n- 3\nR 5\n+ 0\n- 0\n+ 1\nc 5dc\n"
    profile = heaptrack_reader.read_profile(written(tmp_path, events))
    assert moments(profile) == {
        "mark 1": held(0, 1, 1, 0),
        "mark 2": held(0, 1, 1, 0),
        PEAK: held(0, 1, 1, 1),
        END: held(0, 2, 1, 0),
    }
    assert (profile.command, profile.runtime_s, profile.tool) == ("./harness memory", 1.5, "heaptrack")
    assert profile.sizes == {1: 2, 16: 2, 32: 3}
    # Stack 2 has two sizes. Temporary: the marks' own blocks; of the 32 B none, which were freed after another.
    assert profile.allocated == {
        1: AllocationTotals(2, 2, 2),
        2: AllocationTotals(3, 64, 0),
        3: AllocationTotals(2, 64, 0),
    }


def test_a_peak_is_taken_where_it_was_reached_first(tmp_path):
    events = "+ 2\n- 2\n+ 3\n- 3\n+ 1\n"  # 32 B twice, of different stacks
    assert moments(heaptrack_reader.read_profile(written(tmp_path, events)))[PEAK] == held(0, 0, 1, 0)


def test_a_peak_lies_in_an_earlier_chunk_than_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr("tlsmem.profile.compressed_file.CHUNK", 16)
    events = "+ 1\n" * 50 + "+ 2\n" + "- 1\n" * 50 + "- 2\n+ 3\n"
    assert moments(heaptrack_reader.read_profile(written(tmp_path, events)))[PEAK] == held(0, 50, 1, 0)


def test_a_block_is_temporary_when_it_is_freed_before_anything_else_happens(tmp_path):
    events = "+ 1\n- 1\n+ 1\n+ 1\n- 1\n- 1\n+ 2\n+ 3\n- 2\n"
    profile = heaptrack_reader.read_profile(written(tmp_path, events))
    assert {stack: one.temporary for stack, one in profile.allocated.items()} == {2: 2, 3: 0}


def test_a_mark_is_known_by_its_function_and_never_by_its_size(tmp_path):
    renamed = TABLES.replace("s a meter_mark", "s a meter_make")
    found = heaptrack_reader.read_profile(written(tmp_path, "+ 0\n- 0\n", renamed))
    assert list(found.moments) == [PEAK, END] and found.torn is None
    assert "mark 1" in heaptrack_reader.read_profile(written(tmp_path, "+ 0\n", renamed), mark="meter_make").moments


@pytest.mark.parametrize(("caller", "is_mark"), [(1, True), (2, False)], ids=["the mark", "main"])
def test_a_mark_s_block_may_be_asked_for_through_a_wrapper(tmp_path, caller, is_mark):
    tables = TABLES.replace("s 6 main.c\n", "s 6 main.c\ns d __wrap_malloc\n")
    tables = tables.replace("i 300 2\n", "i 300 2\ni 400 1 7 0 0\n")
    tables = tables.replace("a 1 1\n", f"t 4 {caller}\na 1 4\n")
    profile = heaptrack_reader.read_profile(written(tmp_path, "+ 0\n", tables, "# strings: 7\n# ips: 4\n"))
    assert ("mark 1" in profile.moments) == is_mark


def test_a_call_stack_is_innermost_first_and_inlined_functions_are_frames(tmp_path):
    stacks = heaptrack_reader.read_profile(written(tmp_path, "+ 2\n")).stacks
    assert stacks.frames(3) == (
        Frame(None, None, None, "libstdc++.so.6", 0x300),
        Frame("other", "main.c", 11, "harness", 0x200),
        Frame("main", "main.c", 12, "harness", 0x200),
    )


def test_a_command_of_several_lines_is_whole(tmp_path):
    command = "./harness -c import json\ns = 5\n+ 1\nt 1 2\nI am\nI 1\n+ z\n\nend"
    profile = heaptrack_reader.read_profile(written(tmp_path, "+ 1\n", TABLES.replace("./harness memory", command)))
    assert profile.command == command.replace("\n\n", "\n")  # heaptrack has empty lines of its own
    assert profile.moments[END].bytes == 16
    assert moments(profile)[PEAK] == moments(profile)[END]  # no line of the command is taken for an allocation


def test_progress_is_told(tmp_path):
    told = []
    file = written(tmp_path, "+ 1\n")
    heaptrack_reader.read_profile(file, progress=told.append)
    assert told[-1] == file.stat().st_size


def test_functions_are_demangled_and_files_begin_at_their_package(tmp_path):
    long = "/home/a/cargo/registry/src/registry.example-6f17/rustls-0.23.46/src/vecbuf.rs"
    name = "rustls..vecbuf..ChunkVecBuffer$LT$T$GT$::append::h0123456789abcdef"
    tables = TABLES.replace("s 6 main.c", f"s {len(long):x} {long}").replace("s 5 other", f"s {len(name):x} {name}")
    frames = heaptrack_reader.read_profile(written(tmp_path, "+ 1\n", tables)).stacks.frames(2)
    assert str(frames[0]) == "rustls::vecbuf::ChunkVecBuffer<T>::append (vecbuf.rs:11)"
    assert frames[0].file == "rustls-0.23.46/src/vecbuf.rs"


def test_what_a_module_allocated_by_itself_is_told_apart(tmp_path):
    profile = heaptrack_reader.read_profile(written(tmp_path, "+ 1\n+ 2\n+ 2\n"))
    assert allocated_by_module(profile, profile.moments[END], "libstdc++") == LiveHeap(64, 2)
    assert allocated_by_module(profile, profile.moments[END], "libunwind") == LiveHeap(0, 0)


PACKS = {"gzip": gzip.compress, "zstd": zstd.compress, "plain": bytes}


@pytest.mark.parametrize("pack", PACKS)
def test_packed_files_are_known_by_their_content(tmp_path, pack):
    file = written(tmp_path, "+ 1\n")
    file.write_bytes(PACKS[pack](file.read_bytes()))
    profile = heaptrack_reader.read_profile(file)
    assert profile.moments[END].bytes == 0x10
    assert not profile.warnings


SMALL = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


@pytest.mark.thorough
@SMALL
@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=60), st.integers(1, 60))
def test_all_is_that_of_a_plain_model(tmp_path, monkeypatch, wanted, chunk):
    monkeypatch.setattr("tlsmem.profile.compressed_file.CHUNK", chunk)
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
    profile = heaptrack_reader.read_profile(written(tmp_path, "".join(events)))
    expected = {f"mark {number}": mark for number, mark in enumerate(marks, 1)}
    assert moments(profile) == {**expected, PEAK: held(*peak), END: held(*live)}
    assert profile.allocated == {stack: AllocationTotals(*both, temporary[stack]) for stack, both in made.items()}
    assert profile.sizes == sizes
    assert not [warning for warning in profile.warnings if "no names" not in warning]
