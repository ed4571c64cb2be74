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


def without_pins(error):
    """A message in which the pinned version stands as VERSION, and without Go's own words at its end."""
    return str(error.value).replace(go_stack.pinned_version(), "VERSION").partition("; go: ")[0]


def repin(clone, version):
    file = clone / "harness-go/go.mod"
    file.write_text(file.read_text().replace(f"go {go_stack.pinned_version()}", f"go {version}"))


@needs_go
def test_the_compiler_is_the_toolchain_that_the_stack_is_named_after():
    said = go_stack.toolchain_record()
    assert f"go@{said['compiler'].removeprefix('go')}" in stacks()
    assert "-trimpath" in said["flags"] and "CGO_ENABLED=0" in said["flags"]


@needs_go
def test_a_toolchain_that_is_not_there_and_not_to_be_had_is_named(clone, monkeypatch, snapshot):
    monkeypatch.setenv("GOPROXY", "off")
    repin(clone, "1.26.99")
    with pytest.raises(BuildFailed, match=r"Go 1\.26\.99 .*https://go\.dev/dl") as failed:
        go_stack.toolchain_record(clone)
    assert without_pins(failed) == snapshot


def test_without_go_it_is_said_where_to_get_it(monkeypatch, tmp_path, snapshot):
    (tmp_path / "env").symlink_to(shutil.which("env"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BuildFailed, match=rf"Go {go_stack.pinned_version()} .*https://go\.dev/dl") as failed:
        go_stack.toolchain_record()
    assert without_pins(failed) == snapshot


def test_a_manifest_without_a_version_is_a_sentence(tmp_path):
    (tmp_path / "go.mod").write_text("module x\n")
    with pytest.raises(BuildFailed, match=r"^go\.mod: no line `go VERSION` says which toolchain builds it; add one$"):
        go_stack.pinned_version(tmp_path, "go.mod")


def test_a_stack_of_another_version_is_not_built(clone, snapshot):
    stack = stacks()[f"go@{go_stack.pinned_version()}"]
    with pytest.raises(BuildFailed, match=rf"^go@1\.20: .*go\.mod.* {go_stack.pinned_version()}") as failed:
        go_stack.build("go@1.20", stack, clone / "made", clone, clone / "log")
    assert without_pins(failed) == snapshot


@pytest.mark.thorough
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


def test_each_stack_is_named_after_its_manifest_and_has_the_checksum_of_its_toolchain():
    versions = {
        name.partition("@")[2]: one.manifest for name, one in stacks().items() if one.harness == "go" and one.tls
    }
    assert len(versions) > 1
    for version, manifest in versions.items():
        assert go_stack.pinned_version(ROOT, manifest) == version
        pins = (ROOT / manifest).with_suffix(".sum").read_text()
        assert pins.startswith(f"{go_stack.TOOLCHAIN} v0.0.1-go{version}.linux-amd64 h1:")


@pytest.fixture
def downloaded(clone):
    """downloaded(checksum): the root of a toolchain of go.mod's version that the go command downloaded."""
    release = f"v0.0.1-go{go_stack.pinned_version()}.linux-amd64"
    modules = clone / "modules"

    def download(checksum):
        file = modules / f"cache/download/{go_stack.TOOLCHAIN}/@v/{release}.ziphash"
        file.parent.mkdir(parents=True)
        file.write_text(checksum)
        return modules / f"golang.org/toolchain@{release}"

    return download


def test_a_downloaded_toolchain_must_have_the_pinned_checksum(clone, downloaded, snapshot):
    pinned = (clone / "harness-go/go.sum").read_text().split()[2]
    root = downloaded(pinned)
    go_stack.check_download(root, clone, go_stack.MANIFEST)
    (clone / "harness-go/go.sum").write_text((clone / "harness-go/go.sum").read_text().replace(pinned, "h1:other="))
    with pytest.raises(BuildFailed, match=r"^harness-go/go\.sum: ") as other:
        go_stack.check_download(root, clone, go_stack.MANIFEST)
    assert pinned in str(other.value) and "h1:other=" in str(other.value) and str(root) in str(other.value)
    assert without_pins(other).replace(pinned, "CHECKSUM") == snapshot(name="another")
    (clone / "harness-go/go.sum").write_text("")
    with pytest.raises(BuildFailed, match=r"^harness-go/go\.sum: ") as none:
        go_stack.check_download(root, clone, go_stack.MANIFEST)
    line = f"{go_stack.TOOLCHAIN} v0.0.1-go{go_stack.pinned_version()}.linux-amd64 {pinned}"
    assert line in str(none.value)
    assert without_pins(none).replace(pinned, "CHECKSUM") == snapshot(name="none")


def test_an_installed_toolchain_has_no_download_to_check(clone):
    go_stack.check_download(clone / "go", clone, go_stack.MANIFEST)
