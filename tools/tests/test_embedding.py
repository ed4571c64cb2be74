"""Text put into a file: all of it, or what stood there."""

import pytest

import embedding


def test_a_file_keeps_its_mode_and_its_link(tmp_path):
    file, link = tmp_path / "file.md", tmp_path / "link.md"
    file.write_text("before")
    file.chmod(0o640)
    link.symlink_to(file)
    embedding.put(link, "after")
    assert (file.read_text(), file.stat().st_mode & 0o777, link.is_symlink()) == ("after", 0o640, True)
    assert len(list(tmp_path.iterdir())) == 2


def test_a_full_disk_leaves_the_file_as_it_was(small_disk):
    file = small_disk / "file.md"
    file.write_text("before")
    with pytest.raises(OSError, match=r"No space left on device: .*/file\.md"):
        embedding.put(file, "after " * 100_000)
    assert [one.name for one in small_disk.iterdir()] == ["file.md"]
    assert file.read_text() == "before"
