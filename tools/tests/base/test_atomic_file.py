"""A file is replaced whole, or is what it was."""

import os

import pytest

from tlsmem.base.atomic_file import replace_file


def test_a_file_keeps_its_mode_and_its_link(tmp_path):
    file, link = tmp_path / "file.md", tmp_path / "link.md"
    file.write_text("before")
    file.chmod(0o640)
    link.symlink_to(file)
    with file.open() as opened:
        with replace_file(link) as beside:
            beside.write_text("after")
        assert opened.read() == "before", "who reads it has all of what it was"
    assert (file.read_text(), file.stat().st_mode & 0o777, link.is_symlink()) == ("after", 0o640, True)
    assert len(list(tmp_path.iterdir())) == 2


def test_a_new_file_has_the_usual_mode(tmp_path):
    with replace_file(tmp_path / "new") as beside:
        beside.touch()
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o666 & ~os.umask(os.umask(0o022))


def test_a_full_disk_leaves_the_file_as_it_was(small_disk):
    file = small_disk / "file.md"
    file.write_text("before")
    with pytest.raises(OSError, match=r"No space left on device: .*/file\.md"), replace_file(file) as beside:
        beside.write_text("after " * 100_000)
    assert [one.name for one in small_disk.iterdir()] == ["file.md"]
    assert file.read_text() == "before"


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, FileNotFoundError(2, "No such file", "another")])
def test_an_error_within_is_raised_and_leaves_the_file_as_it_was(tmp_path, error):
    file = tmp_path / "file"
    file.write_text("before")
    with pytest.raises(error if isinstance(error, type) else type(error)) as raised, replace_file(file) as beside:
        beside.write_text("half")
        raise error
    assert [one.read_text() for one in tmp_path.iterdir()] == ["before"]
    assert getattr(raised.value, "filename", "another") == "another"


@pytest.mark.parametrize("folder", ["none", "file"])
def test_a_directory_that_is_not_there_is_an_error_of_the_file(tmp_path, folder):
    (tmp_path / "file").touch()
    place = tmp_path / folder / "new"
    with pytest.raises(OSError) as raised, replace_file(place) as beside:
        beside.touch()
    assert raised.value.filename == str(place)
