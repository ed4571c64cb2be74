"""Sums by bucket and largest call sites of a record from the cache are those of the record as it was parsed, and are
computed without its call stacks the next time."""

import json

import pytest

from tlsmem.base import memo
from tlsmem.base.paths import ROOT
from tlsmem.profile import sites_reader
from tlsmem.profile.buckets.sums import BucketSums
from tlsmem.schema import read_records, record_cache, recording_files
from tlsmem.tables import call_sites

PROCESSES = {"together": (None, "both"), "split": (None, "client", "server")}
FILES = {
    "together": ROOT / "data/2026-11-21-amd-epyc-2/openssl@3.5.5.jsonl",
    "split": ROOT / "data/2026-11-22-amd-epyc/wolfssl@5.9.4.jsonl",
}


@pytest.fixture(autouse=True)
def own_caches(tmp_path, monkeypatch):
    monkeypatch.setattr(record_cache, "FOLDER", tmp_path)
    monkeypatch.setattr(memo, "FILE", tmp_path / "results.sqlite")
    monkeypatch.setattr(memo, "pending", {})
    memo.open_results.cache_clear()
    yield
    memo.open_results.cache_clear()


def sites_runs(records):
    return [one for one in records if one.meter == "sites" and one.status == "measured"]


def load():
    """The sites runs of both files, from the cache where they were read before."""
    return [run for file in FILES.values() for run in sites_runs(read_records.load_file(file))]


@pytest.fixture(scope="module")
def parsed():
    files = map(recording_files.locate, FILES.values())
    lines = (line for file in files for line in recording_files.read_lines(file))
    return sites_runs(read_records.parse(line, str(number)) for number, line in lines)


def figures(run, process):
    sums = BucketSums(sites_reader.profile_from_record(run, process))
    roles = sums.roles()
    fullest = [sums.fullest(role) for role in roles]
    return json.dumps([sums.moments, roles, fullest, sums.by_moment()])


def test_sums_by_bucket_are_those_of_the_parsed_record(parsed):
    assert {run.roles for run in parsed} == set(PROCESSES)
    load()
    for _ in range(2):  # computed, and recalled
        for old, new in zip(parsed, load(), strict=True):
            for process in PROCESSES[old.roles]:
                assert figures(new, process) == figures(old, process)
                if process:
                    assert figures(new.select_process(process), None) == figures(old.select_process(process), None)


def test_the_second_time_no_call_stack_is_read(parsed, monkeypatch):
    load()
    first = [figures(run, None) for run in load()]
    monkeypatch.setattr(sites_reader, "read_profile", None)
    again = load()
    assert [figures(run, None) for run in again] == first
    assert not any("sites" in run.__dict__ for run in again)


def test_largest_call_sites_are_those_of_the_parsed_record(parsed):
    load()
    for _ in range(2):
        for old, new in zip(parsed, load(), strict=True):
            for role in ("client", "server"):
                ends = (old, new) if old.roles == "together" else (old.select_process(role), new.select_process(role))
                assert len({repr(list(call_sites.list_sites(one, role))) for one in ends}) == 1
