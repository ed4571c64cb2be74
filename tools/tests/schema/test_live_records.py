"""Live runs are appended, read back as they were, and a line that is none is named."""

import json
import os
import shutil

import pytest
from backports import zstd

from tests.support import synthetic
from tests.support.live import live_record
from tlsmem.base.errors import UserError
from tlsmem.schema import seal_recording
from tlsmem.schema.checksum import add_checksum, remove_checksum
from tlsmem.schema.live_records import Samples, append_live, live_key, load_live
from tlsmem.schema.manifest import BadRecording


def test_what_is_appended_is_read_back(tmp_path):
    runs = [live_record(1000), live_record(1000, "heap"), live_record(3000, status="failed")]
    for run in runs:
        append_live(tmp_path, run)
    assert load_live(tmp_path) == runs
    assert load_live(tmp_path / "elsewhere") == []


def test_a_line_that_is_no_run_is_named_with_its_file(tmp_path):
    append_live(tmp_path, live_record(1000))
    file = tmp_path / "live/nginx.jsonl"
    file.write_bytes(file.read_bytes() + add_checksum(without_checksum(file).replace(b'"window":1000', b'"window":0')))
    with pytest.raises(BadRecording, match=r"nginx\.jsonl: line 2: window"):
        load_live(tmp_path)


def without_checksum(file):
    """The last line of the file."""
    return remove_checksum(file.read_bytes().splitlines()[-1])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda line: line.replace(b'"rss_bytes":6000000', b'"rss_bytes":6000001'), "its checksum does not match"),
        (remove_checksum, "it does not end in its checksum"),
        (lambda line: add_checksum(remove_checksum(line).replace(b'"schema":4', b'"schema":2')), "has no checksum"),
        (lambda line: line.replace(b'"schema":4', b'"schema":2'), "its checksum does not match"),
    ],
)
def test_an_edited_line_is_found_before_the_recording_is_sealed(tmp_path, change, sentence):
    append_live(tmp_path, live_record(1000))
    file = tmp_path / "live/nginx.jsonl"
    line = file.read_bytes().rstrip(b"\n")
    assert change(line) != line
    file.write_bytes(change(line) + b"\n")
    (failure,) = seal_recording.verify(tmp_path)
    assert f"{file}: line 1 was changed after it was recorded: " in failure and sentence in failure


@pytest.mark.parametrize("schema", [1, 2])
def test_lines_of_schemas_without_a_checksum_are_read(tmp_path, schema):
    run = live_record(1000).model_copy(update={"schema_": schema})
    append_live(tmp_path, run)
    assert b"checksum" not in (tmp_path / "live/nginx.jsonl").read_bytes()
    assert load_live(tmp_path) == [run] and list(seal_recording.verify(tmp_path)) == []


def test_a_line_that_was_cut_off_is_skipped_and_the_next_run_is_kept(tmp_path, capsys):
    append_live(tmp_path, live_record(1000))
    file = tmp_path / "live/nginx.jsonl"
    file.write_bytes(file.read_bytes() * 2)
    os.truncate(file, file.stat().st_size - 30)  # within the checksum of the second
    assert load_live(tmp_path) == [live_record(1000)] and "line 2 was cut off" in capsys.readouterr().err
    append_live(tmp_path, live_record(3000))
    assert load_live(tmp_path) == [live_record(1000), live_record(3000)]


def test_a_server_on_another_library_has_other_runs_and_one_that_is_packaged_the_key_that_it_had():
    packaged, built = live_record(1000), live_record(1000, stack="awslc@5.12.0")
    assert packaged.key != built.key
    before = packaged.model_dump(by_alias=True)
    del before["stack"], before["ktls"]
    assert live_key(before) == packaged.key


def test_lines_of_the_schema_before_stacks_are_read(tmp_path):
    run = live_record(1000).model_copy(update={"schema_": 3})
    append_live(tmp_path, run)
    file = tmp_path / "live/nginx.jsonl"
    file.write_bytes(add_checksum(without_checksum(file).replace(b',"stack":null', b"")) + b"\n")
    assert load_live(tmp_path) == [run] and list(seal_recording.verify(tmp_path)) == []


def test_runs_of_other_conditions_have_other_keys():
    keys = {live_record(count, meter).key for count in (1000, 3000) for meter in ("rss", "heap")}
    assert len(keys | {live_record(1000, window=10).key, live_record(1000, transport="plain").key}) == 6


def test_live_runs_are_sealed_and_verified_with_their_recording(tmp_path):
    runs = [live_record(1000), live_record(1000, "heap"), live_record(3000, status="failed")]
    for run in runs:
        append_live(tmp_path, run)
    assert list(seal_recording.verify(tmp_path)) == []
    (manifest,) = seal_recording.seal(tmp_path).values()
    assert (manifest.records, manifest.scenarios, manifest.statuses) == (3, {"live": 3}, {"failed": 1, "measured": 2})
    assert [file.name for file in sorted((tmp_path / "live").iterdir())] == ["manifest.json", "nginx.jsonl.zst"]
    assert load_live(tmp_path) == runs
    assert list(seal_recording.verify(tmp_path)) == []
    with pytest.raises(UserError, match="sealed and takes no more runs"):
        append_live(tmp_path, live_record(9900))


@pytest.fixture
def sealed_with_live_runs(tmp_path):
    """A sealed recording with runs of a harness and live runs."""
    synthetic.write(tmp_path / "runs", [synthetic.record("openssl@3.5.5", "tls13-rsa-aes256", 2)])
    append_live(tmp_path / "runs", live_record(1000))
    seal_recording.seal(tmp_path / "runs")
    assert list(seal_recording.verify(tmp_path / "runs")) == []
    return tmp_path / "runs"


@pytest.mark.parametrize(
    ("removed", "sentence"),
    [
        ("live", "live: missing: manifest.json of the recording has it; restore the directory from git or a copy"),
        ("live/manifest.json", "live: missing: manifest.json of the recording has it"),
        ("live/nginx.jsonl.zst", "live/nginx.jsonl.zst: missing: manifest.json has it; restore the file from git"),
        ("openssl@3.5.5.jsonl.zst", "openssl@3.5.5.jsonl.zst: missing: manifest.json has it; restore the file"),
    ],
)
def test_whatever_is_missing_of_a_sealed_recording_is_one_sentence(sealed_with_live_runs, removed, sentence):
    place = sealed_with_live_runs / removed
    shutil.rmtree(place) if place.is_dir() else place.unlink()
    (failure,) = seal_recording.verify(sealed_with_live_runs)
    assert failure.startswith(f"{sealed_with_live_runs}/{sentence}")


def test_sealing_again_names_live_runs_that_were_sealed_before_manifests_named_them(sealed_with_live_runs):
    file = sealed_with_live_runs / "manifest.json"
    named = file.read_bytes()
    older = {name: value for name, value in json.loads(named).items() if name != "directories"}
    file.write_text(json.dumps(older, indent=1) + "\n")
    assert list(seal_recording.verify(sealed_with_live_runs)) == []
    seal_recording.seal(sealed_with_live_runs)
    assert file.read_bytes() == named


def test_a_sealed_file_that_was_changed_is_named(tmp_path):
    append_live(tmp_path, live_record(1000))
    seal_recording.seal(tmp_path)
    file = tmp_path / "live/nginx.jsonl.zst"
    file.write_bytes(zstd.compress(zstd.decompress(file.read_bytes()).replace(b"nginx/1.22.1", b"nginx/1.22.2")))
    (failure,) = seal_recording.verify(tmp_path)
    assert "live/nginx.jsonl.zst: was changed after it was sealed" in failure


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"meter": "heap"}, "a run under the heap meter has live heap or lacks it"),
        ({"phases": list(reversed(live_record(1000).phases))}, "its phases do not end one after the other"),
        ({"samples": Samples(elapsed_s=[1.0], user_bytes=[], kernel_bytes=[])}, "not as many of each kind"),
        ({"phases": []}, "measured, but without phases"),
    ],
)
def test_figures_that_cannot_be_are_refused(tmp_path, change, sentence):
    append_live(tmp_path, live_record(1000).model_copy(update=change))
    (failure,) = seal_recording.verify(tmp_path)
    assert "nginx.jsonl: line 1: " in failure
    assert sentence in failure
