"""Runs of configurations are appended, sealed, read back as they were, and a line that was edited is named."""

import pytest

from tests.support.configured import configuration_record, configuration_records
from tlsmem.base.errors import UserError
from tlsmem.schema import seal_recording
from tlsmem.schema.checksum import add_checksum, remove_checksum
from tlsmem.schema.configuration_records import append_configuration, load_configuration
from tlsmem.schema.manifest import BadRecording


def record_all(recording):
    found = configuration_records()
    for one in found:
        append_configuration(recording, one)
    return found


def test_what_is_appended_is_read_back_also_when_it_is_sealed(tmp_path):
    found = record_all(tmp_path)
    assert load_configuration(tmp_path) == found
    (made,) = seal_recording.seal(tmp_path).values()
    assert (made.records, made.scenarios) == (len(found), {"configuration": len(found)})
    assert load_configuration(tmp_path) == found
    assert [*seal_recording.verify(tmp_path)] == []
    with pytest.raises(UserError, match="sealed and takes no more runs"):
        append_configuration(tmp_path, found[0])


def test_a_recording_without_them_has_none(tmp_path):
    assert load_configuration(tmp_path) == []


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda line: line.replace(b'"size":20', b'"size":21'), "its checksum does not match"),
        (remove_checksum, "its checksum does not match"),
        (lambda line: add_checksum(remove_checksum(line).replace(b'"size":20', b'"size":0')), "size"),
        (lambda line: add_checksum(remove_checksum(line).replace(b'"meter":"rss"', b'"meter":"heap"')), "live heap"),
    ],
)
def test_an_edited_line_is_named(tmp_path, change, sentence):
    append_configuration(tmp_path, configuration_record(20))
    file = tmp_path / "configuration/nginx.jsonl"
    line = file.read_bytes().rstrip(b"\n")
    assert change(line) != line
    file.write_bytes(change(line) + b"\n")
    with pytest.raises(BadRecording, match=rf"nginx\.jsonl: line 1.*{sentence}"):
        load_configuration(tmp_path)
