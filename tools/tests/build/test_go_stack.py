"""The toolchain of harness-go/go.mod and no other; the same bytes from any clone."""

import shutil

import pytest

from tlsmem.base.paths import ROOT
from tlsmem.build import go_stack
from tlsmem.build.commands import BuildFailed
from tlsmem.config.definitions import stacks

needs_go = pytest.mark.skipif(not shutil.which("go"), reason="needs go: https://go.dev/dl")


@pytest.fixture
def clone(tmp_path):
    """What a build needs of a clone."""
    shutil.copytree(ROOT / "harness-go", tmp_path / "harness-go")
    return tmp_path


def repin(clone, version):
    file = clone / "harness-go/go.mod"
    file.write_text(file.read_text().replace(f"go {go_stack.pinned_version()}", f"go {version}"))


@needs_go
def test_the_compiler_is_the_toolchain_that_the_stack_is_named_after():
    said = go_stack.toolchain_record()
    assert f"go@{said['compiler'].removeprefix('go')}" in stacks()
    assert "-trimpath" in said["flags"] and "CGO_ENABLED=0" in said["flags"]


@needs_go
def test_a_toolchain_that_is_not_there_and_not_to_be_had_is_named(clone, monkeypatch):
    monkeypatch.setenv("GOPROXY", "off")
    repin(clone, "1.26.99")
    with pytest.raises(BuildFailed, match=r"^Go 1\.26\.99 is needed: it is at https://go\.dev/dl"):
        go_stack.toolchain_record(clone)


def test_without_go_it_is_said_where_to_get_it(monkeypatch, tmp_path):
    (tmp_path / "env").symlink_to(shutil.which("env"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BuildFailed, match=r"^Go \S+ is needed: it is at https://go\.dev/dl"):
        go_stack.toolchain_record()


def test_a_stack_of_another_version_is_not_built(clone):
    stack = stacks()[f"go@{go_stack.pinned_version()}"]
    with pytest.raises(BuildFailed, match=r"^go@1\.20: harness-go/go\.mod says go "):
        go_stack.build("go@1.20", stack, clone / "made", clone, clone / "log")


@needs_go
def test_two_clones_make_the_same_bytes_and_a_changed_source_others(clone, tmp_path):
    stack, made = stacks()["null@go"], []
    shutil.copytree(ROOT / "harness-go", tmp_path / "elsewhere/harness-go")
    for root in clone, tmp_path / "elsewhere":
        (root / "build").mkdir()
        (root / "build/go").symlink_to(ROOT / "build/go")  # its cache, by content
        go_stack.build("null@go", stack, root / "made", root, root / "log")
        made.append((root / "made").read_bytes())
    assert made[0] == made[1]
    before = go_stack.hash_inputs(stack, clone)
    (clone / "harness-go/core/wire.go").write_text("package core\n")
    assert go_stack.hash_inputs(stack, clone) != before
