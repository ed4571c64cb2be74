"""Files of memtest/*.toml that cannot be read are one sentence, before anything is installed and afterwards."""

import subprocess

import pytest

from tests.support.commands import command_line
from tlsmem.base.errors import UserError
from tlsmem.base.paths import ROOT
from tlsmem.cli import checks
from tlsmem.config import definitions, toml_tables

DEEP_LIST = b"a = " + b"[" * 3000 + b"]" * 3000
DEEP_TABLE = b"[mine]\n" + b".".join([b"a"] * 3000) + b" = 1\n"
TOO_DEEP = "tables or lists stand in each other more than 32 levels deep"
UNREADABLE = [
    (DEEP_LIST, TOO_DEEP),
    (DEEP_TABLE, TOO_DEEP),
    (b"[mine]\nb = 1\nlicence = '\xff'\n", "line 3 is not UTF-8: byte 0xff"),
    (b"[mine\n", "Expected ']' at the end of a table declaration (at line 1, column 6)"),
]


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Definitions that are empty but for one file: written(kind, content)."""
    for kind in "stacks", "suites", "allocators", "campaigns", "cpus", "buckets":
        (tmp_path / f"{kind}.toml").touch()
    for module in (toml_tables, definitions):
        monkeypatch.setattr(module, "DEFINITIONS", tmp_path)
    return lambda kind, content: (tmp_path / f"{kind}.toml").write_bytes(content)


@pytest.mark.parametrize("kind", ["stacks", "suites", "allocators", "campaigns"])
@pytest.mark.parametrize(("content", "said"), UNREADABLE)
def test_what_is_no_toml_is_a_sentence_of_the_check_and_of_the_definitions(written, kind, content, said):
    written(kind, content)
    with pytest.raises(UserError) as refused:
        checks.check_definitions()
    assert (str(refused.value), refused.value.status) == (f"memtest/{kind}.toml: {said}", 2)
    with pytest.raises(UserError) as stop:
        definitions.check_definitions()
    assert str(stop.value).endswith(f"/{kind}.toml: {said}")


def test_buckets_likewise(written):
    written("buckets", DEEP_LIST)
    with pytest.raises(UserError, match=f"memtest/buckets.toml: {TOO_DEEP}"):
        definitions.check_definitions()


@pytest.mark.thorough
def test_no_command_ends_in_a_traceback(project):
    (project.root / "memtest/suites.toml").write_bytes(DEEP_LIST)
    for words in "build --check mem", "measure", "build":
        done = subprocess.run(command_line(words, project.root), capture_output=True, text=True)
        assert done.returncode in (1, 2) and done.stderr.count("\n") == 1
        assert done.stderr.endswith(f"memtest/suites.toml: {TOO_DEEP}\n")


@pytest.mark.parametrize(
    ("kind", "content", "said"),
    [
        ("suites", b"mine = 3\n", "memtest/suites.toml: [mine] must be a table"),
        ("campaigns", b"[mine]\nstacks = 3\n", "memtest/campaigns.toml: [mine]: stacks must be a list of names"),
        ("campaigns", b"[mine]\nsuites = [1]\n", "memtest/campaigns.toml: [mine]: suites must be a list of names"),
    ],
)
def test_what_the_check_itself_reads_is_of_its_type(written, kind, content, said):
    written(kind, content)
    with pytest.raises(UserError) as refused:
        checks.check_definitions()
    assert str(refused.value) == said


@pytest.mark.thorough
def test_a_long_chain_of_tables_that_are_like_others_is_read(written):
    links = "".join(f'[a{number}]\nlike = "a{number + 1}"\n' for number in range(1200))  # calls of Python end at 1000
    written("suites", f'{links}[a1200]\ngroup = "G"\n'.encode())
    assert toml_tables.read_tables("suites")["a0"] == {"group": "G"}


def test_the_files_of_the_repository_are_far_from_the_limit():
    for file in (ROOT / "memtest").glob("*.toml"):
        toml_tables.parse_toml(file.read_bytes())
