"""What comes out of a cache is what went in, under the same key; anything else is none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tlsmem.base import cache_file
from tlsmem.base.cache_file import KEY_BYTES, cache_place, compute_digest, digest_code, read_cache, write_cache

KEY, OTHER = compute_digest(b"key"), compute_digest(b"other")


@pytest.fixture
def place(tmp_path):
    return tmp_path / "cache/one.cache"


def test_what_was_written_is_read(place):
    write_cache(place, KEY, b"content")
    assert read_cache(place, KEY) == b"content"
    assert list(place.parent.iterdir()) == [place]


def test_another_key_has_none_and_replaces(place):
    write_cache(place, KEY, b"content")
    assert read_cache(place, OTHER) is None
    write_cache(place, OTHER, b"")
    assert (read_cache(place, KEY), read_cache(place, OTHER)) == (None, b"")


def test_no_file_an_empty_one_and_a_folder_are_none(place):
    assert read_cache(place, KEY) is None
    place.parent.mkdir()
    place.touch()
    assert read_cache(place, KEY) is None
    place.unlink()
    place.mkdir()
    assert read_cache(place, KEY) is None


@given(at=st.integers(0, 2 * KEY_BYTES + 6), bit=st.integers(0, 7))
def test_a_flipped_bit_is_found(tmp_path_factory, at, bit):
    place = tmp_path_factory.mktemp("cache") / "one.cache"
    write_cache(place, KEY, b"content")
    damaged = bytearray(place.read_bytes())
    damaged[at] ^= 1 << bit
    place.write_bytes(damaged)
    assert read_cache(place, KEY) is None


def test_a_file_that_is_cut_off_is_none(place):
    write_cache(place, KEY, b"content")
    whole = place.read_bytes()
    for size in range(len(whole)):
        place.write_bytes(whole[:size])
        assert read_cache(place, KEY) is None


def test_a_place_that_cannot_be_written_is_no_error(place):
    place.parent.write_text("a file, and no folder")
    write_cache(place, KEY, b"content")
    assert read_cache(place, KEY) is None


def test_a_file_has_one_place_whatever_it_is_called(tmp_path):
    file, link = tmp_path / "file", tmp_path / "link"
    file.touch()
    link.symlink_to(file)
    assert cache_place(tmp_path, file) == cache_place(tmp_path, link) != cache_place(tmp_path, tmp_path / "other")


@pytest.mark.parametrize("changed", ["requirements.txt", "tlsmem/base/a.py", "more.toml"])
def test_code_is_its_modules_other_files_and_the_versions_of_packages(tmp_path, monkeypatch, changed):
    monkeypatch.setattr(cache_file, "PACKAGE", tmp_path / "tlsmem")
    monkeypatch.setattr(cache_file, "REQUIREMENTS", tmp_path / "requirements.txt")
    (tmp_path / "tlsmem/base").mkdir(parents=True)
    for name in ("requirements.txt", "tlsmem/base/a.py", "more.toml"):
        (tmp_path / name).write_text("before")
    digest_code.cache_clear()
    before = digest_code(("base/*.py",), (tmp_path / "more.toml",))
    (tmp_path / changed).write_text("after")
    assert digest_code(("base/*.py",), (tmp_path / "more.toml",)) == before, "read once in a process"
    digest_code.cache_clear()
    assert digest_code(("base/*.py",), (tmp_path / "more.toml",)) != before
    digest_code.cache_clear()
