"""The cache outside the clone gives back what was made of the same, whole or not at all."""

import shutil

import pytest

from tests.build.test_harness import clone, root, tiny  # noqa: F401
from tlsmem.build import cache, compiler_flags, harness
from tlsmem.build.commands import BuildFailed
from tlsmem.build.stamps import sha256


@pytest.fixture
def kept(tmp_path, monkeypatch):
    place = tmp_path / "kept"
    monkeypatch.setenv("MEMTEST_CACHE", str(place))
    return place


def steps(place):
    """How many steps of the library were made in the last build there."""
    log = place / "build/logs/tiny@1.log"
    return log.read_text().count("$ make") if log.exists() else 0


@pytest.mark.thorough
def test_a_second_clone_builds_nothing_twice(root, tmp_path, kept):  # noqa: F811
    other = clone(tmp_path / "other")
    stack = tiny(root, include=["."], steps=[*tiny(root).steps, "cp {source}/tiny.c tiny.h", "mkdir CMakeFiles"])
    assert harness.build("tiny@1", stack, root) == "built"
    assert harness.build("tiny@1", stack, other) == "from the cache" and steps(other) == 0
    paths = "build/harness/tiny@1", "build/stacks/tiny@1/libtiny.a", "build/stacks/tiny@1/tiny.h"
    assert all(sha256(root / path) == sha256(other / path) for path in paths)
    assert not (other / "build/stacks/tiny@1/tiny.o").exists()
    assert harness.build("tiny@1", stack, other) == "up to date"
    assert not list(kept.rglob("partial-*"))


@pytest.mark.thorough
def test_other_flags_or_steps_are_another_entry(root, tmp_path, kept, monkeypatch):  # noqa: F811
    harness.build("tiny@1", tiny(root), root)
    assert harness.build("tiny@1", tiny(root, steps=[*tiny(root).steps, "true"]), clone(tmp_path / "b")) == "built"
    monkeypatch.setattr(compiler_flags, "CFLAGS", f"{compiler_flags.CFLAGS} -DOTHER")
    assert harness.build("tiny@1", tiny(root), clone(tmp_path / "c")) == "built"


@pytest.mark.parametrize("kind", ["library", "harness"])
def test_a_damaged_entry_is_told_and_made_again(root, tmp_path, kept, capsys, kind):  # noqa: F811
    harness.build("tiny@1", tiny(root), root)
    [entry] = (kept / kind).iterdir()
    entry.write_bytes(entry.read_bytes()[:-1] + b"?")
    whole = sha256(root / "build/harness/tiny@1")
    shutil.rmtree(root / "build/harness")
    shutil.rmtree(root / "build/stacks")
    harness.build("tiny@1", tiny(root), root)
    assert f"{entry} is damaged" in capsys.readouterr().err and steps(root) == (kind == "library")
    assert sha256(root / "build/harness/tiny@1") == whole and len(list((kept / kind).iterdir())) == 1
    assert cache.find_entries(kind, entry.name.partition("-")[0])[0].name == entry.name


def test_an_archive_of_a_source_is_taken_back_whole_or_not(tmp_path, kept, capsys):
    archive, sum_ = tmp_path / "a.orig", "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752"
    archive.write_text("test2")
    cache.store_source(sum_, archive)
    assert cache.restore_source(sum_, tmp_path / "b.orig", "a@1") and (tmp_path / "b.orig").read_text() == "test2"
    (kept / "sources" / sum_).write_text("test3")
    assert not cache.restore_source(sum_, tmp_path / "c.orig", "a@1") and "is damaged" in capsys.readouterr().err
    assert not (kept / "sources" / sum_).exists() and not (tmp_path / "c.orig").exists()


@pytest.mark.thorough
def test_without_it_nothing_is_kept(root, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setenv("MEMTEST_CACHE", "")
    assert harness.build("tiny@1", tiny(root), root) == "built"
    assert harness.build("tiny@1", tiny(root), clone(tmp_path / "other")) == "built"


def test_where_nothing_can_be_kept_is_a_sentence(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("MEMTEST_CACHE", str(tmp_path / "file/below"))
    with pytest.raises(BuildFailed) as refused:
        cache.check_writable()
    assert str(refused.value).endswith("file/below: nothing can be kept there: Not a directory")


@pytest.mark.thorough
def test_what_was_built_before_a_cache_was_asked_for_is_kept_there_too(root, tmp_path, monkeypatch):  # noqa: F811
    harness.build("tiny@1", tiny(root), root)
    monkeypatch.setenv("MEMTEST_CACHE", str(tmp_path / "kept"))
    assert harness.build("tiny@1", tiny(root), root) == "up to date"
    assert harness.build("tiny@1", tiny(root), clone(tmp_path / "other")) == "from the cache"
