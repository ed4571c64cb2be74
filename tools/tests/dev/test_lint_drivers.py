"""A driver's warning fails the check; without its library's headers it is left out, and no build is started."""

import shutil

import pytest

import driver_warnings
from tlsmem.base.paths import ROOT
from tlsmem.config.definitions import stacks


@pytest.fixture
def clone(tmp_path):
    for folder in "harness-c", "memtest":
        shutil.copytree(ROOT / folder, tmp_path / folder)
    return tmp_path


@pytest.mark.thorough
@pytest.mark.parametrize("place", ["harness-c/main.c", "harness-c/drivers/null.c"])
def test_a_warning_is_a_complaint(clone, place):
    stack = stacks()["null@c"]
    assert driver_warnings.complaints(stack, [], clone) == ""
    with (clone / place).open("a") as file:
        file.write("static int unused;\n")
    assert "unused" in driver_warnings.complaints(stack, [], clone)


def test_headers_are_those_of_a_library_that_is_built(tmp_path):
    name, stack = "openssl@3.5.5", stacks()["openssl@3.5.5"]
    assert driver_warnings.headers(name, stack, tmp_path) is None
    assert not list(tmp_path.iterdir())
    (tmp_path / "build/sources/openssl-src-300.5.5+3.5.5/openssl").mkdir(parents=True)
    (tmp_path / "build/stacks" / name).mkdir(parents=True)
    assert driver_warnings.headers(name, stack, tmp_path) is None
    (tmp_path / "build/stacks" / f"{name}.stamp").touch()
    assert driver_warnings.headers(name, stack, tmp_path)[0] == f"-I{tmp_path}/build/stacks/{name}/include"


def test_a_driver_without_a_library_needs_no_headers(tmp_path):
    assert driver_warnings.headers("null@c", stacks()["null@c"], tmp_path) == []
