"""Two processes as one run: merged, and blamed by name when one fails."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from tlsmem.run import harness, heap_page
from tlsmem.schema.harness_output import Meter

SUITE = ["protocol=TLSv1.3", "cipher=C", "group=X25519", "certs=none", "window=all", "cpu=0"]
PRETENDER = Path(__file__).parents[1] / "support/pretender.py"


def pretender(folder: Path, behaviour: str) -> str:
    file = folder / f"{behaviour}@1"
    file.write_text(f"#!{sys.executable}\n{PRETENDER.read_text()}")
    file.chmod(0o755)
    return str(file)


@pytest.fixture
def pair(tmp_path):
    """pair(client's behaviour, server's): what the two came to."""

    def run(client: str, server: str, limit_s: float = 60, meter: Meter = "rss", sessions: int = 4):
        variables = {} if meter == "rss" else {"LD_PRELOAD": "heapmeter-that-is-not-there"}
        variables |= {"HEAPMETER_SITES": "1"} if meter == "sites" else {}
        argvs = []
        for role, behaviour in (("client", client), ("server", server)):
            argvs.append([pretender(tmp_path, behaviour), "memory", f"sessions={sessions}", f"role={role}", *SUITE])
        return asyncio.run(harness.run_pair(*argvs, variables, limit_s))

    return run


def test_phases_stand_side_by_side_the_clients_first(pair):
    outcome = pair("obey", "obey")
    assert (outcome.status, outcome.reason) == ("measured", None)
    told = [(phase.phase, phase.process) for phase in outcome.phases]
    assert told[:4] == [("contexts", "client"), ("contexts", "server"), ("sessions", "client"), ("sessions", "server")]
    assert len(told) == 22 and told[-1] == ("freed", "server")


def test_each_end_tells_its_own_verification_and_notes(pair):
    outcome = pair("obey", "mutter")
    agreed = outcome.end.negotiated
    assert (agreed.client_verified, agreed.server_verified) == (True, False)
    assert outcome.run.notes[:2] == ["I am server", "stderr: Invalid conf pair: 0"]
    assert outcome.run.notes[-1] == "client: I am client"
    assert (outcome.run.role, outcome.peer_reported) == ("server", "pretender 1")
    assert "role=server" in outcome.argv and any(word.startswith("barrier=") for word in outcome.argv)


def test_stacks_are_numbered_through(pair):
    outcome = pair("obey", "obey", meter="sites")
    assert [stack.stack for stack in outcome.stacks] == [0, 1]
    assert [phase.sites.live[0].stack for phase in outcome.phases[2:4]] == [0, 1]
    assert [phase.sites.temporary[0].stack for phase in outcome.phases[2:4]] == [0, 1]
    assert [phase.sites.peak[0].stack for phase in outcome.phases[2:4]] == [0, 1]


@pytest.mark.parametrize(
    ("client", "server", "status"),
    [
        ("obey", "crash", "failed"),
        ("crash", "obey", "failed"),
        ("fail", "obey", "failed"),
        ("obey", "flood", "failed"),
        ("obey", "refuse", "unsupported"),
        ("refuse", "refuse", "unsupported"),
        ("silent", "obey", "failed"),
        ("obey", "garbage", "failed"),
        ("obey", "weak", "failed"),
        ("resumed", "obey", "failed"),
        ("hang", "crash", "failed"),
    ],
)
def test_the_reason_names_the_process_that_failed_first(pair, client, server, status, snapshot):
    def ended_in_time() -> bool:
        outcome = pair(client, server)
        assert (outcome.status, outcome.reason) == (status, snapshot(name="reason"))
        return outcome.elapsed_ns < 2e9  # a start, and at most a second more than the process that failed

    assert any(ended_in_time() for _ in range(3))  # three tries: the machine may be busy


@pytest.mark.slow
@pytest.mark.parametrize(
    ("client", "server"),
    [("obey", "hang"), ("hang", "obey"), ("stop", "obey"), ("obey", "stop"), ("hang", "hang")],
)
def test_at_the_time_limit_the_one_that_stood_still_is_named(pair, client, server, snapshot):
    assert pair(client, server, limit_s=3).reason == snapshot


def test_what_cannot_be_started_ends_the_other(pair, tmp_path):
    obey = [pretender(tmp_path, "obey"), "memory", "sessions=4", "role=client", *SUITE]
    outcome = asyncio.run(harness.run_pair(obey, [str(tmp_path / "none")], {}, 60))
    assert outcome.reason == "the server's process: cannot be started: No such file or directory"


def test_nothing_is_left_of_a_pair_that_is_cancelled(tmp_path):
    """As by a signal to the runner."""
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\necho $$ >> {tmp_path}/pids\nsleep 3600\n")
    script.chmod(0o755)

    async def cancelled() -> None:
        task = asyncio.create_task(harness.run_pair([str(script)], [str(script)], {}, 60))
        while not (tmp_path / "pids").exists() or len((tmp_path / "pids").read_text().split()) < 2:
            await asyncio.sleep(0.05)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    before = len(os.listdir("/proc/self/fd"))
    asyncio.run(cancelled())
    assert not any(heap_page.is_alive(int(pid)) for pid in (tmp_path / "pids").read_text().split())
    assert len(os.listdir("/proc/self/fd")) <= before
