"""Records from the cache are those of the file, and the cache is never older than the file."""

import json

import pytest

from tests.support import planted, synthetic
from tlsmem.base.errors import UserError
from tlsmem.schema import read_records, record_cache, recording_files

STACK, SUITE = "openssl@3.5.5", "tls13-rsa-aes256"
SPLIT = {"roles": "split"}


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(record_cache, "FOLDER", tmp_path / "cache")
    monkeypatch.setattr(record_cache, "LEAST_BYTES", 0)


@pytest.fixture
def file(tmp_path):
    runs = [synthetic.record(STACK, SUITE, n, meter) for n in (100, 200) for meter in ("rss", "heap")]
    runs.append(synthetic.record(STACK, SUITE, 100, "heap", **SPLIT))
    runs += [planted.run("sites", 200, temporary=planted.TEMPORARY), planted.run("sites", 400)]
    runs.append(planted.run("sites", 600, momentary=planted.MOMENTARY))
    runs.append(synthetic.failed(STACK, SUITE, 400, "killed"))
    written = tmp_path / f"{STACK}.jsonl"
    written.write_bytes(b"".join(one.to_json_line() for one in runs))
    return written


@pytest.fixture
def parsed(monkeypatch):
    """Places of the lines that were parsed."""
    places = []

    def parse(line, place):
        places.append(place)
        return original(line, place)

    original = read_records.parse
    monkeypatch.setattr(read_records, "parse", parse)
    return places


def read_twice(file):
    """Parsed, and from the cache."""
    lines = recording_files.read_lines(file)
    first = [read_records.parse(line, f"{file}: line {n}") for n, line in lines]
    read_records.load_file(file)
    return first, read_records.load_file(file)


def test_a_file_is_parsed_once(file, parsed):
    first, second = read_records.load_file(file), read_records.load_file(file)
    assert len(parsed) == len(first)
    assert first == second


def test_records_from_the_cache_are_those_of_the_file(file):
    first, second = read_twice(file)
    assert not any(isinstance(one, record_cache.CachedRecord) for one in first)
    assert all(isinstance(one, record_cache.CachedRecord) for one in second)
    assert [one.to_json_line() for one in second] == file.read_bytes().splitlines(keepends=True)
    assert first == second == first


def test_bulk_is_read_when_it_is_asked_for(file):
    _, (one, *_) = read_twice(file)
    assert "phases" not in one.__dict__
    assert one.phases == read_records.load_file(file)[0].phases
    assert "phases" in one.__dict__


def test_a_process_of_a_split_run_has_its_phases_alone(file):
    first, second = read_twice(file)
    for old, new in zip(first, second, strict=True):
        if old.roles == "split":
            for process in ("client", "server"):
                assert new.select_process(process).phases == old.select_process(process).phases
                assert {phase.process for phase in new.select_process(process).phases} == {process}
            assert new.select_process("client").bulk_digest() != new.select_process("server").bulk_digest()
            assert len(new.phases) == len(old.phases)


@pytest.mark.parametrize("change", ["file", "code"])
def test_what_has_changed_is_read_anew(file, monkeypatch, parsed, change):
    read_twice(file)
    if change == "file":
        lines = file.read_bytes().splitlines(keepends=True)
        file.write_bytes(b"".join(lines[1:]))
    else:
        monkeypatch.setattr(record_cache, "digest_code", lambda patterns: b"other")
    parsed.clear()
    found = read_records.load_file(file)
    assert len(parsed) == len(found)
    assert [one.to_json_line() for one in found] == file.read_bytes().splitlines(keepends=True)


def test_a_bad_line_is_named_though_the_file_was_in_the_cache(file):
    read_twice(file)
    lines = file.read_bytes().splitlines(keepends=True)
    fields = json.loads(lines[2]) | {"sessions": 4}
    file.write_bytes(b"".join([*lines[:2], json.dumps(fields).encode() + b"\n", *lines[3:]]))
    with pytest.raises(UserError, match="line 3"):
        read_records.load_file(file)


def test_a_line_that_was_cut_off_is_told_at_each_reading(file):
    file.write_bytes(file.read_bytes()[:-20])
    for _ in range(2):
        recording_files.skipped_lines.clear()
        read_records.load_file(file)
        assert len(recording_files.skipped_lines) == 1


def test_a_cache_that_cannot_be_written_is_no_error(file, monkeypatch):
    monkeypatch.setattr(record_cache, "FOLDER", file)
    first, second = read_twice(file)
    assert first == second


@pytest.mark.parametrize("damage", [lambda cached: cached[:40], lambda cached: cached[:32] + b"\xff" * 8 + cached[40:]])
def test_a_damaged_cache_is_read_as_none(file, damage):
    first, _ = read_twice(file)
    (cached,) = record_cache.FOLDER.glob("*.cache")
    cached.write_bytes(damage(cached.read_bytes()))
    assert read_records.load_file(file) == first


def test_phases_of_a_split_run_are_read_once_for_all_its_processes(file):
    """Of each process that is asked for again, too."""
    _, records = read_twice(file)
    (split,) = (one for one in records if one.roles == "split")
    for _ in range(2):
        apart = [phase for process in ("client", "server") for phase in split.select_process(process).phases]
        assert sorted(map(id, apart)) == sorted(map(id, split.phases))


def test_call_stacks_are_not_kept(file):
    _, records = read_twice(file)
    run = next(one for one in records if one.meter == "sites")
    sites = [phase.sites for phase in run.phases]
    assert run.sites and any(one.live for one in sites)
    assert "sites" not in run.__dict__ and not any("live" in one.__dict__ for one in sites)
