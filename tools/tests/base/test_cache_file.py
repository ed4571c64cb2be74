"""What comes out of a cache is what went in, under the same key; anything else is none."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tlsmem.base import cache_file
from tlsmem.base.cache_file import (
    KEY_BYTES,
    PACKAGE,
    cache_place,
    compute_digest,
    digest_code,
    read_cache,
    write_cache,
)

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


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package: base/a.py imports schema/b.py, which imports the reader of memtest/*.toml inside a function."""
    monkeypatch.setattr(cache_file, "PACKAGE", tmp_path / "tlsmem")
    monkeypatch.setattr(cache_file, "REQUIREMENTS", tmp_path / "requirements.txt")
    monkeypatch.setattr(cache_file, "DEFINITIONS", tmp_path / "memtest")
    for name, content in {
        "requirements.txt": "numpy",
        "more.toml": "a = 1",
        "memtest/stacks.toml": "[one]",
        "tlsmem/base/a.py": "from tlsmem.schema import (\n    b,\n)\n",
        "tlsmem/schema/__init__.py": "",
        "tlsmem/schema/b.py": "def f():\n    from tlsmem.config.toml_tables import read_tables\n",
        "tlsmem/schema/unrelated.py": "",
        "tlsmem/config/toml_tables.py": "",
    }.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    forget()
    yield tmp_path
    forget()


def forget():
    """What the process has read of the package so far."""
    for function in (digest_code, cache_file.find_imported, cache_file.find_module):
        function.cache_clear()


@pytest.mark.parametrize(
    "changed",
    [
        "requirements.txt",
        "more.toml",
        "memtest/stacks.toml",
        "tlsmem/base/a.py",
        "tlsmem/schema/__init__.py",
        "tlsmem/schema/b.py",
        "tlsmem/config/toml_tables.py",
    ],
)
def test_the_digest_of_code_covers_imported_modules_definitions_and_versions(package, changed):
    before = digest_code(("base/*.py",), (package / "more.toml",))
    (package / changed).write_text((package / changed).read_text() + "# changed\n")
    assert digest_code(("base/*.py",), (package / "more.toml",)) == before, "read once in a process"
    forget()
    assert digest_code(("base/*.py",), (package / "more.toml",)) != before


def test_the_digest_of_code_does_not_cover_other_modules(package):
    before = digest_code(("base/*.py",))
    (package / "tlsmem/schema/unrelated.py").write_text("# changed\n")
    forget()
    assert digest_code(("base/*.py",)) == before


def test_every_import_of_the_package_is_found():
    """By Python's own parser: a name of `from A import B` is a module or something in one."""
    for module in PACKAGE.rglob("*.py"):
        names = set[str]()
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0 and node.module, f"{module}: a relative import"
                names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        files = {file for name in names if name.startswith("tlsmem") and (file := cache_file.find_module(name))}
        assert files <= cache_file.find_imported(module), module


@pytest.mark.parametrize(
    ("root", "imported"),
    [
        ("profile/sites_reader.py", "stats/session_cost.py"),  # divides the bytes that a cache of sites profiles holds
        ("profile/sites_reader.py", "config/definitions.py"),  # reads the rules by which they are sorted into buckets
        ("tables/call_sites.py", "stats/session_cost.py"),
        ("schema/read_records.py", "schema/records.py"),
        ("profile/open_profile.py", "profile/heaptrack_reader.py"),
    ],
)
def test_what_decides_a_cached_result_is_in_its_import_closure(root, imported):
    assert PACKAGE / imported in cache_file.import_closure([PACKAGE / root])
