"""Sums by bucket and largest call sites of a record are the same when they are recalled, without its call stacks."""

import json

import pytest

from tlsmem.base import memo
from tlsmem.base.paths import ROOT
from tlsmem.profile import sites_reader
from tlsmem.profile.buckets.sums import BucketSums
from tlsmem.store import read_runs
from tlsmem.tables import call_sites

BOTH = ("client", "server")
PROCESSES = {"together": (None, "both"), "split": (None, "client", "server")}
FILES = {
    "together": ROOT / "data/2026-11-21-amd-epyc-2/openssl@3.5.5.jsonl",
    "split": ROOT / "data/2026-11-22-amd-epyc/wolfssl@5.9.4.jsonl",
}


@pytest.fixture(autouse=True)
def own_results(tmp_path, monkeypatch):
    monkeypatch.setattr(memo, "FILE", tmp_path / "results.sqlite")
    monkeypatch.setattr(memo, "pending", {})
    memo.open_results.cache_clear()
    yield
    memo.open_results.cache_clear()


def load():
    """Return the sites runs of both files."""
    found = [run for file in FILES.values() for run in read_runs.load(file)]
    return [run for run in found if run.meter == "sites" and run.status == "measured"]


def figures(run, process):
    sums = BucketSums(sites_reader.profile_from_record(run, process))
    roles = sums.roles()
    fullest = [sums.fullest(role) for role in roles]
    return json.dumps([sums.moments, roles, fullest, sums.by_moment()])


def all_figures():
    """Return those of all runs and processes; each process is the same when it was selected before."""
    found = []
    for run in load():
        for process in PROCESSES[run.roles]:
            found.append(figures(run, process))
            assert process is None or figures(run.select_process(process), None) == found[-1]
    return found


def test_the_second_time_no_call_stack_is_read(monkeypatch):
    assert {run.roles for run in load()} == set(PROCESSES)
    first = all_figures()
    monkeypatch.setattr(sites_reader, "read_profile", None)
    assert all_figures() == first


def test_largest_call_sites_are_the_same_when_they_are_recalled():
    def listed():
        runs = [one for run in load() for one in ([run] if run.roles == "together" else map(run.select_process, BOTH))]
        return [[repr(list(call_sites.list_sites(run, role))) for role in BOTH] for run in runs]

    assert listed() == listed()
