"""A program that a build needs is named, with the package that brings it."""

import os
from pathlib import Path

import pytest

from tests.build.test_harness import root, tiny  # noqa: F401
from tlsmem.build import compiler_flags, harness
from tlsmem.build.commands import BuildFailed


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("more", "lacking", "package"),
    [
        ({"needs": ["cmake"]}, "cmake", "cmake"),
        ({"needs": ["ninja-build"]}, "ninja", "ninja-build"),
        ({"compiler": "clang"}, "clang", "clang"),
    ],
)
def test_a_build_tool_that_is_missing_is_named_with_its_package(root, tmp_path, monkeypatch, more, lacking, package):  # noqa: F811
    programs = tmp_path / "programs"
    programs.mkdir()
    found = {file.name: file for folder in os.get_exec_path()[::-1] for file in Path(folder).glob("*")}
    for name in found.keys() - {lacking}:
        os.symlink(found[name], f"{programs}/{name}")
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)  # else it would be installed
    with pytest.raises(ValueError) as refused:
        harness.build("tiny@1", tiny(root, **more), root)
    assert str(refused.value) == f"missing system packages; install them with: sudo apt-get install -y {package}"


def test_a_rustc_that_names_no_release_is_a_sentence(tmp_path, monkeypatch):
    (tmp_path / "rustc").write_text("#!/bin/sh\necho error: no default toolchain\n")
    (tmp_path / "rustc").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(BuildFailed) as failed:
        compiler_flags.rustc()
    said = "`rustc --version` names no release: error: no default toolchain; install Rust again"
    assert str(failed.value) == said
