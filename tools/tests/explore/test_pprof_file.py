"""A profile as pprof's file: Go's pprof reads it, and shows the bytes of each moment by function and label."""

import errno
import gzip
import re
import shutil
import subprocess
import tempfile
from collections import Counter

import pytest
from hypothesis import given

from tests.explore.test_profile_tables import profiles
from tests.support import handmade, in_process, planted
from tlsmem.cli.dispatch import run_words
from tlsmem.explore import pprof_file, profile_selection
from tlsmem.profile import open_profile, pprof_message
from tlsmem.profile.frames import Frame
from tlsmem.profile.heap_profile import CallstackTree, LiveHeap, Moment, Profile

WITH_GO = pytest.mark.skipif(not shutil.which("go"), reason="go is not installed: its pprof reads the file")


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    return planted.write(tmp_path_factory.mktemp("pprof") / "2026-01-31-a-cpu", planted.counted())


def read(packed: bytes) -> pprof_message.Message:
    return pprof_message.decode(gzip.decompress(packed))


def sums(message: pprof_message.Message, kind: str, key: str) -> Counter[str]:
    """The values of a sample type by the text of a label."""
    at = [one.type for one in message.sample_types].index(kind)
    found: Counter[str] = Counter()
    for sample in message.samples:
        found[next((one.text for one in sample.labels if one.key == key), "")] += sample.values[at]
    return found


def go(file, *options) -> str:
    command = ["go", "tool", "pprof", "-top", "-unit=bytes", *options, file]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def write(tmp_path, profile, **options):
    file = tmp_path / "profile.pb.gz"
    file.write_bytes(pprof_file.pack(profile, **options))
    return file


@pytest.mark.thorough
@WITH_GO
def test_go_s_pprof_shows_the_bytes_of_a_moment_by_function(tmp_path):
    file = write(tmp_path, handmade.profile(), only="peak")
    shown = go(file)
    assert "File: tls@1\n" in shown and "Type: inuse_space" in shown and "Total samples = 8000B" in shown
    rows = re.findall(r"^ +(\d+)B? .* +(\d+)B +[0-9.]+%  (.*)$", shown, re.MULTILINE)
    found = {name: (int(own), int(cumulative)) for own, cumulative, name in rows}
    assert found["malloc"] == (7774, 7774) and found["[no call stack]"] == (226, 226)
    assert found["buffer_new"] == (0, 7000) and found["SSL_new"] == (0, 7010) and found["main"] == (0, 7774)
    lines = go(file, "-lines")
    assert "SSL_new src/SSL_new.c:30" in lines and "server_session_new memtest/frames.c:9" in lines


@pytest.mark.thorough
@WITH_GO
def test_go_s_pprof_tells_moments_and_roles_apart_by_their_labels(tmp_path):
    file = write(tmp_path, handmade.profile())
    assert "accounting for 5799B, " in go(file, "-nodefraction=0", "-tagfocus=phase=^sessions$")
    assert "accounting for 6055B, " in go(file, "-nodefraction=0", "-tagfocus=role=^server$")
    assert "Total samples = 9894B" in go(file, "-sample_index=alloc_space")
    assert re.search(r"Total samples = 52\D", go(file, "-sample_index=alloc_objects"))


@pytest.mark.thorough
@given(profiles())
def test_they_add_up_to_what_is_live_at_each_moment(one):
    message = read(pprof_file.pack(one))
    shown = sums(message, "inuse_space", "phase")
    assert {name: shown[name] for name in one.moments} == {name: moment.bytes for name, moment in one.moments.items()}


def test_a_choice_has_the_chosen_bytes():
    one = handmade.profile()
    assert sums(read(pprof_file.pack(one, owner="client", pattern="buffer")), "inuse_space", "role") == {"client": 6000}
    chosen = read(pprof_file.pack(one, "sessions", "server"))
    assert sums(chosen, "inuse_space", "phase") == {"sessions": 3035, "": 0}
    assert sums(chosen, "alloc_space", "phase") == {"sessions": 0, "": 30}
    assert sums(chosen, "inuse_objects", "phase")["sessions"] == 8
    with pytest.raises(profile_selection.PatternNotFound):
        pprof_file.pack(one, pattern="nosuch")


def test_the_same_profile_gives_the_same_bytes():
    first, again = (pprof_file.pack(handmade.profile()) for _ in range(2))
    assert first == again and first[4:8] == b"\0" * 4 and read(first).time_ns == 0


def test_a_program_without_roles_or_blocks_has_neither():
    message = read(pprof_file.pack(handmade.profile(tool="massif", counts=False)))
    assert "inuse_objects" not in [one.type for one in message.sample_types]
    message = read(pprof_file.pack(handmade.foreign()))
    assert [one.type for one in message.sample_types] == ["inuse_objects", "inuse_space"]
    assert {label.key for sample in message.samples for label in sample.labels} == {"phase"}
    assert sums(message, "inuse_space", "phase") == {"snapshot 3": 1000}


def test_mapping_1_is_the_program_though_a_library_comes_first():
    stacks = CallstackTree()
    frames = [handmade.frame("f", 1, "/usr/lib/libfoo.so.1"), handmade.frame("main", 2, "/opt/bin/prog")]
    moment = Moment("peak", 5, {handmade.number(stacks, frames): LiveHeap(5, 1)})
    for command, program in (("./prog -x", "/opt/bin/prog"), ("", "program"), ("it's", "it's"), ("other", "other")):
        message = read(pprof_file.pack(Profile("heaptrack", "f", command, stacks, {"peak": moment})))
        assert message.mappings[0].file == program
        assert {one.file for one in message.mappings} == {program, "/usr/lib/libfoo.so.1", "/opt/bin/prog"}
        assert all(one.has_functions and one.has_lines for one in message.mappings)


def test_inlined_functions_share_an_address_and_an_unnamed_one_has_its_offset():
    stacks = CallstackTree()
    place = (Frame("inner", "a.c", 7, "prog", 0x10), Frame("outer", "a.c", 9, "prog", 0x10))
    unnamed = Frame(None, None, None, "/usr/lib/libfoo.so.1", 0xBEEF)
    number = stacks.add(stacks.place(place), stacks.add(stacks.place((unnamed,)), 0))
    moment = Moment("peak", 5, {number: LiveHeap(5, 1)})
    message = read(pprof_file.pack(Profile("heaptrack", "f", "prog", stacks, {"peak": moment})))
    names = {one.id: (one.name, one.file) for one in message.functions}
    inner, outer = message.locations
    assert [(names[line.function], line.line) for line in inner.lines] == [(("inner", "a.c"), 7), (("outer", "a.c"), 9)]
    assert (inner.address, outer.address) == (0x10, 0xBEEF)
    assert [names[line.function] for line in outer.lines] == [("libfoo.so.1+0xbeef", "")]
    assert message.samples[0].locations == (inner.id, outer.id)


def test_estimates_have_their_period():
    one = handmade.foreign()
    one.sampled_every_bytes = 524_288
    message = read(pprof_file.pack(one))
    assert (message.period, message.period_type.unit) == (524_288, "bytes")
    assert "All figures are estimates" in message.comments[0]


def inspect(recording, *words) -> int:
    """The exit status."""
    return in_process.exit_status(lambda: run_words(["heap", "read", str(recording), *map(str, words)]))


def test_a_recording_names_its_stack_and_the_command_says_how_one_moment_is_shown(capsys, recording, tmp_path):
    file = tmp_path / "all.pb.gz"
    assert inspect(recording, "--pprof", file) == 0
    printed = capsys.readouterr()
    assert printed.out == "" and re.fullmatch(rf"{file}: \d+ moments; pprof adds them up; .*\n", printed.err)
    profile = open_profile.open_profile(recording / f"{planted.STACK}.jsonl")
    shown = sums(read(file.read_bytes()), "inuse_space", "phase")
    assert {name: one.bytes for name, one in profile.moments.items() if one.bytes} == {
        name: size for name, size in shown.items() if size
    }
    assert set(sums(read(file.read_bytes()), "inuse_space", "stack")) == {planted.STACK}
    assert inspect(recording, "--pprof", file) == 2
    assert "which is not written over" in capsys.readouterr().err
    one = tmp_path / "one.pb.gz"
    assert inspect(recording, "--phase", "established", "--pprof", one) == 0
    assert capsys.readouterr().err == ""
    assert set(sums(read(one.read_bytes()), "inuse_space", "phase")) == {"established"}


@pytest.mark.thorough
@given(profiles())
def test_it_is_read_back_with_its_moments_which_are_never_added_up(one):
    with tempfile.NamedTemporaryFile(suffix=".pb.gz") as file:
        file.write(pprof_file.pack(one))
        file.flush()
        live = {name: moment.bytes for name, moment in one.moments.items() if any(map(any, moment.live.values()))}
        if live:
            found = open_profile.open_profile(file.name)
            assert {name: moment.bytes for name, moment in found.moments.items()} == live


def test_what_cannot_be_is_one_sentence_and_writes_nothing(capsys, recording, tmp_path):
    inside, file = recording / f"{planted.STACK}.jsonl", tmp_path / "x"
    for words, sentence in (
        (("--pprof", inside), f"{inside} is "),
        (("--phase", "establishd", "--pprof", file), "did you mean established?"),
        (("--pprof", ""), "--pprof is empty; give it a value, or leave it out"),
        (("--pprof", file, "--speedscope", file), "is named for two files to write"),
        (("--pprof", file, "--filter", "nosuch"), "has a frame that --filter finds"),
    ):
        assert inspect(recording, *words) in (1, 2)
        (line,) = capsys.readouterr().err.splitlines()
        assert sentence in line and not file.exists()
    assert in_process.exit_status(lambda: run_words(["heap", "read", "--diff", "a", "b", "--pprof", "x"])) == 2
    assert "--pprof needs a single profile" in capsys.readouterr().err


def test_a_full_disk_leaves_the_file_as_it_was(capsys, monkeypatch, recording, tmp_path):
    file = tmp_path / "x"
    file.write_text("mine")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    assert inspect(recording, "--phase", "established", "--pprof", file) == 1
    assert capsys.readouterr().err == f"memtest: {file}: No space left on device\n"
    assert file.read_text() == "mine" and [*tmp_path.iterdir()] == [file]
