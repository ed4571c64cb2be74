"""A harness is linked with what is installed at PREFIX=, static or shared, and changes when that does."""

import json
import subprocess

import pytest

from tests.build.test_harness import clone
from tlsmem.build import harness
from tlsmem.build.commands import BuildFailed
from tlsmem.config.definitions import Stack

STACK = Stack(harness="c", driver="null", licence="mine", prefix=True, libraries=["libtiny"])


@pytest.fixture
def root(tmp_path):
    return clone(tmp_path / "clone")


@pytest.fixture
def installed(tmp_path):
    """installed("lib64", ".so", what it says) installs the library."""
    at = tmp_path / "prefix"

    def install(folder, ending, says="x"):
        (at / "include").mkdir(parents=True, exist_ok=True)
        (at / folder).mkdir(exist_ok=True)
        (tmp_path / "tiny.c").write_text(f'const char *tiny(void) {{ return "{says}"; }}\n')
        where = at / folder / f"libtiny{ending}"
        if ending == ".so":
            subprocess.run(["gcc", "-shared", "-fPIC", tmp_path / "tiny.c", "-o", where], check=True)
        else:
            subprocess.run(["gcc", "-c", tmp_path / "tiny.c", "-o", tmp_path / "tiny.o"], check=True)
            subprocess.run(["ar", "rcD", where, tmp_path / "tiny.o"], check=True)
        return at

    return install


def refusal(root, at):
    with pytest.raises(BuildFailed) as refused:
        harness.build("tiny@path", STACK, root, at)
    assert not (root / "build/harness/tiny@path.json").exists()
    return str(refused.value)


def dynamic(root):
    return subprocess.run(
        ["readelf", "-dW", root / "build/harness/tiny@path"], capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.parametrize("folder", ["lib", "lib64"])
def test_a_static_library_is_linked_and_its_manifest_says_from_where(root, installed, folder):
    at = installed(folder, ".a")
    assert harness.build("tiny@path", STACK, root, at) == "built"
    assert harness.build("tiny@path", STACK, root, at) == "up to date"
    assert json.loads((root / "build/harness/tiny@path.json").read_text())["source"] == {"prefix": str(at)}
    assert str(at) not in dynamic(root)


@pytest.mark.thorough
def test_a_shared_library_is_found_where_it_is_and_another_is_another_harness(root, installed):
    at = installed("lib64", ".so")
    made = []
    for says in "xy":
        installed("lib64", ".so", says)
        assert harness.build("tiny@path", STACK, root, at) == "built"
        made.append((root / "build/harness/tiny@path").read_bytes())
    assert f"[{at}/lib64]" in dynamic(root) and made[0] != made[1]


def test_what_is_not_there_is_a_sentence_with_what_was_looked_for(root, installed, tmp_path):
    assert "PREFIX=DIRECTORY is missing" in refusal(root, None)
    assert f"there is no {tmp_path}/include" in refusal(root, tmp_path)
    at = installed("lib", ".a")
    (at / "lib/libtiny.a").unlink()
    said = refusal(root, at)
    assert f"PREFIX={at}" in said and "lib64/libtiny.a, lib64/libtiny.so, lib/libtiny.a, lib/libtiny.so" in said
