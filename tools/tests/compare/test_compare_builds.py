"""Two builds are named, checked, measured and compared; what cannot be is a sentence, which a bisect skips."""

import argparse
import fcntl
import json
import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from tests.support import commands, forked_command, in_process, planted
from tests.support.portable_text import drop_table_rows
from tlsmem.base.errors import UserError
from tlsmem.base.paths import ROOT
from tlsmem.build import trees
from tlsmem.cli import diff
from tlsmem.cli.dispatch import run_words
from tlsmem.compare import comparison, two_builds

needed = pytest.mark.skipif(
    not (ROOT / "build/harness/null@c").is_file(), reason="not built: tools/tls-memtest build null@c"
)


def run(*words, root=ROOT, where=None):
    command = [sys.executable, str(root / "tools/tls-memtest"), "diff", "builds", *words]
    return forked_command.run(command, cwd=where or root)


def run_here(*words):
    """In the process of the test; its exit status."""
    return in_process.exit_status(lambda: run_words(["diff", "builds", *words]))


def sides(a, b, *words, **more):
    return run(f"--a={a}", f"--b={b}", *words, **more)


@pytest.mark.parametrize(
    "words",
    [
        "--a=openssl@3.5.5",
        "--a=openssl@3.5.5 --b=opensl@3.5.5",
        "--a=openssl@3.5.5 --b=opensl@git:main",
        "--a=openssl@3.5.5 --b=openssl@git:",
        "--a=openssl@3.5.5 --b=openssl@path:/nowhere",
        "--a=openssl@3.5.5 --b=openssl@path:/dev/null",
        "--a=openssl@3.5.5 --b=openssl@git:main",
        "--a=openssl@3.5.5 --b=openssl@git:main --git=/nowhere",
        "--a=null@c --b=null@c --suites=tls13-rsa-aes25",
        "--a=null@c --b=null@c --role=servr",
        "--a=null@c --b=null@c --n=2",
        "--a=null@c --b=null@c --n=5",
        "--a=null@c --b=null@c --like=opnssl@3.5.5",
        "--a=openssl@path --b=null@c",
    ],
)
def test_what_was_asked_for_is_checked_first(words, tmp_path, monkeypatch, capsys, snapshot):
    monkeypatch.chdir(tmp_path)
    assert run_here(*words.split()) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("memtest: ") and told.err.count("\n") == 1
    assert told.err == snapshot


@pytest.mark.parametrize("words", [["--a=null@c"], ["--a=null@c", "--b=null@c", "--n=2"], ["--nonsense"]])
def test_a_bisect_never_takes_a_mistake_for_a_bad_commit(words):
    assert run_here("--bisect", *words) == 125


@pytest.mark.parametrize(("word", "status"), [("--bisect", 125), ("BISECT=1", 125), ("BISECT=0", 2), ("--bis", 2)])
def test_a_bisect_is_named_in_full(word, status, capsys):
    assert run_here(word, "--a=null@c", "--b=null@c", "--n=2") == status
    assert ("--bisect" in capsys.readouterr().err) is (word == "--bis")


def test_a_bisect_is_one_as_a_process():
    assert run("--bisect", "--a=null@c").returncode == 125
    assert run("--a=null@c", "--b=").returncode == 2


@pytest.mark.parametrize(("status", "of_bisect"), [(0, 0), (3, 1), (1, 125), (2, 125), (130, 130), (143, 143)])
def test_a_bisect_is_told_good_bad_or_skip_and_ends_by_a_signal(status, of_bisect):
    def refuse():
        raise UserError("why", status)

    for compare, expected in ((lambda: status, of_bisect), (refuse, of_bisect), (lambda: 1 / 0, 125)):
        step = partial(diff.judge_for_bisect, compare, ["--bisect"])
        assert in_process.exit_status(step) == expected


@pytest.mark.parametrize("goal", ["throughput", "selfcheck", "stacks"])
def test_a_target_that_builds_no_trees_says_who_does(goal, snapshot):
    with pytest.raises(UserError) as error:
        commands.parse_target(goal, STACKS="openssl@git:main")
    assert str(error.value) == snapshot(name="sentence")


@pytest.mark.parametrize(
    ("goal", "options"),
    [
        ("mem", {"STACKS": f"openssl@3.5.5 openssl@path:{ROOT}"}),
        ("mem", {"STACKS": "rustls+ring@git:main", "GIT": str(ROOT), "LIKE": "rustls+ring@0.23.46"}),
        ("profile", {"STACK": "openssl@git:main"}),
    ],
)
def test_mem_and_profile_take_trees(goal, options):
    commands.parse_target(goal, **options)


@pytest.mark.parametrize("name", ["openssl@path:/nowhere", "opensl@git:main", "openssl@git:", "openssl@pth:."])
def test_a_tree_that_cannot_be_is_said_to_mem_too(name, snapshot):
    with pytest.raises(UserError) as error:
        commands.parse_target("mem", STACKS=name)
    assert str(error.value) == snapshot


@pytest.mark.thorough
@needed
def test_rss_is_measured_on_request(tmp_path):
    out = tmp_path / "out"
    done = sides("null@c", "null@c", f"--out={out}", "--rss=40", "--format=json")
    assert done.returncode == 0, done.stderr
    tables = {one["name"]: one["rows"] for one in json.loads(done.stdout)["tables"]}
    assert {row["role"] for row in tables["rss"]} == {"pair"}
    assert {row["sessions"] for row in tables["peak-rss"]} == {4, 20, 40}
    assert {"heap", "allocations", "sites"} <= {*tables, "sites"}
    lines = [json.loads(line) for line in (out / "null@c.jsonl").read_text().splitlines()]
    assert sorted(one["meter"] for one in lines) == [*["heap"] * 2, *["rss"] * 9, "sites"]


def test_trees_among_stacks_are_resolved_where_they_are_named(monkeypatch):
    monkeypatch.setattr(trees, "resolve_stack", lambda text, clone, like: f"{text.replace(':', '-')}+{clone}+{like}")
    monkeypatch.setattr(trees, "find_clone", lambda texts, given: given)
    given = argparse.Namespace(stacks=["null@c", "openssl@git:main"], stack=None, git=Path("/c"), like="openssl@3.5.5")
    trees.resolve_named(given)
    assert given.stacks == ["null@c", "openssl@git-main+/c+openssl@3.5.5"] and given.stack is None
    given = argparse.Namespace(stacks=["null@c", "openssl@path:."], git=None, like=None)
    trees.resolve_named(given)
    assert given.stacks == ["null@c", "openssl@path-.+None+None"]

    def refuse(*_):
        raise ValueError("openssl@git:man: no commit man")

    monkeypatch.setattr(trees, "resolve_stack", refuse)
    with pytest.raises(UserError) as stop:
        trees.resolve_named(argparse.Namespace(stack="openssl@git:man", git=None, like=None))
    assert (stop.value.status, str(stop.value)) == (2, "openssl@git:man: no commit man")


@pytest.mark.thorough
@needed
def test_the_same_build_is_unchanged_and_is_not_measured_again(tmp_path, snapshot):
    first = sides("null@c", "null@c", f"--out={tmp_path}/out")
    again = sides("null@c", "null@c", f"--out={tmp_path}/out", "--bisect")
    assert (first.returncode, again.returncode) == (0, 0), first.stderr + again.stderr
    assert first.stdout == again.stdout
    assert drop_table_rows(first.stdout) == snapshot
    assert "3/3 null@c" in first.stderr and "heap:" not in again.stderr
    lines = (tmp_path / "out/null@c.jsonl").read_text().splitlines()
    assert len(lines) == 3 and not any('"meter":"rss"' in line for line in lines)


@pytest.mark.thorough
def test_a_library_that_does_not_build_is_named_with_its_log_and_skipped_by_bisect(project, tmp_path):
    shutil.copy(ROOT / "build/core/libmemtest.a", project.root / "build/core")
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "VERSION.dat").write_text("MAJOR=3\nMINOR=5\nPATCH=5\nPRE_RELEASE_TAG=\n")
    (broken / "Configure").write_text('die "nothing to configure";\n')
    words = [f"openssl@path:{broken}"] * 2
    done = sides(*words, root=project.root)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "nothing to configure" in done.stderr and "LIKE=STACK" in done.stderr
    log = next(line for line in done.stderr.splitlines() if "The whole log: " in line).partition(": ")[2]
    assert "nothing to configure" in Path(log).read_text()
    assert sides(*words, "--bisect", root=project.root).returncode == 125
    assert os.listdir(broken) and sorted(os.listdir(broken)) == ["Configure", "VERSION.dat"]


def test_what_counts_is_told_and_decides_the_exit_status(monkeypatch, capsys, snapshot):
    changed = comparison.compare(planted.counted(), planted.counted(planted.with_sites("server", SSL_new=(10_016, 20))))
    monkeypatch.setattr(two_builds, "claim", lambda *_: None)
    monkeypatch.setattr(two_builds, "build", lambda *_: None)
    monkeypatch.setattr(two_builds, "compare_sides", lambda *_: changed)
    ends = {}
    for words in ("", "--at-least=16B", "--at-least=1KiB", "--site=SSL_new", "--site=SSL_mew", "--worse-only"):
        ends[words] = run_here("--a=null@c", "--b=null@c", *words.split())
        told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("memtest:")]
        assert told == snapshot(name=words or "all")
    assert list(ends.values()) == [3, 3, 0, 3, 0, 3]


@pytest.mark.parametrize("words", ["--at-least=none", "--at-least=0", "--at-least=-5B"])
def test_a_size_that_is_none_is_usage_and_skipped_by_bisect(words):
    assert run_here("--a=null@c", "--b=null@c", words) == 2
    assert run_here("--bisect", "--a=null@c", "--b=null@c", words) == 125


def waits_for(lock, words):
    """Return the first line on stderr of a command that waits until the lock is given up, and the other lines."""
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as second:
        said = second.stderr.readline()
        waited = second.poll() is None
        os.close(lock)
        rest = second.stderr.read()
    assert waited and second.returncode == 0, said + rest
    return said, rest


@pytest.mark.thorough
@needed
def test_a_second_gate_waits_as_a_comparison_does(tmp_path, snapshot):
    out = tmp_path / "out"
    out.mkdir()
    first = os.open(out, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(first, fcntl.LOCK_EX)
    (tmp_path / "BUDGET.toml").write_text(
        '[[budget]]\nstack = "null@c"\nsuite = "none"\nrole = "client"\nphase = "established"\nmeter = "heap"\n'
        'limit = "4072 B"\n'
    )
    words = [sys.executable, str(ROOT / "tools/tls-memtest"), "gate", str(tmp_path / "BUDGET.toml"), f"--out={out}"]
    said, _ = waits_for(first, words)
    assert said == snapshot
    assert len((out / "null@c.jsonl").read_text().splitlines()) == 3


@pytest.mark.thorough
@needed
def test_a_second_comparison_waits_and_says_so_before_it_builds(tmp_path, snapshot):
    out = tmp_path / "out"
    out.mkdir()
    first = os.open(out, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(first, fcntl.LOCK_EX)
    words = [
        sys.executable,
        str(ROOT / "tools/tls-memtest"),
        "diff",
        "builds",
        "--a=null@c",
        "--b=null@c",
        f"--out={out}",
    ]
    said, rest = waits_for(first, words)
    assert said == snapshot
    assert "null@c" in rest and (out / "null@c.jsonl").is_file()
