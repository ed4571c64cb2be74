"""A library is built from a tree's copy, once a tree; what ccache knows is used, and never an object that is stale."""

import json
import shutil

import pytest

from tests.build.test_harness import clone
from tlsmem.build import c_stack, harness, rust_stack, tree_files
from tlsmem.build.commands import BuildFailed
from tlsmem.config.definitions import TreeSource, TreeStack, tree_place

MAKEFILE = (
    "libtiny.a: ; gcc $(FLAGS) -I$(TREE)/first -I$(TREE)/second -c $(TREE)/tiny.c -o tiny.o && ar rcD $@ tiny.o\n"
)
TINY = '#include "size.h"\nchar tiny[SIZE];\nconst char *where(void) { return __FILE__; }\n'
STEPS = ["make -f {source}/Makefile TREE={source} 'FLAGS={cflags}' libtiny.a"]
FILES = {"Makefile": MAKEFILE, "tiny.c": TINY, "second/size.h": "#define SIZE 16\n", "first/other.h": ""}


@pytest.fixture
def root(tmp_path):
    return clone(tmp_path / "clone")


def tree(root, files=FILES, **more):
    """A stack of these files, copied as trees.py does."""
    made = root.parent / "made"
    shutil.rmtree(made, ignore_errors=True)
    for path, text in files.items():
        (made / path).parent.mkdir(parents=True, exist_ok=True)
        (made / path).write_text(text)
    listing = tree_files.list_directory(made)
    source = TreeSource(library="tiny", tree=tree_files.tree_hash(listing), release="1.2.3", **more)
    tree_files.copy_tree(listing, made, tree_place(root / "build", source.tree) / "sources/tiny")
    stack = {"harness": "c", "driver": "null", "licence": "MIT", "libraries": ["libtiny.a"], "steps": STEPS}
    return TreeStack(**stack, source=source)


def archive(root, stack):
    return (tree_place(root / "build", stack.source.tree) / "tiny/libtiny.a").read_bytes()


@pytest.mark.thorough
def test_a_manifest_says_which_commit_or_tree_and_of_which_release(root):
    stack = tree(root, git="c" * 40)
    assert harness.build("tiny@git-cccccccccccc", stack, root) == "built"
    told = json.loads((root / "build/harness/tiny@git-cccccccccccc.json").read_text())["source"]
    assert told == {"git": "c" * 40, "tree": stack.source.tree, "release": "1.2.3"}
    stack = tree(root)
    harness.build("tiny@path-1", stack, root)
    told = json.loads((root / "build/harness/tiny@path-1.json").read_text())["source"]
    assert told == {"tree": stack.source.tree, "release": "1.2.3"}


@pytest.mark.thorough
def test_one_tree_of_two_commits_is_compiled_once_into_the_same_bytes(root):
    harness.build("tiny@git-1", tree(root, git="1" * 40), root)
    harness.build("tiny@git-2", tree(root, git="2" * 40), root)
    assert "$ make" in (root / "build/logs/tiny@git-1.log").read_text()
    assert "$ make" not in (root / "build/logs/tiny@git-2.log").read_text()
    assert (root / "build/harness/tiny@git-1").read_bytes() == (root / "build/harness/tiny@git-2").read_bytes()


@pytest.mark.thorough
def test_the_cache_has_a_tree_for_other_clones_whatever_commit_it_is_of(root, tmp_path, monkeypatch):
    monkeypatch.setenv("MEMTEST_CACHE", str(tmp_path / "cache"))
    harness.build("tiny@git-1", tree(root, git="1" * 40), root)
    other = clone(tmp_path / "second/clone")
    assert harness.build("tiny@git-2", tree(other, git="2" * 40), other) == "from the cache"
    assert "$ make" not in (other / "build/logs/tiny@git-2.log").read_text()


@pytest.mark.thorough
def test_what_is_compiled_names_no_tree_so_a_harmless_change_is_the_same_library(root):
    one, other = tree(root), tree(root, FILES | {"README": "more words\n"})
    for number, stack in enumerate((one, other)):
        harness.build(f"tiny@path-{number}", stack, root)
    assert one.source.tree != other.source.tree and archive(root, one) == archive(root, other)
    assert b"../sources/tiny/tiny.c" in archive(root, one) and str(root).encode() not in archive(root, one)


@pytest.mark.thorough
def test_a_new_header_that_is_found_first_counts_though_what_was_read_is_as_it_was(root):
    one = tree(root)
    other = tree(root, FILES | {"first/size.h": "#define SIZE 4096\n"})
    for number, stack in enumerate((one, other)):
        harness.build(f"tiny@path-{number}", stack, root)
    assert archive(root, one) != archive(root, other)
    if c_stack.ccache_variables(root, root):
        assert (root / "build/ccache").is_dir()


def test_a_tree_that_does_not_build_says_where_its_log_is(root):
    stack = tree(root, FILES | {"tiny.c": "#error this is no C\n"})
    with pytest.raises(BuildFailed, match="this is no C") as failed:
        harness.build("tiny@path-1", stack, root)
    assert str(root / "build/logs/tiny@path-1.log") in str(failed.value)
    assert not (root / "build/harness/tiny@path-1.json").exists()


def test_a_rustls_of_a_tree_is_patched_into_our_manifest_with_its_own_version(root):
    root.joinpath("harness-rust/rustls-9").mkdir(parents=True)
    ours = '[[bin]]\npath = "../src/v.rs"\n[dependencies]\nrustls = { version = "=9.0.0", default-features = false }\n'
    (root / "harness-rust/rustls-9/Cargo.toml").write_text(ours)
    (root / "harness-rust/rustls-9/Cargo.lock").write_text("version = 4\n")
    crates = {"rustls/Cargo.toml": '[package]\nname = "rustls"\nversion = "9.1.0"\n'}
    crates |= {"Cargo.toml": '[workspace]\n[workspace.package]\nversion = "9.2.0"\n'}
    crates |= {"rustls-ring/Cargo.toml": '[package]\nname = "rustls-ring"\nversion.workspace = true\n'}
    crates |= {"rustls-fuzz/Cargo.toml": '[package]\nname = "rustls-fuzz"\nversion = "0.0.1"\npublish = false\n'}
    source = tree(root, crates).source.model_copy(update={"library": "tiny"})
    stack = {"harness": "rust", "licence": "MIT", "manifest": "harness-rust/rustls-9/Cargo.toml", "binary": "rustls"}
    made = rust_stack.write_manifest("rustls+ring@path-1", TreeStack(**stack, source=source), root)
    place, text = tree_place(root / "build", source.tree) / "sources/tiny", made.read_text()
    assert 'rustls = { version = "=9.1.0", default-features = false }' in text
    assert f'path = "{root}/harness-rust/src/v.rs"' in text and made.with_name("Cargo.lock").is_file()
    patched = text.partition("[patch.crates-io]\n")[2]
    assert patched == f'rustls = {{ path = "{place}/rustls" }}\nrustls-ring = {{ path = "{place}/rustls-ring" }}\n'
