"""Two processes in one lockstep: one that fails, dies or was started otherwise ends the other with a sentence."""

import os
import signal
import socket
import subprocess
import time
from contextlib import ExitStack

import pytest
from test_core import FAULTY, NONE, run
from test_two_processes import ROLES, both, finish, start

FAULTS = {  # and what the process that has it says
    "incomplete": "handshakes incomplete after 10 steps",
    "other group": "negotiated group P-192, the suite asks for none",
    "short write": "took 1023 bytes of a payload of 1024",
    "crash": "",
}


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_process_that_fails_ends_the_other_with_a_sentence(role, fault):
    faults = [{"FAULT": fault if of == role else ""} for of in ROLES]
    done = dict(zip(ROLES, both([FAULTY, FAULTY], "sessions=20", *NONE, environments=faults), strict=True))
    failed, other = done.pop(role), *done.values()
    assert failed.returncode == (-signal.SIGABRT if fault == "crash" else 1) and FAULTS[fault] in failed.stderr
    assert other.returncode == 1 and '"record":"end"' not in other.stdout
    if fault != "incomplete":  # which both see in the same step
        assert other.stderr == f"memtest: null: the {role}'s process has ended\n"


def survived(harness, role, other):
    """The seconds by which a process outlives the other, which is killed."""
    with ExitStack() as opened:
        wires = opened.enter_context(os.fdopen(os.memfd_create("wires"), "rb"))
        mine, its = (opened.enter_context(end) for end in socket.socketpair())
        survivor = start(harness, role, wires.fileno(), mine, "sessions=20", *NONE)
        victim = subprocess.Popen(["sleep", "60"], pass_fds=[its.fileno()])
    time.sleep(0.2)  # by then it waits
    killed = time.clock_gettime(time.CLOCK_MONOTONIC)
    victim.kill()
    victim.wait()
    done = finish(survivor)
    seconds = time.clock_gettime(time.CLOCK_MONOTONIC) - killed
    assert done.returncode == 1 and done.stderr == f"memtest: null: the {other}'s process has ended\n"
    return seconds


@pytest.mark.parametrize("role, other", [ROLES, ROLES[::-1]])
def test_a_killed_process_ends_the_one_that_waits_for_it_within_a_second(program, role, other):
    assert any(survived(program, role, other) < 1 for _ in range(3))  # three tries: the machine may be busy


def test_a_process_at_work_sees_that_the_other_has_ended(program, joined):
    """Not only where they meet: here the other has been at every meeting before it ended."""
    wires, mine, its = joined
    terms = [
        "role=server",
        "sessions=20",
        "window=10",
        "threads=1",
        "until=",
        "marks=0",
        *NONE[:3],
        "client_groups=none",
    ]
    sent = b"".join(
        term.encode().ljust(128, b"\0")
        for term in [
            *terms,
            *("auth=none", "tickets=0", "store=off", "resume=off", "options=default", "client_certs=same"),
            *("data=short", "scenario=memory"),
        ]
    )
    its.send(sent + b"\1" * 100)
    its.shutdown(socket.SHUT_WR)  # what is sent to it is still taken
    done = finish(start(program, "client", wires, mine, "sessions=20", *NONE))
    assert done.returncode == 1 and done.stderr == "memtest: null: the server's process has ended\n"
    assert its.recv(len(sent), socket.MSG_DONTWAIT) == b"role=client".ljust(128, b"\0") + sent[128:]
    with pytest.raises(BlockingIOError):  # it came to no meeting but the first
        its.recv(1, socket.MSG_DONTWAIT)


DIFFERENT = [
    *[("sessions", 20, 40), ("sessions", 40, 20), ("window", 3, 5), ("threads", 1, 4), ("until", "idle", "closed")],
    *[("marks", 0, 1), ("cipher", "none", "other"), ("group", "none", "other"), ("auth", "none", "server")],
    *[
        ("tickets", 0, 2),
        ("tickets", "library", 2),
        ("data", "short", "full"),
        ("store", "off", "on"),
        ("options", "default", "low-memory"),
    ],
]


@pytest.mark.parametrize("key, theirs, ours", DIFFERENT)
def test_two_that_were_started_with_other_arguments_name_the_first(program, joined, key, theirs, ours):
    if (program.name, key) == ("null@go", "threads"):
        pytest.skip("Go's scheduler has the threads: it takes no threads=4")
    wires, mine, its = joined
    pair = []
    for role, end, value in ("client", mine, ours), ("server", its, theirs):
        pair.append(start(program, role, wires, end, "sessions=20", *NONE, f"{key}={value}"))
        end.close()
    client, server = (finish(process) for process in pair)
    said = "memtest: null: the {}'s process was started with {key}={}, this one with {key}={}\n"
    assert client.stderr == said.format("server", theirs, ours, key=key)
    assert server.stderr == said.format("client", ours, theirs, key=key)
    assert (client.returncode, server.returncode) == (1, 1)


def test_two_of_the_same_role_are_told(program, joined):
    wires, *ends = joined
    pair = [start(program, "client", wires, end, "sessions=20", *NONE) for end in ends]
    for end in ends:
        end.close()
    for process in pair:
        assert finish(process).stderr == "memtest: null: the other process was started with role=client too\n"


def test_wires_must_be_a_memfd_which_nothing_else_is_written_over(program, tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("kept")
    with precious.open("r+b") as file:
        command = [program, "memory", "sessions=2", *NONE, "role=client", f"wires={file.fileno()}", "barrier=0"]
        done = subprocess.run(command, pass_fds=[file.fileno()], text=True, capture_output=True)
    assert done.returncode == 1 and done.stderr.endswith(f"wires={command[-2][6:]}: not a memfd\n")
    assert precious.read_text() == "kept"


def test_a_barrier_must_be_a_socket(program, joined):
    wires = joined[0]
    command = [program, "memory", "sessions=2", *NONE, "role=client", f"wires={wires}", f"barrier={wires}"]
    done = subprocess.run(command, pass_fds=[wires], text=True, capture_output=True)
    assert done.returncode == 1 and "barrier=" in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["role=client"], "role= needs wires=FD"),
        (["role=server", "wires=7"], "role= needs barrier=FD"),
        (["role=none"], "must be both, client or server"),
        (["role=client", "wires=7", "barrier=8", "keep=client"], "keep= is for role=both"),
        (["wires=7"], "wires= is for role=client and role=server"),
        (["barrier=7"], "barrier= is for role=client and role=server"),
        (["threads=0"], "from 1 to 256"),
        (["threads=257"], "from 1 to 256"),
    ],
)
def test_roles_and_threads_that_make_no_run_are_usage_errors(program, arguments, sentence):
    done = run(program, "memory", "sessions=2", *NONE, *arguments)
    assert done.returncode == 2 and sentence in done.stderr and done.stdout == ""


def test_a_kept_role_has_nobody_to_send_a_payload_to(program):
    done = run(program, "memory", "sessions=2", *NONE, "keep=server", "until=payload")
    assert done.returncode == 1 and "until=payload: no such phase in this run" in done.stderr
