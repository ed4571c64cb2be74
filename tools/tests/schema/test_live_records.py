"""Live runs are appended, read back as they were, and a line that is none is named."""

import pytest

from tests.support.live import live_record
from tlsmem.schema.live_records import append_live, load_live
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
