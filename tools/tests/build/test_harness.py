"""Harnesses are built from what was pinned, once, and a failure says where to look: with a library of one function."""

import errno
import io
import json
import os
import shutil
import subprocess
import tarfile

import pytest

from tlsmem.base.paths import ROOT
from tlsmem.build import c_stack, compiler_flags, harness, sources
from tlsmem.build.commands import BuildFailed
from tlsmem.config.definitions import Source, Stack, stacks

MAKEFILE = """libtiny.a: ; gcc $(FLAGS) -c $(TREE)/tiny.c -o tiny.o && ar rc $@ tiny.o
noisy: ; @seq 100; echo the reason; false
"""


TINY = "const char *tiny(void) { return __FILE__ __DATE__; }\n"


def clone(place):
    """Another clone of this repository, with its core made."""
    for folder in "memtest", "harness-c", "build/core":
        (place / folder).parent.mkdir(exist_ok=True, parents=True)
        (place / folder).symlink_to(ROOT / folder)
    return place


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A clone, and a crate in cargo's cache."""
    clone(tmp_path)
    cache = tmp_path / "cargo/registry/cache/somewhere"
    cache.mkdir(parents=True)
    with tarfile.open(cache / "tiny-src-1.2.3.crate", "w:gz") as archive:
        for name, text in {"tiny.c": TINY, "Makefile": MAKEFILE}.items():
            member = tarfile.TarInfo(f"tiny-src-1.2.3/upstream/{name}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    monkeypatch.setenv("CARGO_HOME", str(tmp_path / "cargo"))
    return tmp_path


def crate(root):
    return root / "cargo/registry/cache/somewhere/tiny-src-1.2.3.crate"


def tiny(root, steps=("make -f {source}/Makefile TREE={source} 'FLAGS={cflags}' libtiny.a",), **more):
    source = Source(crate="tiny-src", version="1.2.3", sha256=sources.sha256(crate(root)), tree="upstream")
    stack = {"harness": "c", "driver": "null", "licence": "MIT", "libraries": ["libtiny.a"], "source": source}
    return Stack(**stack | {"steps": list(steps)} | more)


def failure(root, stack):
    with pytest.raises(BuildFailed) as failed:
        harness.build("tiny@1", stack, root)
    return str(failed.value)


@pytest.mark.thorough
def test_a_harness_is_built_once_and_its_manifest_says_of_what(root):
    stack = tiny(root)
    assert harness.build("tiny@1", stack, root) != "up to date"
    assert harness.build("tiny@1", stack, root) == "up to date"
    manifest = json.loads((root / "build/harness/tiny@1.json").read_text())
    assert manifest == {
        "stack": "tiny@1",
        "binary_sha256": sources.sha256(root / "build/harness/tiny@1"),
        "source": {"crate": "tiny-src", "version": "1.2.3", "sha256": stack.source.sha256},
        "compiler": compiler_flags.compiler_version("gcc"),
        "flags": "-g1 -fno-omit-frame-pointer -fno-optimize-sibling-calls",
        "licence": "MIT",
    }


@pytest.mark.thorough
def test_the_same_input_gives_the_same_bytes_in_any_clone_on_any_day(root, tmp_path):
    made = []
    for place in root, clone(tmp_path / "another clone"):
        harness.build("tiny@1", tiny(root), place)
        made.append([(place / path).read_bytes() for path in ("build/harness/tiny@1", "build/stacks/tiny@1/tiny.o")])
    assert made[0] == made[1]
    assert not any(str(tmp_path).encode() in bytes_ for bytes_ in made[0])
    assert b"Jan  1 1970" in made[0][1]


@pytest.mark.slow
def test_so_it_does_in_rust(root, tmp_path, monkeypatch):
    monkeypatch.delenv("CARGO_HOME")  # there is nothing to fetch
    stack = stacks()["null@rust"]
    made = []
    for place in root, clone(tmp_path / "another clone"):
        shutil.copytree(ROOT / "harness-rust", place / "harness-rust", ignore=shutil.ignore_patterns("target"))
        harness.build("null@rust", stack, place)
        made.append((place / "build/harness/null@rust").read_bytes())
        manifest = json.loads((place / "build/harness/null@rust.json").read_text())
        assert "CLONE=." in manifest["flags"] and str(tmp_path) not in manifest["flags"]
    assert made[0] == made[1] and str(tmp_path).encode() not in made[0]


@pytest.mark.thorough
def test_other_flags_steps_or_driver_build_again(root, monkeypatch):
    harness.build("tiny@1", tiny(root), root)
    assert harness.build("tiny@1", tiny(root, link=["-lm"]), root) != "up to date"
    monkeypatch.setattr(compiler_flags, "CFLAGS", f"{compiler_flags.CFLAGS} -DOTHER")
    assert harness.build("tiny@1", tiny(root, link=["-lm"]), root) != "up to date"
    assert "-DOTHER" in (root / "build/logs/tiny@1.log").read_text()


@pytest.mark.thorough
def test_another_version_of_the_compiler_builds_again_and_the_manifest_says_which(root, tmp_path, monkeypatch):
    harness.build("tiny@1", tiny(root), root)
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "gcc").write_text(
        f'#!/bin/sh\nif [ $1 = -dumpfullversion ]; then echo 99.1.0; else exec {shutil.which("gcc")} "$@"; fi\n'
    )
    (programs / "gcc").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    assert harness.build("tiny@1", tiny(root), root) == "built"
    assert json.loads((root / "build/harness/tiny@1.json").read_text())["compiler"] == "gcc 99.1.0"
    assert "$ make" in (root / "build/logs/tiny@1.log").read_text()  # its library too


@pytest.mark.thorough
def test_what_changes_in_one_stack_leaves_the_others(root):
    for name in "tiny@1", "tiny@2":
        harness.build(name, tiny(root), root)
    assert harness.build("tiny@1", tiny(root, steps=[*tiny(root).steps, "true"]), root) == "built"
    assert harness.build("tiny@2", tiny(root), root) == "up to date"


@pytest.mark.thorough
def test_a_changed_driver_links_again_and_leaves_the_library(root):
    (root / "harness-c").unlink()
    subprocess.run(["cp", "-r", ROOT / "harness-c", root], check=True)
    harness.build("tiny@1", tiny(root), root)
    made = (root / "build/stacks/tiny@1/libtiny.a").stat().st_mtime_ns
    with open(root / "harness-c/drivers/null.c", "a") as driver:
        driver.write("/* changed */\n")
    assert harness.build("tiny@1", tiny(root), root) != "up to date"
    assert (root / "build/stacks/tiny@1/libtiny.a").stat().st_mtime_ns == made


def test_a_wrong_checksum_stops_with_both_sums_and_where_they_come_from(root, snapshot):
    stack = tiny(root)
    with open(crate(root), "ab") as file:
        file.write(b"\0")
    said = failure(root, stack)
    pinned, found = stack.source.sha256, sources.sha256(crate(root))
    assert pinned in said and found in said
    assert str(crate(root)) in said and '["tiny@1"]' in said
    assert said.replace(pinned, "PINNED").replace(found, "FOUND") == snapshot
    assert not (root / "build/sources/tiny-src-1.2.3").exists()


def test_a_failing_step_shows_command_last_lines_and_log(root, snapshot):
    said = failure(root, tiny(root, steps=["make -f {source}/Makefile noisy"]))
    assert "Makefile noisy" in said and "exit 2" in said and "the reason" in said and "build/logs/tiny@1.log" in said
    shown = [line.strip() for line in said.splitlines()]
    assert [shown[0], shown[-1]] == snapshot
    assert len(shown) == 1 + 15 + 1 and "100" in shown and "80" not in shown


def test_a_step_that_is_no_program(root, snapshot):
    said = failure(root, tiny(root, steps=["no-such-program {source}"]))
    assert "no-such-program" in said
    assert said.replace(os.strerror(errno.ENOENT), "WORDS OF THE SYSTEM") == snapshot


@pytest.mark.thorough
def test_after_a_failure_there_is_no_harness_and_the_next_build_starts_clean(root):
    harness.build("tiny@1", tiny(root), root)
    failure(root, tiny(root, libraries=["libtiny.a", "libnone.a"]))
    assert not (root / "build/harness/tiny@1.json").exists()
    (root / "build/stacks/tiny@1/left-over").touch()
    (root / "build/stacks/tiny@1.stamp").unlink(missing_ok=True)
    assert harness.build("tiny@1", tiny(root), root) != "up to date"
    assert not (root / "build/stacks/tiny@1/left-over").exists()


@pytest.mark.thorough
def test_nothing_of_the_callers_environment_reaches_a_build(root, monkeypatch):
    leaks = {"CFLAGS": "-O0", "MAKEFLAGS": "-- FLAGS=-O0", "RUSTFLAGS": "-Copt-level=0", "LD_PRELOAD": "", "N": "7"}
    for name, value in leaks.items():
        monkeypatch.setenv(name, value)
    harness.build("tiny@1", tiny(root, steps=["env", *tiny(root).steps]), root)
    log = (root / "build/logs/tiny@1.log").read_text().splitlines()
    seen = {
        line.partition("=")[0] for line in log[1 : log.index(next(line for line in log if line.startswith("$ make")))]
    }
    assert "PATH" in seen and seen & set(leaks) == {"MAKEFLAGS"}
    [flags] = [line for line in log if line.startswith("MAKEFLAGS=")]
    assert "FLAGS=-O0" not in flags and "--jobserver-auth=" in flags


@pytest.mark.thorough
def test_an_unknown_stack_is_one_sentence_with_the_nearest(snapshot):
    done = subprocess.run(
        [ROOT / "tools/tls-memtest", "build", "nul@c"], capture_output=True, text=True, env=os.environ
    )
    assert done.returncode == 2 and "null@c" in done.stderr
    assert done.stderr.splitlines()[-1] == snapshot


def test_a_driver_is_in_cpp_where_there_is_none_in_c(tmp_path, monkeypatch):
    folder = tmp_path / "harness-c/drivers"
    folder.mkdir(parents=True)
    (folder / "both.c").touch()
    for name in ("both.cpp", "plus.cpp"):
        (folder / name).touch()
    kinds = {"harness": "c", "licence": "MIT"}
    assert c_stack.driver_file(Stack(**kinds, driver="both"), tmp_path) == folder / "both.c"
    plus = Stack(**kinds, driver="plus", compiler="clang")
    ran = []
    monkeypatch.setattr(c_stack.commands, "run", lambda command, *_: ran.append(command))
    library = c_stack.BuiltLibrary(["-Ilibrary"], ["libx.a"], {})
    c_stack.link("plus@1", plus, library, tmp_path / "out/plus@1", tmp_path, tmp_path / "log")
    compiled, linked = ran
    assert compiled[:2] == ["clang++", "-std=c++20"] and "-Ilibrary" in compiled and "-std=gnu11" not in compiled
    assert compiled[-4:] == ["-c", str(folder / "plus.cpp"), "-o", str(tmp_path / "out/plus.o")]
    assert str(tmp_path / "out/plus.o") in linked and str(folder / "plus.cpp") not in linked
