"""Timed runs that must not be: argv that is wrong, faults of a stack, and what is killed."""

import fcntl
import json
import os
import signal
import subprocess
import time

import pytest
from test_core import FAULTY, NONE, VERSION, run
from test_timed import RESUMED, begun, timed


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGKILL, signal.SIGTERM], ids=lambda by: by.name)
@pytest.mark.parametrize("scenario", ["handshake", "throughput"])
def test_a_run_that_is_killed_ends_and_has_no_end_line(program, scenario, by):
    process, first = begun(program, scenario, "threads=2")
    assert first["record"] == "run"
    process.send_signal(by)
    out, _ = process.communicate(timeout=60)
    assert process.returncode in (-by, 2)  # 2: Go's own end by a signal
    assert '"record":"end"' not in out


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["handshake", *NONE], "rounds= is missing"),
        (["handshake", *NONE, "rounds=0"], "rounds=0: must be a whole number from 1 to 1000000000"),
        (["handshake", *NONE, "rounds=2x"], "rounds=2x: must be a whole number from 1 to 1000000000"),
        (["handshake", *NONE, "rounds=2", "warmup=0"], "warmup=0: must be a whole number from 1 to 1000000000"),
        (["handshake", *NONE, "rounds=2", "seconds=0"], "seconds=0: must be a whole number from 1 to 86400"),
        (["handshake", *NONE, "rounds=2", "seconds=86401"], "seconds=86401: must be a whole number from 1 to 86400"),
        (["memory", *NONE, "sessions=2", "seconds=1"], "seconds=1: is no key of the scenario memory"),
        (["handshake", *NONE, "rounds=2", "threads=0"], "threads=0: must be a whole number from 1 to 256"),
        (["handshake", *NONE, "rounds=2", "threads=257"], "threads=257: must be a whole number from 1 to 256"),
        (["handshake", *NONE, "rounds=2", "cpus=0,x"], "must be a whole number from 0 to 1000000000"),
        (["handshake", *NONE, "rounds=2", "cpus="], "cpus=: must be a whole number from 0 to 1000000000"),
        (["handshake", *NONE, "rounds=2", "cpus=0,"], "must be a whole number from 0 to 1000000000"),
        (["handshake", *NONE, "rounds=2", "size=5"], "size=5: is no key of the scenario handshake"),
        (["handshake", *NONE, "rounds=2", "sessions=2"], "sessions=2: is no key of the scenario handshake"),
        (["handshake", *NONE, "rounds=2", "window=1"], "window=1: is no key of the scenario handshake"),
        (["throughput", *NONE, "rounds=2", "cpu=0"], "cpu=0: is no key of the scenario throughput"),
        (["throughput", *NONE, "rounds=2", "size=0"], "size=0: must be a whole number from 1 to 1073741824"),
        (["throughput", *NONE, "rounds=2", "size=1073741825"], "must be a whole number from 1 to 1073741824"),
        (["throughput", *NONE, "rounds=2", *RESUMED], "resume=on is of the scenarios memory, churn and handshake"),
        (["memory", *NONE, "sessions=2", "rounds=2"], "rounds=2: is no key of the scenario memory"),
        (["handshake", *NONE, "rounds=2", "resume=yes"], "resume=yes: must be off or on"),
        (["handshake", *NONE, "rounds=2", "resume=on"], "resume=on needs store=on or tickets"),
    ],
)
def test_bad_arguments_of_timed_runs_are_usage_errors(program, arguments, sentence):
    done = run(program, *arguments)
    assert done.returncode == 2 and sentence in done.stderr and done.stderr.count("\n") == 1 and done.stdout == ""


def test_a_cpu_that_is_not_there_fails_the_run(program):
    done = run(program, "handshake", *NONE, "rounds=2", "cpus=1023")
    assert done.returncode == 1 and "1023" in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("kept", ["store=on", "tickets=1"])
def test_a_stack_that_resumes_no_sessions_is_unsupported(program, kept):
    done = run(program, "handshake", *NONE, "rounds=2", kept, "resume=on")
    end = json.loads(done.stdout.splitlines()[-1])
    assert done.returncode == 77 and end["status"] == "unsupported"
    assert end["reason"] == f"{VERSION}: this driver resumes no sessions (none, none, none)"


@pytest.mark.parametrize("threads", [1, 3])
def test_every_handshake_that_counts_is_resumed_where_the_suite_asks(threads):
    _, lines = timed(FAULTY, "handshake", "rounds=100", f"threads={threads}", *RESUMED)
    assert len(lines) == threads and all(line.resumed == line.rounds for line in lines)


@pytest.mark.parametrize(
    "fault, arguments, sentence",
    [
        (
            "misses",
            ["handshake", *RESUMED],
            "resumed 70 of 80 handshakes, a hit rate of 87.50 %; the suite asks for all",
        ),
        ("resumes nothing", ["handshake", *RESUMED], "resumed 0 of 80 handshakes, a hit rate of 0.00 %"),
        ("resumed by one end", ["handshake", *RESUMED], "one end says that it was resumed, the other that it was not"),
        ("resumed", ["handshake", *RESUMED], "resumed a session, and none was offered"),
        ("resumed", ["handshake"], "resumed a session, the suite asks for a full handshake"),
        ("resumed", ["throughput"], "resumed a session, the suite asks for a full handshake"),
        ("incomplete", ["handshake"], "incomplete after 10 steps"),
        ("incomplete", ["throughput"], "incomplete after 10 steps"),
        ("other cipher", ["handshake"], "negotiated cipher NULL-MD5, the suite asks for none"),
        ("other cipher", ["throughput"], "negotiated cipher NULL-MD5, the suite asks for none"),
        ("verified", ["handshake"], "verified its peer, the suite asks for auth=none"),
        ("corrupt byte", ["throughput"], "received other bytes than were sent"),
        ("corrupt byte", ["throughput", "size=7"], "received other bytes than were sent"),
        ("short read", ["throughput"], "received 1048575 bytes of 1048576"),
        ("short write", ["throughput"], "took 1048575 bytes of a write of 1048576, and no more"),
        ("takes nothing", ["throughput"], "took 0 bytes of a write of 1048576, and no more"),
        ("takes -1", ["throughput"], "the driver says that it took 18446744073709551615 bytes of 1048576"),
        ("gives -1", ["throughput"], "the driver says that it gave 18446744073709551615 bytes of 1048576"),
    ],
)
def test_a_fault_fails_a_timed_run_with_a_sentence(fault, arguments, sentence):
    done = run(FAULTY, *arguments, *NONE, "rounds=80", "warmup=1", FAULT=fault)
    assert done.returncode == 1
    assert sentence in done.stderr and done.stderr.count("\n") == 1
    assert '"record":"thread"' not in done.stdout and '"record":"end"' not in done.stdout


def test_of_threads_that_all_fail_one_has_the_word():
    """Into a pipe that is full until all of them have come to say something."""
    ours, theirs = os.pipe()
    os.write(theirs, bytes(fcntl.fcntl(theirs, fcntl.F_SETPIPE_SZ, 4096)))
    command = [FAULTY, "handshake", *NONE, "rounds=80", "threads=32"]
    environment = os.environ | {"FAULT": "other cipher"}
    process = subprocess.Popen(command, stderr=theirs, stdout=subprocess.DEVNULL, env=environment)
    os.close(theirs)
    time.sleep(0.5)
    with open(ours, "rb") as read:
        said = read.read().lstrip(b"\0").decode()
    assert process.wait() == 1 and said.count("memtest:") == said.count("\n") == 1 and "NULL-MD5" in said
