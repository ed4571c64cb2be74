"""A commit or a directory of a library is named by what is in it, copied as it stands, and refused in one sentence."""

import os
import re
import shutil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.planted_history import git
from tlsmem.base.paths import ROOT
from tlsmem.build import tree_files, trees
from tlsmem.config import definitions

DAT = 'MAJOR=3\nMINOR=5\nPATCH=5\nPRE_RELEASE_TAG=\nRELEASE_DATE="27 Jan 2026"\n'
HEADER = '# define OPENSSL_VERSION_TEXT    "OpenSSL 1.1.1w  11 Sep 2023"'
CRATE = '[package]\nname = "rustls"\nversion = "1.0.0"\n'


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setattr(definitions, "registered_trees", {})
    return tmp_path / "project"


@pytest.fixture
def clone(tmp_path):
    """One commit of something that calls itself OpenSSL 3.5.5, tagged v1."""
    folder = tmp_path / "clone"
    (folder / "ssl/deep").mkdir(parents=True)
    (folder / "VERSION.dat").write_text(DAT)
    (folder / "ssl/deep/a b\n.c").write_text("int a;\n")
    (folder / "Configure").write_text("#!/bin/sh\n")
    (folder / "Configure").chmod(0o755)
    (folder / "ssl.c").symlink_to("ssl/deep")  # sorted by git as `ssl.c`, before `ssl/`
    (folder / ".gitignore").write_text("*.o\n")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "one")
    git(folder, "tag", "v1")
    return folder


def source(name):
    return definitions.stacks()[name].source


def resolve(text, root, git=None, like=None):
    return trees.resolve_stack(text, git, like, root)


def refusal(text, root, git=None, like=None):
    with pytest.raises(ValueError) as refused:
        resolve(text, root, git, like)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_a_commit_is_named_by_itself_and_a_directory_by_its_tree(clone, root):
    commit, tree = git(clone, "rev-parse", "v1", "v1^{tree}").split()
    assert resolve("openssl@git:v1", root, clone) == f"openssl@git-{commit[:12]}"
    assert resolve(f"openssl@path:{clone}", root) == f"openssl@path-{tree[:12]}"
    of_git, of_path = (source(name) for name in definitions.registered_trees)
    assert of_git.tree == of_path.tree == tree and of_git.git == commit and of_path.git is None
    assert of_git.release == of_path.release == "3.5.5"
    stack, known = definitions.stacks()[f"openssl@git-{commit[:12]}"], definitions.stacks()["openssl@3.5.5"]
    assert stack.steps == known.steps and stack.driver == known.driver


def test_the_copy_is_what_was_there_and_the_clone_is_as_it_was(clone, root):
    before = sorted((file, file.lstat().st_mtime_ns) for file in clone.rglob("*"))
    for text in ("openssl@git:v1", f"openssl@path:{clone}"):
        shutil.rmtree(root, ignore_errors=True)
        name = resolve(text, root, clone)
        copy = definitions.tree_place(root / "build", source(name).tree) / "sources/openssl"
        assert (copy / "ssl/deep/a b\n.c").read_text() == "int a;\n"
        assert os.access(copy / "Configure", os.X_OK) and not os.access(copy / "VERSION.dat", os.X_OK)
        assert os.readlink(copy / "ssl.c") == "ssl/deep" and not (copy / ".git").exists()
    assert before == sorted((file, file.lstat().st_mtime_ns) for file in clone.rglob("*"))


def test_a_change_is_another_tree_and_what_git_ignores_is_none(clone, root):
    clean = resolve(f"openssl@path:{clone}", root)
    (clone / "ssl/x.o").write_text("an object")
    (clone / "empty").mkdir()
    assert resolve(f"openssl@path:{clone}", root) == clean
    (clone / "new.c").write_text("int b;\n")  # not yet added
    dirty = resolve(f"openssl@path:{clone}", root)
    (clone / "new.c").chmod(0o755)
    assert len({clean, dirty, resolve(f"openssl@path:{clone}", root)}) == 3
    (clone / "new.c").unlink()
    (clone / "ssl/deep/a b\n.c").unlink()  # removed, and git not told
    assert resolve(f"openssl@path:{clone}", root) not in (clean, dirty)


def test_two_commits_of_one_tree_are_two_names_of_one_copy(clone, root):
    git(clone, "commit", "-q", "--allow-empty", "-m", "two")
    names = [resolve(f"openssl@git:{ref}", root, clone) for ref in ("v1", "HEAD")]
    assert len(set(names)) == 2 and len({source(name).tree for name in names}) == 1
    assert len(list((root / "build/trees").iterdir())) == 1


def test_the_hash_does_not_depend_on_where_the_tree_is(clone, root, tmp_path):
    shutil.copytree(clone, tmp_path / "elsewhere", symlinks=True, ignore=shutil.ignore_patterns(".git"))
    assert resolve(f"openssl@path:{clone}", root) == resolve(f"openssl@path:{tmp_path}/elsewhere", root)


def test_pipes_are_not_read_and_links_out_of_the_tree_are_not_followed(clone, root, capsys, snapshot):
    clean = resolve(f"openssl@path:{clone}", root)
    os.mkfifo(clone / "pipe")
    assert resolve(f"openssl@path:{clone}", root) == clean
    shutil.rmtree(clone / ".git")  # where git does not say what is there
    assert resolve(f"openssl@path:{clone}", root) == clean
    (clone / "out").symlink_to("/etc/passwd")
    name = resolve(f"openssl@path:{clone}", root)
    warned = capsys.readouterr().err
    assert name != clean and "out: " in warned
    assert warned == snapshot
    copy = definitions.tree_place(root / "build", source(name).tree) / "sources/openssl"
    assert not (copy / "out").is_symlink()


def test_a_submodule_is_its_contents_where_they_are_there(clone, root, tmp_path):
    part = tmp_path / "part"
    part.mkdir()
    (part / "part.c").write_text("int part;\n")
    git(part, "init", "-q")
    git(part, "add", "-A")
    git(part, "commit", "-q", "-m", "part")
    git(clone, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(part), "part")
    git(clone, "commit", "-q", "-m", "with a part")
    whole = resolve("openssl@git:HEAD", root, clone)
    assert source(whole).lacking == ()
    assert source(resolve(f"openssl@path:{clone}", root)).tree == source(whole).tree
    bare = tmp_path / "bare"
    git(tmp_path, "clone", "-q", str(clone), str(bare))
    lacking = resolve(f"openssl@path:{bare}", root)
    assert (
        source(lacking).lacking == ("part",) and source(lacking).tree == git(bare, "rev-parse", "HEAD^{tree}").strip()
    )


def test_a_tree_that_changes_while_it_is_copied_is_not_copied(clone, root, snapshot):
    listing = tree_files.list_directory(clone)
    (clone / "VERSION.dat").write_text(DAT + "#\n")
    with pytest.raises(ValueError, match=r"VERSION\.dat") as changed:
        tree_files.copy_tree(listing, clone, root / "copy")
    assert str(changed.value) == snapshot
    assert not (root / "copy").exists() and list(root.iterdir()) == []


NEAREST = {
    "openssl@git:v2": ["v1"],
    "openssl@git:--all": [],
    "openssl@git:": [],
    "openssl@path:": [],
    "openssl@path:/nowhere": [],
    "openssl@path:/dev/null": [],
    "opensl@git:v1": ["openssl"],
    "go@git:v1": [],
    "libressl@git:v1": [],
    "mbedtls@git:v1": [],
    "openssl@3.5.6": ["openssl@3.5.7"],
}
FILES = {"mbedtls@git:v1": "include/mbedtls/build_info.h", "openssl@3.5.6": "memtest/stacks.toml"}


@pytest.mark.parametrize("text", NEAREST)
def test_what_cannot_be_is_a_sentence(clone, root, text, snapshot):
    found = refusal(text, root, clone)
    assert text.partition("@git:v1")[0] in found and FILES.get(text, "") in found
    assert re.findall(r"did you mean ([^,?]+)", found) == NEAREST[text]
    assert re.sub(r"there are: [^;]+", "there are: NAMES", found) == snapshot


def test_a_commit_needs_a_clone(clone, root, tmp_path, snapshot):
    (tmp_path / "plain").mkdir()
    clones = (None, tmp_path / "none", tmp_path / "plain")
    found = [refusal("openssl@git:v1", root, clone) for clone in clones]
    assert "GIT=DIRECTORY" in found[0]
    assert all(f"GIT={folder}" in sentence for folder, sentence in zip(clones[1:], found[1:], strict=True))
    assert found == snapshot


def test_the_clone_is_the_one_given_else_of_the_other_side_else_where_one_is(clone, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = ["openssl@git:v1", f"openssl@path:{clone}/ssl"]
    assert trees.find_clone(texts, tmp_path) == tmp_path
    assert trees.find_clone(texts, None) == clone
    assert trees.find_clone(texts[:1], None) is None
    monkeypatch.chdir(clone / "ssl")
    assert trees.find_clone(texts[:1], None) == clone
    monkeypatch.chdir(ROOT)
    assert trees.find_clone(texts[:1], None) is None  # no library's


def test_the_steps_are_those_of_the_newest_release_not_above(clone, root, snapshot):
    def nearest(release, kind="openssl"):
        return trees.choose_definition(kind, release, definitions.stacks())

    assert nearest("3.5.5") == nearest("3.5.6") == "openssl@3.5.5" and nearest("3.6.3") == "openssl@3.6.3"
    assert nearest("3.5.9") == nearest("3.6.0-dev") == "openssl@3.5.7"
    assert nearest("3.0.22") == "openssl@3.0.22" and nearest("3.0.15") == "openssl@1.1.1w" == nearest("1.1.1x")
    assert (
        nearest("9.0.0") == nearest(None) == "openssl@4.0.3"
        and nearest("3.6.0", "openssl+clang") == "openssl+clang@3.5.5"
    )
    assert nearest("0.23.47", "rustls+ring") == "rustls+ring@0.23.46"
    with pytest.raises(ValueError, match=r"1\.1\.1 .* LIKE=openssl@1\.1\.1w") as older:
        nearest("1.1.1")
    assert str(older.value) == snapshot(name="older than all")
    name = resolve("openssl@git:v1", root, clone, like="openssl@3.0.22")
    assert definitions.stacks()[name].steps == definitions.stacks()["openssl@3.0.22"].steps
    for like in ("openssl@3.0.2", "mbedtls@3.6.6"):
        unlike, _, known = refusal("openssl@git:v1", root, clone, like=like).partition("there are: ")
        assert f"LIKE={like}" in unlike and "openssl@3.0.22" in known and "mbedtls" not in known
        assert unlike == snapshot(name=like)


@pytest.mark.parametrize(
    ("first", "files", "release"),
    [
        ("openssl", {"VERSION.dat": DAT.replace("TAG=", "TAG=dev")}, "3.5.5-dev"),
        ("openssl", {"include/openssl/opensslv.h": HEADER}, "1.1.1w"),
        ("rustls", {"Cargo.toml": '[package]\nedition = "2021"\nversion = "0.23.9"\nname = "rustls"\n'}, "0.23.9"),
        ("rustls", {"Cargo.toml": "[workspace]\n", "rustls/Cargo.toml": CRATE}, "1.0.0"),
        ("boringssl", {"ssl/ssl_lib.cc": ""}, None),
        ("wolfssl", {"configure.ac": "AC_INIT([wolfssl],[5.9.4],[x])"}, "5.9.4"),
    ],
)  # fmt: skip
def test_what_a_tree_calls_itself(first, files, release):
    assert trees.find_release(first, files.get) == release


@pytest.mark.thorough
@settings(max_examples=25)
@given(
    st.dictionaries(st.from_regex(r"[a-c]{1,2}(/[a-c.]{1,3}x){0,2}", fullmatch=True), st.binary(max_size=9), min_size=1)
)
def test_the_hash_is_gits_own(tmp_path_factory, files):
    folder = tmp_path_factory.mktemp("tree")
    for path, content in files.items():
        here = folder / path
        if any(one.is_file() for one in here.parents) or here.is_dir():
            continue
        here.parent.mkdir(parents=True, exist_ok=True)
        here.write_bytes(content)
    mine = tree_files.tree_hash(tree_files.list_directory(folder))
    git(folder, "init", "-q")
    git(folder, "add", "-A", "-f")
    assert mine == git(folder, "write-tree").strip()


BUDGET = '[[budget]]\nstack = "openssl@path:.."\nsuite = "none"\nmeter = "heap"\nlimit = "+1 B"\n'


def test_budgets_and_their_baselines_are_no_part_of_the_tree(clone, root, tmp_path):
    """Whoever asks, the gate or a comparison: the file, the baseline it names, and recordings beside that."""
    before = source(resolve(f"openssl@path:{clone}", root)).tree
    files = {
        "ssl/BUDGET.toml": f'baseline = "../memory/new"\n{BUDGET}',
        "ssl/AMOUNTS.toml": BUDGET,
        "memory/new/openssl@3.5.5.jsonl": "{}",
        "memory/new/notes/a.txt": "",
        "memory/old/openssl@3.5.5.jsonl.zst": "",
        "memory/old/manifest.json": "{}",
    }
    for name, text in files.items():
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        (clone / name).write_text(text)
    linked = tmp_path / "link"
    linked.symlink_to(clone)
    for folder in (clone, linked):
        name = resolve(f"openssl@path:{folder}", root)
        assert source(name).tree == before
    copy = definitions.tree_place(root / "build", before) / "sources/openssl"
    assert not (copy / "ssl/BUDGET.toml").exists() and not (copy / "memory").exists()
    git(clone, "add", "-A")
    git(clone, "commit", "-q", "-m", "two")
    assert source(resolve("openssl@git:main", root, clone)).tree == before


@pytest.mark.parametrize(
    "name, text",
    [
        ("memory.c", ""),
        ("memory/new.c", ""),
        ("memory/c/a.jsonl", ""),
        ("Cargo.toml", 'budget = "[[budget]]"\n'),
        ("broken.toml", "[[budget]]\n["),
        ("other.toml", BUDGET.replace("budget", "bench")),
    ],
)
def test_what_only_looks_like_a_budget_or_a_baseline_is_part_of_the_tree(clone, root, name, text):
    (clone / "memory/new").mkdir(parents=True)
    (clone / "BUDGET.toml").write_text(f'baseline = "memory/new"\n{BUDGET}')
    before = source(resolve(f"openssl@path:{clone}", root)).tree
    (clone / name).parent.mkdir(parents=True, exist_ok=True)
    (clone / name).write_text(text)
    assert source(resolve(f"openssl@path:{clone}", root)).tree != before


def test_a_trees_own_monitor_is_not_run(clone, root, tmp_path):
    """git runs what core.fsmonitor names, before it lists files."""
    monitor = tmp_path / "monitor"
    monitor.write_text(f"#!/bin/sh\ntouch '{tmp_path}/ran'\nexit 1\n")
    monitor.chmod(0o755)
    git(clone, "config", "core.fsmonitor", str(monitor))
    resolve(f"openssl@path:{clone}", root)
    resolve("openssl@git:v1", root, clone)
    assert not (tmp_path / "ran").exists()


def test_no_tree_stands_in_for_a_library_as_shipped():
    known = definitions.stacks()
    assert "openssl" in trees.kinds(known) and "openssl+debian" not in trees.kinds(known)
