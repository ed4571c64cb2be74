"""Recordings: what is recorded stays, whatever happens to the end of a file."""

import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.support import planted
from tests.support.synthetic import failed, record
from tlsmem.base.errors import UserError
from tlsmem.base.paths import ROOT
from tlsmem.schema import append_records, read_records, recording_files, records
from tlsmem.schema.harness_output import Phase, describe_error
from tlsmem.schema.records import RecordLine

STACK = "null@c"
RUNS = [record(STACK, "none", 2), record(STACK, "none", 4, "heap"), failed(STACK, "none", 6, "killed by SIGSEGV")]
FILE = b"".join(run.to_json_line() for run in RUNS)


def test_the_schema_in_docs_is_current():
    schema = ROOT / "docs/reference/record.schema.json"
    assert json.loads(schema.read_text()) == RecordLine.model_json_schema()


@pytest.mark.parametrize("run", RUNS)
def test_a_record_reads_back_as_it_was_written(run):
    assert RecordLine.model_validate_json(run.to_json_line()) == run


SHA256 = {"version": "1", "sha256": "a" * 64}
SOURCES = [{"crate": "openssl-src"} | SHA256, {"debian": "openssl", "suite": "bookworm"} | SHA256, {"prefix": "/opt"}]


@pytest.mark.parametrize("source", SOURCES)
def test_a_source_is_kept_as_the_build_said_it(source):
    run = RecordLine.model_validate_json(json.dumps(json.loads(RUNS[0].to_json_line()) | {"source": source}))
    assert json.loads(run.to_json_line())["source"] == source


@pytest.mark.parametrize("more", [{"crate": "a"}, {"prefix": "/opt"}, {"suite": None}])
def test_a_source_is_of_one_kind_and_whole(more):
    with pytest.raises(ValidationError):
        RecordLine.model_validate_json(json.dumps(json.loads(RUNS[0].to_json_line()) | {"source": SOURCES[1] | more}))


@pytest.mark.slow
def test_committed_records_are_read_and_keyed_as_they_were_made():
    """Of each file the first and the last: fields that came later change no key, and no line."""
    files = [file for recording in (ROOT / "data").glob("20*") for file in recording_files.list_files(recording)]
    assert files
    for file in files:
        lines = recording_files.read_content(file).splitlines()
        for line in (lines[0], lines[-1]):
            run = RecordLine.model_validate_json(line)
            assert (records.run_key(run.model_dump()), json.loads(run.to_json_line())) == (run.key, json.loads(line))


def test_an_rss_run_has_no_heap_field():
    assert all("heap" not in phase for phase in json.loads(RUNS[0].to_json_line())["phases"])


@pytest.mark.thorough
@settings(max_examples=60, deadline=None)
@given(cut=st.integers(0, len(FILE)), again=st.integers(0, len(FILE)))
def test_a_file_cut_anywhere_keeps_its_whole_records_and_takes_more(cut, again):
    with TemporaryDirectory() as name:
        file = Path(name, f"{STACK}.jsonl")
        for end in (cut, again):
            before = (file.read_bytes() if file.exists() else b"") + FILE[:end]
            if not before:
                continue
            file.write_bytes(before)
            kept = read_records.load(file)
            assert kept == [run for run in kept if run in RUNS]
            append_records.append(file.parent, RUNS[0])
            assert file.read_bytes().startswith(before)
            assert read_records.load(file) == [*kept, RUNS[0]]


@pytest.mark.thorough
@given(cut=st.integers(0, len(FILE)))
def test_a_cut_loses_only_the_record_it_cuts(cut):
    with TemporaryDirectory() as name:
        file = Path(name, f"{STACK}.jsonl")
        file.write_bytes(FILE[:cut])
        whole, ends = 0, 0
        for run in RUNS:
            ends += len(run.to_json_line())
            whole += cut >= ends - 1  # only its newline may be missing
        assert read_records.load(file) == RUNS[:whole]


def test_a_torn_mark_is_healed_too(tmp_path):
    file = tmp_path / f"{STACK}.jsonl"
    file.write_bytes(FILE + FILE[:100] + b"\n" + recording_files.TORN_MARK[:7])
    append_records.append(tmp_path, RUNS[0])
    assert read_records.load(tmp_path) == [*RUNS, RUNS[0]]


def test_a_torn_last_line_is_told_once_until_it_is_marked(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(recording_files, "skipped_lines", [])
    (tmp_path / f"{STACK}.jsonl").write_bytes(FILE[:-9])
    assert read_records.load(tmp_path) == read_records.load(tmp_path) == RUNS[:2]
    assert capsys.readouterr().err.count("line 3 was cut off") == len(recording_files.skipped_lines) == 1
    monkeypatch.setattr(recording_files, "skipped_lines", [])
    append_records.append(tmp_path, RUNS[2])
    recording_files.skipped_lines.clear()
    assert read_records.load(tmp_path) == RUNS
    assert (capsys.readouterr().err, recording_files.skipped_lines) == ("", [])


def test_a_pipe_is_no_recording(tmp_path):
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(UserError, match=r"pipe.jsonl: cannot read the recording: not a regular file"):
        read_records.load(tmp_path)


@pytest.mark.parametrize("key", ["reported", "repeat"])
def test_a_wrong_key_comes_before_the_one_that_is_missing(key):
    fields = json.loads(RUNS[0].to_json_line())
    fields[key[1:]] = fields.pop(key)
    with pytest.raises(ValidationError) as error:
        RecordLine.model_validate_json(json.dumps(fields))
    assert describe_error(error.value) == f"{key[1:]}: no such key; did you mean {key}?"
    with pytest.raises(ValidationError) as error:
        RecordLine.model_validate_json(json.dumps(json.loads(RUNS[0].to_json_line()) | {"repeated": 1}))
    assert describe_error(error.value) == "repeated: no such key"


NEWER = b'"schema":%d' % (records.SCHEMA + 1)


@pytest.mark.parametrize(
    ("number", "line", "what"),
    [
        (
            2,
            RUNS[0].to_json_line().replace(b'"schema":2', NEWER),
            f"schema: {records.SCHEMA + 1} is newer than these tools",
        ),
        (4, b'{"schema":1}\n', "key: Field required"),
        (1, b"stack,bytes\n", "Invalid JSON"),
        (4, b"the end\n", "Invalid JSON"),  # last, but no beginning of a record
        (3, FILE[:50] + b"\n", "Invalid JSON"),  # broken, and neither last nor marked
        (4, FILE[:50] + b"\n" + FILE[:60], "Invalid JSON"),  # only the last may be torn
        (4, b'{"a":' * 100_000 + b"\n", "recursion limit exceeded"),
    ],
    ids=["schema", "key", "csv", "end", "broken", "two torn", "deep"],
)
def test_a_foreign_line_stops_the_reader_with_its_place(tmp_path, number, line, what):
    lines = FILE.splitlines(keepends=True)
    file = tmp_path / f"{STACK}.jsonl"
    file.write_bytes(b"".join([*lines[: number - 1], line, *lines[number - 1 :]]))
    with pytest.raises(UserError) as stop:
        read_records.load(tmp_path)
    assert str(file) in str(stop.value)
    assert f"line {number} " in str(stop.value)
    assert what in str(stop.value)


def test_a_measured_run_without_phases_is_refused():
    with pytest.raises(ValueError, match="a measured run has phases"):
        RecordLine.model_validate(RUNS[0].model_dump(by_alias=True) | {"phases": []})


def test_glibc_s_books_and_the_memory_of_a_process_are_there():
    phase = RUNS[0].model_dump(by_alias=True)["phases"][0]
    for changed, said in (
        ({"allocator": {"glibc": {}}}, "at least 1 item"),
        ({"allocator": {"glibc": {"arena": 1}}}, "should match pattern"),
        ({"rss_bytes": 0}, "greater than 0"),
        ({"peak_rss_bytes": 0}, "greater than 0"),
    ):
        with pytest.raises(ValidationError, match=said):
            Phase.model_validate(phase | changed)


FRAME = {"function": "main", "file": None, "line": None, "module": "x", "offset": 1}
LIVE = {"role": "client", "since": "sessions", "stack": 0, "blocks": 1, "bytes": 1}


def sites_run(of_phase: dict, frames: int = 1) -> RecordLine:
    """A call stack of one frame, and a block from it; the phase's counts and the run's frames may be changed."""
    run = record(STACK, "none", 4, "sites")
    phases = [phase.model_dump() for phase in run.phases]
    phases[3]["sites"] |= {"live": [LIVE]} | of_phase
    sites = {"frames": [FRAME] * frames, "stacks": [[0]]}
    return RecordLine.model_validate(run.model_dump(by_alias=True) | {"phases": phases, "sites": sites})


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"of_phase": {"live": [LIVE | {"stack": 1}]}}, "a call stack that is not among the run's"),
        ({"of_phase": {}, "frames": 0}, "a frame that is not among its frames"),
        ({"of_phase": {"pairs": 1}}, "no more than there are"),
        ({"of_phase": {"alike": 1}}, "no more than there are"),
        ({"of_phase": {"peak": [LIVE]}}, "`peak` and `peak_bytes` are recorded together"),
        ({"of_phase": planted.peak([LIVE | {"stack": 1}])}, "a call stack that is not among the run's"),
    ],
)
def test_a_sites_run_that_contradicts_itself_is_refused(changed, said):
    assert sites_run({}).phases[3].sites.live
    with pytest.raises(ValidationError, match=said):
        sites_run(**changed)


def test_a_phase_comes_once_in_a_process():
    fields = RUNS[0].model_dump(by_alias=True)
    with pytest.raises(ValidationError, match="a process goes through each phase once"):
        RecordLine.model_validate(fields | {"phases": [*fields["phases"], fields["phases"][0]]})
    split = record(STACK, "none", 4, roles="split")
    assert len({phase.phase for phase in split.phases}) < len(split.phases)


def test_a_full_disk_is_told_and_changes_nothing(small_disk):
    written = []
    with pytest.raises(UserError, match=r"No space left on device; what was recorded before is unchanged"):
        for run in RUNS * 100:
            append_records.append(small_disk, run)
            written.append(run)
    assert written
    assert (small_disk / f"{STACK}.jsonl").read_bytes() == b"".join(run.to_json_line() for run in written)
