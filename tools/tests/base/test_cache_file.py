"""A digest of code changes with all that the code imports, and with nothing else."""

import ast

import pytest

from tlsmem.base import cache_file
from tlsmem.base.cache_file import (
    PACKAGE,
    digest_code,
)

NAMING = '''"""Not tlsmem.schema.unrelated."""

def f():
    from tlsmem.config.toml_tables import read_tables
'''


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package: base/a.py imports schema/b.py, which imports the reader of memtest/*.toml inside a function."""
    monkeypatch.setattr(cache_file, "PACKAGE", tmp_path / "tlsmem")
    monkeypatch.setattr(cache_file, "REQUIREMENTS", (tmp_path / "requirements.txt",))
    monkeypatch.setattr(cache_file, "DEFINITIONS", tmp_path / "memtest")
    for name, content in {
        "requirements.txt": "numpy",
        "more.toml": "a = 1",
        "memtest/stacks.toml": "[one]",
        "tlsmem/base/a.py": "from tlsmem.schema import (\n    b,\n)\n",
        "tlsmem/schema/__init__.py": "",
        "tlsmem/schema/b.py": NAMING,
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


@pytest.mark.thorough
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
