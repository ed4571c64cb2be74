"""Tokens for CPUs: what one build does not need another uses, and no more jobs run than there are tokens."""

import subprocess
import threading

import pytest

from tlsmem.build import jobserver, shared_resources
from tlsmem.build.jobserver import Jobserver

# Each recipe waits, at most 10 s, until the other has begun.
MEETING = """all: a b
a b: ; touch $@.begun; for i in `seq 100`; do test -e a.begun -a -e b.begun && exit 0; sleep 0.1; done; exit 1
"""
# No recipe begins while another runs.
ALONE = """all: a b c
a b c: ; mkdir busy && sleep 0.1 && rmdir busy
"""


def run_make(tokens: Jobserver, folder, makefile: str) -> int:
    (folder / "Makefile").write_text(makefile)
    environment = {"PATH": "/usr/bin:/bin"} | tokens.variables("make")
    return subprocess.run(
        ["make", "-s"], cwd=folder, env=environment, pass_fds=tokens.descriptors, capture_output=True
    ).returncode


def test_a_build_that_is_alone_runs_as_many_jobs_as_there_are_tokens(tmp_path):
    tokens = Jobserver(2)
    with tokens.token():
        assert run_make(tokens, tmp_path, MEETING) == 0


def test_a_token_that_another_build_holds_is_used_once_that_has_ended(tmp_path):
    tokens, held, end = Jobserver(2), threading.Event(), threading.Event()

    def other() -> None:
        with tokens.token():
            held.set()
            end.wait()

    thread = threading.Thread(target=other)
    thread.start()
    held.wait()
    with tokens.token():
        assert run_make(tokens, tmp_path, ALONE) == 0
        end.set()
        thread.join()
        assert run_make(tokens, tmp_path, MEETING) == 0


@pytest.fixture
def stopped_at_last():
    """Who waits for a token in vain is stopped."""
    timer = threading.Timer(10, shared_resources.stop_requested.set)
    timer.start()
    yield
    timer.cancel()
    shared_resources.stop_requested.clear()


@pytest.mark.usefixtures("stopped_at_last")
def test_a_command_of_a_build_takes_no_second_token():
    tokens = Jobserver(1)
    with tokens.token(), tokens.token():
        assert tokens.take() == b""
    assert tokens.take() == b"+"


def test_a_token_comes_back_from_a_build_that_fails():
    tokens = Jobserver(1)
    with pytest.raises(ZeroDivisionError), tokens.token():
        raise ZeroDivisionError
    assert tokens.take() == b"+"


def test_who_waits_for_a_token_ends_when_all_builds_are_to_end():
    tokens = Jobserver(0)
    shared_resources.stop_requested.set()
    try:
        with pytest.raises(shared_resources.BuildStopped), tokens.token():
            pass
    finally:
        shared_resources.stop_requested.clear()


@pytest.mark.parametrize(("version", "shares"), [("1.11.1", False), ("1.13.0.git.kitware", True), ("", False)])
def test_a_ninja_that_knows_no_jobserver_is_told_how_many_jobs_to_run(tmp_path, version, shares):
    (tmp_path / "ninja").write_text(f"#!/bin/sh\necho {version}\n")
    (tmp_path / "ninja").chmod(0o755)
    assert jobserver.takes_part(str(tmp_path / "ninja")) is shares
    assert jobserver.takes_part("make") and not jobserver.takes_part(str(tmp_path / "no/ninja"))
