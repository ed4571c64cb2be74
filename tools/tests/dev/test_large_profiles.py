"""Large profiles, smaller here: each profiler that is installed takes one, which is read."""

import shutil

import pytest

import large_profiles
from tlsmem.profile.open_profile import open_profile

SCALE = 1 / 3000


@pytest.mark.thorough
@pytest.mark.skipif(not shutil.which("gcc"), reason="gcc is not installed")
def test_each_profiler_s_file_has_the_program_s_call_stacks(tmp_path):
    profiles = [*large_profiles.take_profiles(tmp_path, SCALE)]
    assert [one.name for one in profiles] == [one.name for one in large_profiles.list_profiles(tmp_path, SCALE)]
    for profile in profiles:
        found = open_profile(profile.file)
        assert found.tool == profile.name.lower()
        (fullest,) = sorted(found.moments.values(), key=lambda moment: moment.bytes)[-1:]
        assert len(fullest.live) > 5, profile.name
    times = {one.file: one.file.stat().st_mtime_ns for one in profiles}
    assert [*large_profiles.take_profiles(tmp_path, SCALE)] == profiles
    assert {one.file: one.file.stat().st_mtime_ns for one in profiles} == times


def test_what_is_not_installed_is_not_taken(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None if name in ("go", "valgrind") else name)
    names = {one.name for one in large_profiles.list_profiles(tmp_path)}
    assert {"heaptrack", "jemalloc"} <= names and not names & {"massif", "DHAT", "pprof"}
