"""The record beside a profile: it says which file it is of, and there is never one without its whole profile."""

import hashlib
import json
import os
from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.support.synthetic import failed, record
from tlsmem.profile import profile_metadata
from tlsmem.profile.errors import Unreadable
from tlsmem.profile.profile_metadata import ProfileRecord

CONTENT = b"a profile"
RUN = record("null@c", "none", 2)
NAME = "null@c.none.2.heaptrack.zst"


def made(**changes) -> ProfileRecord:
    fields = {"tool": "heaptrack", "tool_version": "1.4.0", "command": ["heaptrack", "true"], "file": NAME}
    fields |= {"file_sha256": hashlib.sha256(CONTENT).hexdigest(), "run": RUN}
    return ProfileRecord(**fields | changes)


def renamed(phase: str):
    """RUN, whose first phase has this name."""
    return RUN.model_copy(update={"phases": [RUN.phases[0].model_copy(update={"phase": phase}), *RUN.phases[1:]]})


def saved(folder: Path, **changes) -> Path:
    profile = folder / "scratch"
    profile.write_bytes(CONTENT)
    found = made(**changes)
    profile_metadata.save(found, folder / "null@c.none.2.heaptrack.json", profile)
    return folder / NAME


def said(call, *arguments) -> str:
    with pytest.raises(Unreadable) as refused:
        call(*arguments)
    return str(refused.value)


def test_what_was_saved_is_found_beside_its_profile(tmp_path):
    file = saved(tmp_path)
    assert profile_metadata.load_record_beside(file) == profile_metadata.load(file.with_suffix(".json")) == made()
    assert file.read_bytes() == CONTENT


def test_a_profile_that_nobody_recorded_has_no_record(tmp_path):
    assert profile_metadata.load_record_beside(tmp_path / "heaptrack.app.123.zst") is None
    assert profile_metadata.load_record_beside(saved(tmp_path).with_suffix(".json")) is None


def test_a_profile_that_is_not_the_one_recorded_is_a_sentence(tmp_path):
    file = saved(tmp_path)
    file.write_bytes(CONTENT[:-1])
    wrong = f"{file}: not the profile that {file.stem}.json beside it records: its SHA-256 is another"
    assert said(profile_metadata.load_record_beside, file) == wrong


def test_the_record_of_another_file_is_a_sentence(tmp_path):
    other = saved(tmp_path).with_suffix(".gz")
    other.write_bytes(CONTENT)
    assert said(profile_metadata.load_record_beside, other).endswith(f"is the record of {NAME}")


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", json.dumps({"schema": 2}), made().to_json().replace('"run"', '"ran"')]
)
def test_no_record_is_a_sentence_that_names_the_file(tmp_path, text):
    file = tmp_path / "x.json"
    file.write_text(text)
    assert said(profile_metadata.load, file).startswith(f"{file}: no record of a profile of schema 1: ")


def test_what_cannot_be_read_is_a_sentence(tmp_path):
    assert said(profile_metadata.load, tmp_path / "none.json").endswith(
        "none.json: cannot read it: No such file or directory"
    )
    file = saved(tmp_path)
    file.unlink()
    assert said(profile_metadata.load_record_beside, file).endswith("cannot read it: No such file or directory")


def test_a_pipe_in_the_place_of_a_record_is_a_sentence(tmp_path):
    place = saved(tmp_path).with_suffix(".json")
    place.unlink()
    os.mkfifo(place)
    assert said(profile_metadata.load_record_beside, place.with_suffix(".zst")) == f"{place}: not a regular file"
    assert said(profile_metadata.sha256, place) == f"{place}: not a regular file"


def test_a_sentence_is_ours(tmp_path):
    file = tmp_path / "x.json"
    file.write_text(json.dumps(json.loads(made().to_json()) | {"file": None}))
    wrong = "a profile has a file and its checksum, and a sites run neither"
    assert said(profile_metadata.load, file) == f"{file}: no record of a profile of schema 1: {wrong}"


@pytest.mark.parametrize(
    "changes",
    [
        {"file": None},
        {"file": None, "file_sha256": None},
        {"file_sha256": "no checksum"},
        {"file": f"elsewhere/{NAME}"},
        {"tool": "perf"},
        {"tool": "sites"},
        {"tool": "sites", "file": None, "file_sha256": None},  # of a run under another meter
        {"run": failed("null@c", "none", 2, "killed by SIGSEGV")},
        {"run": record("null@c", "none", 2, "heap")},
        {"run": RUN.model_copy(update={"sessions": 4})},
        *({"run": renamed(name)} for name in ("peak", "end", "")),
        {"more": 1},
    ],
)
def test_a_record_that_contradicts_itself_is_refused(changes):
    with pytest.raises(ValidationError):
        made(**changes)


def test_a_sites_run_has_no_file():
    made(tool="sites", file=None, file_sha256=None, run=record("null@c", "none", 2, "sites"))


@pytest.mark.parametrize("keeps", [0, 1])
def test_a_full_disk_leaves_what_was_there_and_nothing_half(small_disk, tmp_path, keeps):
    if keeps:
        saved(small_disk)
        (small_disk / "scratch").unlink()
    large = tmp_path / "large"
    large.write_bytes(bytes(1 << 20))
    with pytest.raises(OSError, match="No space left"):
        profile_metadata.save(made(), small_disk / "null@c.none.2.heaptrack.json", large)
    kept = sorted(file.name for file in small_disk.iterdir())
    assert kept == ["null@c.none.2.heaptrack.json", NAME] * keeps
    assert not keeps or profile_metadata.load_record_beside(small_disk / NAME) == made()


def test_without_room_for_its_record_a_profile_is_not_kept(small_disk):
    with pytest.raises(OSError, match="No space left"):
        saved(small_disk, command=["word" * 10_000])
    assert [file.name for file in small_disk.iterdir()] == ["scratch"]
