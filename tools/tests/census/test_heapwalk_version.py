"""A heapwalk that was built for another version of the command is a sentence."""

import pytest

from tests.census.conftest import Holder
from tests.support import in_process
from tlsmem.cli.dispatch import run_words
from tlsmem.monitor import rss_parts

OLDER = ('{"pid":0,"refused":"it has ended"}', '{"pid":%d,"rss_anon_bytes":4096,"stack_bytes":0}')


@pytest.fixture
def holder(holder_program, certificate):
    with_sessions = Holder([holder_program, *certificate, "20", "0", "0"])
    with_sessions.read()
    yield with_sessions
    with_sessions.close()


@pytest.mark.parametrize("lines", [OLDER, OLDER[1:], ["usage: heapwalk PID..."]])
def test_a_heapwalk_of_another_version_is_one_sentence(lines, holder, tmp_path, monkeypatch, capsys):
    """An older one takes --chunks for a process, or leaves keys out."""
    program = tmp_path / rss_parts.HEAP_WALK
    program.parent.mkdir(parents=True)
    text = "\n".join(lines).replace("%d", str(holder.pid))
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\n")
    program.chmod(0o755)
    monkeypatch.setattr(rss_parts, "ROOT", tmp_path)
    assert in_process.exit_status(lambda: run_words(["heap", "census", str(holder.pid)])) == 1
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1
    assert "build/core/heapwalk is of another version than this command: run `make core`" in said.err
