"""Several stacks at a time: each is tried, what one stands on comes first, and what failed is said at the end."""

import contextlib
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.build.test_harness import ROOT, root, tiny  # noqa: F401
from tlsmem.build import schedule, shared_resources
from tlsmem.build.commands import Unavailable
from tlsmem.build.schedule import Schedule
from tlsmem.config.definitions import Source, Stack


@pytest.fixture(autouse=True)
def unstopped():
    yield
    shared_resources.stop_requested.clear()


def plain(**more):
    return Stack(harness="c", driver="null", licence="MIT", **more)


def built(place):
    return sorted(one.name.removesuffix(".stamp") for one in (place / "build/harness").glob("*.stamp"))


@pytest.mark.thorough
def test_one_that_fails_stops_no_other_and_each_has_its_reason(root):  # noqa: F811
    known = {"good@1": tiny(root), "bad@1": tiny(root, steps=["false"]), "worse@1": plain(compiler="gcc", prefix=True)}
    failures = Schedule(list(known), known, root).run()
    assert built(root) == ["good@1"] and sorted(failures) == ["bad@1", "worse@1"]
    assert "`false` failed (exit 1)" in str(failures["bad@1"]) and "PREFIX" in str(failures["worse@1"])


def test_what_a_stack_uses_is_built_before_it_and_without_it_there_is_no_trial(root, monkeypatch):  # noqa: F811
    (root / "apt.conf").write_text('Dir::Etc::sourcelist "/dev/null";\nDir::Etc::sourceparts "/dev/null";\n')
    monkeypatch.setenv("APT_CONFIG", str(root / "apt.conf"))
    gone = Source(debian="d", suite="s", version="1", sha256="0" * 64)
    known = {
        "top@1": tiny(root, uses="below@1", steps=["no-such-program"]),
        "below@1": plain(source=gone, steps=["true"]),
    }
    assert Schedule(list(known), known, root).next() == "below@1"
    failures = Schedule(list(known), known, root).run()
    assert "below@1, was not built" in str(failures["top@1"]) and isinstance(failures["top@1"], Unavailable)


def test_what_others_wait_for_is_first_and_the_rest_is_in_the_order_given():
    known = {"b@1": plain(), "a@1": plain(), "below@1": plain(), "above@1": plain(uses="below@1")}
    assert Schedule(list(known), known, ROOT).waiting == ["below@1", "b@1", "a@1", "above@1"]


@pytest.mark.thorough
@pytest.mark.skipif(shared_resources.count_cpus() < 2, reason="one CPU builds one at a time")
def test_two_are_built_at_a_time_and_share_the_cpus(root):  # noqa: F811
    """Each waits for the other to have begun."""
    wait = (
        "timeout 60 sh -c 'touch ../{0}.begun; while ! test -e ../{1}.begun; do sleep 0.05; done; echo jobs={{jobs}}'"
    )
    known = {
        one: tiny(root, steps=[wait.format(one, other), *tiny(root).steps])
        for one, other in (("a@1", "b@1"), ("b@1", "a@1"))
    }
    assert Schedule(list(known), known, root).run() == {}
    jobs = max(1, shared_resources.count_cpus() // 2)
    assert all(f"jobs={jobs}\n" in (root / f"build/logs/{name}.log").read_text() for name in known)


@pytest.mark.thorough
def test_a_stack_named_alone_has_all_cpus(root):  # noqa: F811
    known = {"a@1": tiny(root, steps=["echo jobs={jobs}", *tiny(root).steps])}
    Schedule(["a@1"], known, root).run()
    assert f"jobs={shared_resources.count_cpus()}\n" in (root / "build/logs/a@1.log").read_text()


@pytest.mark.thorough
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, -signal.SIGINT), (signal.SIGTERM, 143)])
def test_what_was_started_ends_with_the_build(tmp_path, number, status):
    """A build of two stacks whose steps would run for an hour."""
    sleep = f"sleep 3601.{os.getpid()}{number}"  # the other signal may be tried beside this one
    program = tmp_path / "two.py"
    program.write_text(
        f"import sys; sys.path[:0] = [{str(ROOT / 'tools')!r}]\n"
        "import pathlib\n"
        "from tests.build import test_harness\n"
        "from tlsmem.build import schedule, sources\n"
        "from tlsmem.config import definitions\n"
        f"root = test_harness.clone(pathlib.Path({str(tmp_path / 'clone')!r}))\n"
        "source = definitions.Source(crate='tiny-src', version='1.2.3', sha256='0' * 64, tree='upstream')\n"
        f"stack = definitions.Stack(harness='c', driver='null', licence='MIT', source=source, steps=[{sleep!r}])\n"
        "schedule.ROOT, schedule.stacks = root, lambda: {'a@1': stack, 'b@1': stack}\n"
        "schedule.definitions.check_definitions = lambda *_: None\n"
        "schedule.system_packages.require_cargo_for = lambda *_: None\n"
        "sources.provide_tree = lambda *_: root\n"
        "import argparse\n"
        "from tlsmem.cli.main import run\n"
        "given = argparse.Namespace(stacks=sys.argv[1:], campaign=None, prefix=None)\n"
        "run(lambda: schedule.build_requested(given))\n"
    )
    running = subprocess.Popen(
        [sys.executable, program, "a@1", "b@1"],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ,
    )
    for _ in range(1 if shared_resources.count_cpus() < 2 else 2):
        assert re.match(rf"[ab]@1: step 1 of 1, {sleep} \.\.\.", running.stderr.readline())
    running.send_signal(number)
    assert running.wait(60) == status
    assert not running_commands(sleep)


def running_commands(command):
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended
            found.append((process / "cmdline").read_bytes().rstrip(b"\0").replace(b"\0", b" ").decode())
    return [line for line in found if line == command]


@pytest.mark.parametrize(
    ("failures", "status"),
    [
        ({}, 0),
        ({"a@1": Unavailable("a@1: gone")}, 77),
        ({"a@1": Unavailable("a@1: gone"), "b@1": ValueError("missing system packages")}, 1),
    ],
)
def test_the_exit_status_tells_what_is_not_to_be_had_from_what_failed(monkeypatch, capsys, failures, status):
    monkeypatch.setattr(Schedule, "run", lambda _: failures)
    assert schedule.run(["null@c"], {"null@c": plain()}, None) == status
    said = ["memtest: a@1: gone\n", "memtest: b@1: missing system packages\n"]
    assert capsys.readouterr().err == "".join(said[: len(failures)])
