"""Live runs are appended, read back as they were, and a line that is none is named."""

import pytest
from backports import zstd

from tests.support.live import live_record
from tlsmem.schema import seal_recording
from tlsmem.schema.live_records import Samples, append_live, load_live
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
    file.write_text(file.read_text() + file.read_text().replace('"window":1000', '"window":0'))
    with pytest.raises(BadRecording, match=r"nginx\.jsonl: line 2: window"):
        load_live(tmp_path)


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
    with pytest.raises(SystemExit, match="sealed and takes no more runs"):
        append_live(tmp_path, live_record(9900))


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
