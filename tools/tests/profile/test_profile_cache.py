"""A profile that was read before comes from the cache, and from nowhere else once anything has changed."""

import pytest

from tests.support.heaptrack_text import TABLES, moments, written
from tlsmem.profile import heaptrack_reader, open_profile, profile_cache
from tlsmem.profile.heap_profile import END


@pytest.fixture
def reads(tmp_path, monkeypatch) -> list[str]:
    """Which files were read, and not taken from the cache."""
    files: list[str] = []
    read_profile = heaptrack_reader.read_profile
    monkeypatch.setattr(profile_cache, "FOLDER", tmp_path / "cache")
    monkeypatch.setattr(profile_cache, "LEAST_BYTES", 1)
    monkeypatch.setattr(
        heaptrack_reader, "read_profile", lambda file, *rest: files.append(file.name) or read_profile(file, *rest)
    )
    return files


def test_what_was_read_is_not_read_again(tmp_path, reads):
    file = written(tmp_path, "+ 0\n- 0\n+ 1\nc 5dc\n", end="")
    first, second = open_profile.open_profile(file), open_profile.open_profile(file)
    assert len(reads) == 1
    assert moments(first) == moments(second) and len(second.moments) == 3
    assert (first.stacks.nodes, first.stacks.places) == (second.stacks.nodes, second.stacks.places)
    assert [first.stacks.owner(stack) for stack in range(4)] == [second.stacks.owner(stack) for stack in range(4)]
    for name in ("tool", "file", "command", "allocated", "sizes", "runtime_s", "warnings", "torn"):
        assert getattr(first, name) == getattr(second, name)
    assert first.torn


def test_a_file_that_changed_is_read_anew(tmp_path, reads):
    open_profile.open_profile(written(tmp_path, "+ 1\n"))
    assert open_profile.open_profile(written(tmp_path, "+ 2\n")).moments[END].bytes == 32
    assert len(reads) == 2
    assert len(list((tmp_path / "cache").iterdir())) == 1


def test_a_profile_has_the_name_under_which_it_is_opened(tmp_path, reads):
    file = written(tmp_path, "+ 1\n")
    link = tmp_path / "link"
    link.symlink_to(file)
    assert [open_profile.open_profile(one).file for one in (file, link)] == [str(file), str(link)]
    assert len(reads) == 1


def test_other_code_reads_anew(tmp_path, reads, monkeypatch):
    file = written(tmp_path, "+ 1\n")
    open_profile.open_profile(file)
    monkeypatch.setattr(profile_cache, "digest_code", lambda patterns: b"other")
    open_profile.open_profile(file)
    assert len(reads) == 2


def test_names_that_stay_mangled_are_not_kept(tmp_path, reads, monkeypatch):
    monkeypatch.setattr("tlsmem.profile.demangle.CXXFILT", ["no-such-program"])
    file = written(tmp_path, "+ 1\n", TABLES.replace("s 5 other", "s 8 _Z3foov1"))
    for _ in range(2):
        assert "mangled" in "".join(open_profile.open_profile(file).warnings)
    assert len(reads) == 2


def test_a_cache_that_is_cut_off_or_cannot_be_written_is_none(tmp_path, reads):
    file = written(tmp_path, "+ 1\n")
    open_profile.open_profile(file)
    (cached,) = (tmp_path / "cache").iterdir()
    cached.write_bytes(cached.read_bytes()[:-9])
    assert open_profile.open_profile(file).moments[END].bytes == 16
    cached.unlink()
    cached.parent.rmdir()
    cached.parent.write_text("no directory")
    assert open_profile.open_profile(file).moments[END].bytes == 16
    assert len(reads) == 3


def test_a_small_file_is_not_kept(tmp_path, reads, monkeypatch):
    monkeypatch.setattr(profile_cache, "LEAST_BYTES", 1 << 20)
    open_profile.open_profile(written(tmp_path, "+ 1\n"))
    assert not (tmp_path / "cache").exists()
