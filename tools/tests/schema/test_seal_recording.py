"""Sealed recordings: byte for byte what they were, read alike, and every change to them is found."""

import contextlib
import hashlib
import json
import os
import subprocess
import sys

import pytest
from backports import zstd
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import forked_command
from tests.support.commands import command_line
from tests.support.live import live_record
from tests.support.synthetic import failed, record, write
from tlsmem.base import memo
from tlsmem.base.cache_file import digest_code
from tlsmem.base.errors import UserError
from tlsmem.base.paths import ROOT
from tlsmem.schema import append_records, read_records, recording_files, seal_recording
from tlsmem.schema.live_records import append_live
from tlsmem.schema.manifest import BadRecording, Manifest
from tlsmem.schema.records import SCHEMA

STACKS = ("null@c", "rustls+aws-lc@0.23.46")
RUNS = [record(stack, "none", sessions, "heap", schema=SCHEMA) for stack in STACKS for sessions in (2, 4)]
RUNS.append(failed(STACKS[1], "none", 6, "killed by SIGSEGV"))


@pytest.fixture
def recording(tmp_path):
    return write(tmp_path / "recording", RUNS)


def names(directory) -> list[str]:
    return sorted(file.name for file in directory.iterdir())


SEALED = ["manifest.json", "null@c.jsonl.zst", "rustls+aws-lc@0.23.46.jsonl.zst"]
PLAIN = ["null@c.jsonl", "rustls+aws-lc@0.23.46.jsonl"]


def contents(directory) -> dict[str, bytes]:
    files = recording_files.list_files(directory)
    return {recording_files.stack_name(file): recording_files.read_content(file) for file in files}


def test_sealing_keeps_every_byte_and_says_what_there_is(recording):
    before, runs = contents(recording), read_records.load(recording)
    made = seal_recording.seal(recording)[recording]
    assert names(recording) == SEALED and contents(recording) == before and read_records.load(recording) == runs
    assert Manifest.model_validate_json((recording / "manifest.json").read_bytes()) == made
    assert (made.records, made.statuses) == (5, {"failed": 1, "measured": 4})
    assert (made.commits, len(made.machines)) == ({"0123456789abcdef": 5}, 1)
    for stack, content in before.items():
        known = made.files[f"{stack}.jsonl.zst"]
        assert (known.plain_bytes, known.sha256) == (len(content), hashlib.sha256(content).hexdigest())
        packed = (recording / f"{stack}.jsonl.zst").read_bytes()
        assert zstd.decompress(packed) == content
    assert list(seal_recording.verify(recording)) == []


def test_a_sealed_file_is_found_by_its_plain_name_too(recording):
    runs = read_records.load(recording / "null@c.jsonl")
    seal_recording.seal(recording)
    assert read_records.load(recording / "null@c.jsonl") == read_records.load(recording / "null@c.jsonl.zst") == runs


@pytest.mark.thorough
@settings(max_examples=40, deadline=None)
@given(order=st.permutations(range(len(RUNS))), kept=st.integers(1, len(RUNS)))
def test_what_is_sealed_reads_as_what_was_plain(tmp_path_factory, order, kept):
    place = write(tmp_path_factory.mktemp("any"), [RUNS[at] for at in order[:kept]])
    before, runs = contents(place), read_records.load(place)
    seal_recording.seal(place)
    assert (contents(place), read_records.load(place)) == (before, runs)
    assert seal_recording.seal(place)[place].records == kept  # again: nothing changes


@pytest.mark.thorough
@settings(max_examples=150, deadline=None)
@given(place=st.integers(0), bit=st.integers(0, 7))
def test_a_flipped_bit_in_a_sealed_file_is_found(tmp_path_factory, place, bit):
    directory = write(tmp_path_factory.mktemp("flipped"), RUNS[:2])
    seal_recording.seal(directory)
    file = directory / "null@c.jsonl.zst"
    content = bytearray(file.read_bytes())
    content[place % len(content)] ^= 1 << bit
    file.write_bytes(content)
    plain = None
    with contextlib.suppress(zstd.ZstdError):
        plain = zstd.decompress(bytes(content))
    if plain == b"".join(run.to_json_line() for run in RUNS[:2]):
        return  # a bit that says nothing of the content, such as an unused one of the head
    (failure,) = seal_recording.verify(directory)
    assert failure.startswith(f"{file}: ") and recording_files.RESTORE in failure
    with pytest.raises(UserError, match=r"null@c.*: "):
        read_records.load(directory)


def interrupt(monkeypatch, at: int) -> None:
    """The write or rename of this number, from 0 on, ends sealing."""
    count = iter(range(100))
    for name in ("rename", "unlink"):
        usual = getattr(seal_recording.Path, name)

        def step(self, *words, usual=usual, **more):
            if next(count) == at:
                raise KeyboardInterrupt
            return usual(self, *words, **more)

        monkeypatch.setattr(seal_recording.Path, name, step)


@pytest.mark.parametrize("at", range(5))
def test_whenever_sealing_is_interrupted_the_recording_reads_as_before(recording, monkeypatch, at):
    before, runs = contents(recording), read_records.load(recording)
    with monkeypatch.context() as patched:
        interrupt(patched, at)
        with pytest.raises(KeyboardInterrupt):
            seal_recording.seal(recording)
    assert (contents(recording), read_records.load(recording)) == (before, runs)
    assert (recording / "manifest.json").exists() == (at > 0)
    seal_recording.seal(recording)
    assert [name for name in names(recording) if not name.startswith(".")] == SEALED
    assert (contents(recording), read_records.load(recording)) == (before, runs)


def test_nothing_is_added_to_a_sealed_recording(recording):
    seal_recording.seal(recording)
    before = {file: file.read_bytes() for file in recording.iterdir()}
    for add in (lambda: append_records.append(recording, RUNS[0]), lambda: append_records.prepare(recording)):
        with pytest.raises(UserError):
            add()
    with pytest.raises(UserError, match="the recording is sealed and takes no more runs; give another OUT"):
        append_records.append(recording, RUNS[0])
    assert {file: file.read_bytes() for file in recording.iterdir()} == before


def test_runs_beside_a_sealed_recording_are_not_passed_over(recording):
    seal_recording.seal(recording)
    (recording / "null@go.jsonl").write_bytes(RUNS[0].to_json_line())
    with pytest.raises(BadRecording, match=r"go.*: has runs that the sealed recording beside it has not; move"):
        read_records.load(recording)


def edited(recording) -> None:
    """Packed again with a changed figure, which is no damage of zstd's."""
    file = recording / "null@c.jsonl.zst"
    content = zstd.decompress(file.read_bytes()).replace(b'"repeat":1', b'"repeat":2')
    file.write_bytes(zstd.compress(content))


def recounted(recording) -> None:
    file = recording / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"records": 4}))


FAULTS = {
    "edited": edited,
    "missing": lambda one: (one / "null@c.jsonl.zst").unlink(),
    "cut": lambda one: (one / "null@c.jsonl.zst").write_bytes((one / "null@c.jsonl.zst").read_bytes()[:-9]),
    "more": lambda one: (one / "more.jsonl.zst").write_bytes((one / "null@c.jsonl.zst").read_bytes()),
    "counts": recounted,
    "manifest": lambda one: (one / "manifest.json").write_text("{"),
}


def command(*words, forked=True) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, ROOT / "tools/tls-memtest", "data", *words]
    return forked_command.run(words) if forked else subprocess.run(words, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", FAULTS)
def test_verify_says_one_sentence_a_failure(recording, name, snapshot):
    seal_recording.seal(recording)
    FAULTS[name](recording)
    assert list(seal_recording.verify(recording)) == snapshot


@pytest.mark.thorough
def test_the_commands_seal_and_verify(recording):
    assert command("verify", recording, forked=False).returncode == 0
    sealed = command("seal", recording, forked=False)
    assert (sealed.returncode, sealed.stderr, names(recording)) == (0, "", SEALED)
    assert "5 records, 2 files" in sealed.stdout
    edited(recording)
    (recording / "rustls+aws-lc@0.23.46.jsonl.zst").unlink()
    refused = command("verify", recording, forked=False)
    assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (1, "", 2)
    none = command("verify", recording / "nowhere", forked=False)
    assert (none.returncode, none.stderr.count("\n")) == (1, 1)


@pytest.mark.parametrize("sealed", [(), (".",), ("live",), (".", "live")])
def test_verify_says_whether_all_directories_of_a_recording_are_sealed(recording, sealed):
    append_live(recording, live_record(1000))
    for name in sealed:
        seal_recording.seal_directory(recording / name, [])
    said = command("verify", recording)
    plain = {(".",): "live", ("live",): "."}.get(sealed)
    words = (
        f"sealed, except for the runs in {recording / plain};" if plain else "sealed, and" if sealed else "not sealed;"
    )
    assert (said.returncode, said.stdout) == (0, f"{recording}: {words} nothing is wrong with it\n")


def test_a_recording_of_live_runs_only_is_sealed_by_the_manifest_below_it(tmp_path):
    append_live(tmp_path, live_record(1000))
    seal_recording.seal(tmp_path)
    said = command("verify", tmp_path)
    assert (said.returncode, said.stdout) == (0, f"{tmp_path}: sealed, and nothing is wrong with it\n")


def test_a_recording_with_a_line_that_was_cut_off_is_not_sealed(recording):
    with (recording / "null@c.jsonl").open("ab") as file:
        file.write(RUNS[0].to_json_line()[:99])
    with pytest.raises(BadRecording, match=r"line 3 was cut off while it was written; .*; make the run again"):
        seal_recording.seal(recording)
    assert names(recording) == PLAIN


def test_a_recording_with_a_file_without_runs_is_not_sealed(recording):
    (recording / "empty.jsonl").touch()
    with pytest.raises(BadRecording, match=r"empty\.jsonl: has no runs; remove it before the recording is sealed"):
        seal_recording.seal(recording)
    assert names(recording) == sorted([*PLAIN, "empty.jsonl"])


@pytest.mark.parametrize(
    "words",
    [pytest.param(["verify", ROOT / "data/2026-11-24-amd-epyc-p0457-live"], marks=pytest.mark.thorough), ["schema"]],
)
def test_stdout_that_cannot_be_written_is_a_sentence(words):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, ROOT / "tools/tls-memtest", "data", *words],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, "memtest: stdout: No space left on device\n")


def test_a_manifest_is_not_a_recording(recording):
    seal_recording.seal(recording)
    with pytest.raises(BadRecording, match=r"manifest\.json is not a recording \(\.jsonl\)"):
        read_records.load(recording / "manifest.json")


def test_a_recording_that_grows_is_not_sealed(recording):
    append_records.prepare(recording)
    with pytest.raises(BadRecording, match="a campaign is recording here"):
        seal_recording.seal(recording)
    assert names(recording) == PLAIN


@pytest.mark.thorough
@pytest.mark.parametrize("recording", sorted(file.name for file in (ROOT / "data").glob("20*")))
def test_every_committed_recording_is_whole(recording):
    """Once for its bytes and the code that checks them: that takes a quarter of a minute for all."""
    files = sorted(file for file in (ROOT / "data" / recording).rglob("*") if file.is_file())
    arguments = [str(file.relative_to(ROOT)) for file in files]
    code = digest_code(("schema/seal_recording.py",), tuple(files))
    assert memo.recall("verify", arguments, code, lambda: list(seal_recording.verify(ROOT / "data" / recording))) == []
    memo.write_results()


@pytest.mark.parametrize("name", ["n" * 300, "file/below"])
def test_a_name_that_cannot_be_looked_up_is_a_sentence(tmp_path, name):
    (tmp_path / "file").touch()
    (failure,) = seal_recording.verify(tmp_path / name)
    assert failure.endswith("there is no such directory; recordings are directories under data/")


@pytest.mark.thorough
def test_a_directory_that_cannot_be_read_is_not_taken_for_an_empty_one(recording):
    recording.chmod(0)
    drop = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.getuid() == 0 else []
    for words in ("diff recordings {0} {0}", "measure live {0}", "data verify {0}"):
        command = [*drop, *command_line(words.format(recording))]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode in (1, 2) and "Permission denied" in done.stderr and "Traceback" not in done.stderr, (
            words
        )
    recording.chmod(0o755)


@pytest.mark.parametrize("is_sealed", [True, False])
def test_a_file_that_holds_gigabytes_is_unpacked_no_further_than_the_manifest_says(tmp_path, monkeypatch, is_sealed):
    """64 KB of zstd hold 2 GiB of zeros."""
    recording = write(tmp_path / "recording", RUNS)
    made = seal_recording.seal(recording)[recording]
    file = recording / "null@c.jsonl.zst"
    file.write_bytes(zstd.compress(bytes(64 << 20)))
    if not is_sealed:
        (recording / "manifest.json").unlink()
        monkeypatch.setattr(recording_files, "MOST_BYTES", 1 << 20)
    sizes = []
    unpack = recording_files.unpack_at_most
    monkeypatch.setattr(
        recording_files, "unpack_at_most", lambda *given: (found := unpack(*given), sizes.append(len(found)))[0]
    )
    with pytest.raises(BadRecording, match="manifest.json has another" if is_sealed else "holds more than 1,048,576 B"):
        recording_files.read_content(file)
    assert sizes == [(made.files[file.name].plain_bytes if is_sealed else 1 << 20) + 1]


@pytest.mark.thorough
def test_a_sealed_file_of_many_frames_is_read_and_an_empty_one_is_cut_off():
    frames = [zstd.compress(line) for line in (b"", b"x" * 4000)]
    packed = b"".join(frames * 20_000)  # 80 MB, of which each frame was once copied for all that come after it
    assert recording_files.unpack_at_most(packed, 1 << 27) == b"x" * (4000 * 20_000)
    with pytest.raises(zstd.ZstdError):
        recording_files.unpack_at_most(b"", 1)


@given(st.lists(st.binary(max_size=300), min_size=1, max_size=4), st.data())
def test_unpacking_stops_where_it_is_told_to_and_finds_what_is_cut_off(parts, data):
    whole, packed = b"".join(parts), b"".join(map(zstd.compress, parts))
    most = data.draw(st.integers(1, len(whole) + 2))
    assert recording_files.unpack_at_most(packed, most) == whole[:most]
    with pytest.raises(zstd.ZstdError):
        recording_files.unpack_at_most(packed[:-1], len(whole) + 1)


@pytest.mark.parametrize("end", [".jsonl", ".jsonl.zst"])
def test_millions_of_empty_lines_are_no_runs(tmp_path, end):
    content = b"\n" * (1 << 20)
    (tmp_path / f"null@c{end}").write_bytes(content if end == ".jsonl" else zstd.compress(content))
    with pytest.raises(BadRecording, match="has 1,048,576 lines of 1 B: no runs"):
        read_records.load(tmp_path)
