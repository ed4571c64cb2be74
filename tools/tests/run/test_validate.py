"""What a measured run must print and say of its environment, and how a process ended."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from tests.support.pretender import COUNTS
from tlsmem.config import definitions
from tlsmem.config.run import SYSTEM, THREADS, Run
from tlsmem.config.timed_matrix import TimedRun
from tlsmem.run.process import ProcessResult
from tlsmem.run.validate import Outcome, compare_deployment, describe_exit, find_difference, judge
from tlsmem.schema.harness_output import RunLine
from tlsmem.schema.timed_record import INTERVAL_PARTS, OWN


def wrong(env: str, thp_host: str, thp: str) -> list[str]:
    run = Run("openssl@3.5.5", "tls13-rsa-aes256", SYSTEM, "all", 20, "rss", 1, env=env)
    said = SimpleNamespace(threads=THREADS if env != "lab" else 1, aslr="on", thp=thp)
    return [name for name, asked, answered in compare_deployment(run, said, thp_host) if asked != answered]


@pytest.mark.parametrize(
    ("env", "thp_host", "thp", "differ"),
    [
        ("deployed", "madvise", "madvise", []),
        ("deployed", "madvise", "always", ["thp"]),  # another has changed it meanwhile
        ("deployed", "none", "never", []),  # a kernel without them
        ("deployed-thp", "madvise", "always", []),
        ("deployed-thp", "madvise", "madvise", ["thp"]),
        ("lab", "madvise", "never", []),  # could not be switched off: a note
    ],
)
def test_huge_pages_must_be_the_hosts_own_or_always(env, thp_host, thp, differ):
    assert wrong(env, thp_host, thp) == differ


@pytest.mark.parametrize(
    ("status", "said"),
    [(1, "exit 1"), (-11, "killed by SIGSEGV"), (-34, "killed by SIGRTMIN"), (-40, "killed by signal 40")],
)
def test_every_end_has_a_name(status, said):
    assert describe_exit(status) == said


NEGOTIATED = {"protocol": "none", "cipher": "none", "group": "none", "group_from": "offer", "resumed": False}
NEGOTIATED |= {"client_verified": None, "server_verified": None}
END = {"record": "end", "status": "measured", "negotiated": NEGOTIATED}
SAID = {"record": "run", "schema": 4, "stack": "null", "reported": "null 1", "scenario": "memory", "sessions": 2}
SAID |= {"role": "both", "keep": "both", "data": "short", "threads": 1, "window": "all", "meter": "rss"}
SAID |= {"aslr": "off", "thp": "off", "cpu": None, "notes": []}
TIMED = SAID | {"scenario": "handshake", "meter": "time"}
THREAD = {"record": "thread", "thread": 0, "cpu": 0, "rounds": 1, "resumed": 0, "elapsed_ns": 1, "preempted": 0}
THREAD |= {
    "parts": [
        {"part": name, "count": 1, "total_ns": 1}
        | ({"histogram": [[1, 1]]} if name in INTERVAL_PARTS["handshake"] else {})
        for name in (*INTERVAL_PARTS["handshake"], *OWN)
    ]
}
CHURN = SAID | {"scenario": "churn"}
PHASE = (
    {"record": "phase", "process": "both"}
    | dict.fromkeys(COUNTS, 4096)
    | dict.fromkeys(("rss_file_bytes", "rss_shmem_bytes"), 0)
)


def judged(*lines: dict) -> Outcome:
    return judge(ProcessResult(0, b"".join(json.dumps(line).encode() + b"\n" for line in lines)), ["a"], "now")


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ([], "no end line, so no measurement"),
        ([SAID], "no end line, so no measurement"),
        ([END], "its output does not begin with a run line"),
        ([END, END], "its output does not begin with a run line"),
        ([SAID, END], "its output is not a run line, phases and an end line"),
        ([TIMED, END], "its run line has no rounds"),
        ([TIMED, THREAD, END], "its run line has no rounds"),
        ([TIMED | {"rounds": 1, "threads": 10**12}, THREAD, END], "its run line says 1000000000000 threads"),
        ([SAID, {"record": "stack", "stack": 0, "frames": ["main"]}, END], "line 2 of its output is not as in"),
        ([CHURN, PHASE | {"phase": "open", "wave": 1}, END], "its phases are not those of"),
        (
            [CHURN | {"settings": {"waves": "x"}}, PHASE | {"phase": "open", "wave": 1}, END],
            "its phases are not those of",
        ),
        (
            [CHURN | {"settings": {"waves": 12 * "9"}}, PHASE | {"phase": "contexts"}, END],
            "its phases are not those of",
        ),
    ],
)
def test_output_that_is_no_measurement_fails_with_a_reason(lines, reason):
    outcome = judged(*lines)
    assert outcome.status == "failed"
    assert outcome.reason.startswith(reason)


def test_an_answer_of_another_kind_of_run_is_a_difference():
    """Of a timed run in place of one of memory, and the other way."""
    timed = judged(TIMED | {"rounds": 1}, THREAD, END)
    assert timed.status == "measured"
    memory = replace(timed, lines=[RunLine.model_validate(SAID), *timed.lines[2:]])
    asked = {"stack": "null@c", "suite": "none", "allocator": SYSTEM, "window": "all", "sessions": 2, "repeat": 1}
    suite = definitions.suites()["none"]
    assert find_difference(timed, Run(**asked, meter="rss"), suite, "never").startswith("scenario: asked for memory")
    run = TimedRun(**asked, meter="time", scenario="handshake", threads=1, rounds=1)
    assert find_difference(memory, run, suite, "never") == "meter: asked for time, but the harness says rss"
