"""Two processes in one lockstep, one role kept, several threads: each figure is the plain run's, role by role."""

import json
import os
import select
import socket
import subprocess
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from test_core import FAULTY, METER, NONE, OPEN, PHASES, ROOT, phases, run

from tests.support.built_harness import choose
from tests.support.built_harness import find as built
from tlsmem.config.definitions import stacks

CERTS = ROOT / "memtest/certs/rsa-2048"
RSA = {
    "tls12": ["protocol=TLSv1.2", "cipher=ECDHE-RSA-AES256-GCM-SHA384", "group=X25519", f"certs={CERTS}"],
    "tls13": ["protocol=TLSv1.3", "cipher=TLS_AES_256_GCM_SHA384", "group=X25519", f"certs={CERTS}"],
}
ROLES = "client", "server"
EXPECTED = {name: stack.expect for name, stack in stacks().items()}
KEEP_PHASES = [phase for phase in PHASES if phase not in ("payload", "reply")]


@pytest.fixture(params=RSA)
def suite(request):
    return RSA[request.param]


@pytest.fixture(params=choose(name for name, stack in stacks().items() if stack.tls and not stack.brings))
def stack(request, suite):
    """Whose heap is metered, and which does the suite."""
    harness = built(request.param)
    asked = run(harness, "memory", "sessions=2", *suite, "until=contexts")
    if asked.returncode == 77:
        pytest.skip(asked.stderr)
    return harness


def start(harness, role, wires, barrier, *arguments, scenario="memory", **environment):
    """One process of two. What joins it to the other is closed here by whoever made it."""
    command = [harness, scenario, *arguments, f"role={role}", f"wires={wires}", f"barrier={barrier.fileno()}"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, pass_fds=(wires, barrier.fileno()), env=os.environ | environment, **pipes)


def finish(process):
    out, err = process.communicate(timeout=60)
    Path(f"/dev/shm/heapmeter.{process.pid}").unlink(missing_ok=True)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def both(harnesses, *arguments, own=((), ()), environments=({}, {}), scenario="memory"):
    """The finished client's and server's processes; `own` and `environments` are each one's."""
    wires, ends = os.memfd_create("wires"), socket.socketpair()
    started = []
    for role, harness, barrier, words, environment in zip(ROLES, harnesses, ends, own, environments, strict=True):
        started.append(start(harness, role, wires, barrier, *arguments, *words, scenario=scenario, **environment))
        barrier.close()
    os.close(wires)
    return [finish(process) for process in started]


def lines(done):
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def split(harnesses, sessions, *arguments, heap=False):
    """What both recorded: by role, by phase; and what each said at its end."""
    environment = {"LD_PRELOAD": str(METER)} if heap else {}
    done = both(harnesses, f"sessions={sessions}", *arguments, environments=(environment, environment))
    said = [lines(process) for process in done]
    recorded = [{line["phase"]: line for line in of_role if line["record"] == "phase"} for of_role in said]
    for role, of_role in zip(ROLES, recorded, strict=True):
        assert {line["process"] for line in of_role.values()} == {role}
    return dict(zip(ROLES, recorded, strict=True)), [of_role[-1]["negotiated"] for of_role in said]


def split_phases(harness, sessions, *arguments, heap=False):
    return split((harness, harness), sessions, *arguments, heap=heap)[0]


def together(harness, sessions, *arguments):
    done = run(harness, "memory", f"sessions={sessions}", *arguments, heap=True)
    return {line["phase"]: line for line in lines(done) if line["record"] == "phase"}


def slope(few, many, phase, role):
    """Live bytes and blocks that many sessions hold more than few."""
    few_heap, many_heap = few[phase]["heap"][role], many[phase]["heap"][role]
    return tuple(many_heap[field] - few_heap[field] for field in ("live_bytes", "live_blocks"))


def test_each_process_holds_its_own_role_only(null):
    few, many = (split_phases(null, sessions, *NONE, heap=True) for sessions in (100, 1000))
    for role, other in ROLES, ROLES[::-1]:
        assert list(few[role]) == list(many[role]) == PHASES
        for phase in OPEN:
            assert slope(few[role], many[role], phase, role) == (450 * 4072, 450 * 3), (role, phase)
            assert many[role][phase]["heap"][other]["cumulative_bytes"] == 0, (role, phase)


def test_rss_anon_of_each_process_is_one_page_per_session_of_its_role(null):
    few, many = (split_phases(null, sessions, *NONE) for sessions in (200, 1800))
    for role in ROLES:
        for phase in OPEN:
            more = many[role][phase]["rss_anon_bytes"] - few[role][phase]["rss_anon_bytes"]
            assert abs(more - 800 * 4096) <= 4096, (role, phase)


@pytest.mark.parametrize("arguments", [[], ["window=7"], ["threads=3"]])
def test_bytes_in_flight_are_those_of_one_process_at_every_phases_end(null, arguments):
    whole, apart = phases(null, 200, *arguments), split_phases(null, 200, *NONE, *arguments)
    for role in ROLES:
        assert {phase: line["wire_bytes"] for phase, line in apart[role].items()} == {
            phase: line["wire_bytes"] for phase, line in whole.items()
        }


def test_two_processes_add_up_to_one_to_the_byte(stack, suite):
    few, many = (together(stack, sessions, *suite) for sessions in (20, 40))
    apart_few, apart_many = (split_phases(stack, sessions, *suite, heap=True) for sessions in (20, 40))
    for phase in OPEN:
        total = slope(few, many, phase, "total")
        summed = [slope(apart_few[role], apart_many[role], phase, "total") for role in ROLES]
        assert total == tuple(map(sum, zip(*summed, strict=True))), phase
        for role in ROLES:
            assert slope(apart_few[role], apart_many[role], phase, role) == slope(few, many, phase, role), (role, phase)


@pytest.fixture
def steady(stack):
    if why := EXPECTED[stack.name].heap_varies:
        pytest.skip(f"{stack.name}: {why}")
    return stack


@pytest.mark.parametrize("kept", ROLES)
@pytest.mark.parametrize("window", ["all", pytest.param(3, marks=pytest.mark.thorough)])
def test_a_kept_role_holds_what_it_holds_in_a_process_of_its_own(steady, suite, kept, window):
    stack = steady
    arguments = [*suite, f"keep={kept}", f"window={window}"]
    few, many = (together(stack, sessions, *arguments) for sessions in (20, 40))
    apart = [split_phases(stack, sessions, *suite, heap=True)[kept] for sessions in (20, 40)]
    assert list(many)[-5:] == KEEP_PHASES[-5:]
    for phase in "established", "closed":
        assert slope(few, many, phase, kept) == slope(*apart, phase, kept), phase
        assert slope(few, many, phase, "total") == slope(few, many, phase, kept), phase
    assert slope(few, many, "established", kept)[0] > 0


@pytest.mark.parametrize("kept", ROLES)
def test_kept_sessions_are_half_of_the_null_stacks(null, kept):
    measured = phases(null, 200, f"keep={kept}", "window=7", heap=True)
    assert list(measured) == KEEP_PHASES
    for role in ROLES:
        held = 100 if role == kept else 0
        for phase in "established", "idle":
            heap = measured[phase]["heap"][role]
            assert (heap["live_bytes"], heap["peak_bytes"], heap["live_blocks"]) == (
                held * 4072,
                held * 4072,
                held * 3,
            )
        assert measured["closed"]["heap"][role]["live_bytes"] == 0


@pytest.mark.parametrize("kept, freed", [ROLES, ROLES[::-1]])
@pytest.mark.parametrize("window", ["all", 3])
def test_peers_are_verified_before_they_are_freed(kept, freed, window):
    arguments = ["sessions=20", *NONE, f"keep={kept}", f"window={window}"]
    done = run(FAULTY, "memory", *arguments, FAULT=f"other group later: {freed}")
    assert done.returncode == 1 and '"record":"end"' not in done.stdout
    assert f"{freed} 0 negotiated group P-192, the suite asks for none" in done.stderr


MIXED = ["openssl@3.5.5", "rustls+aws-lc@0.23.46"], ["rustls+aws-lc@0.23.46", "openssl@3.5.5"]


@pytest.mark.parametrize("names", MIXED, ids=lambda names: " with ".join(names))
def test_two_stacks_talk_and_each_says_whom_it_verified(names, suite):
    recorded, ends = split([built(name) for name in names], 20, *suite)
    assert list(recorded["client"]) == list(recorded["server"])
    assert list(recorded["client"])[-7:] == PHASES[-7:]
    client, server = ends
    assert (client["client_verified"], client["server_verified"]) == (True, None)
    assert (server["client_verified"], server["server_verified"]) == (None, False)
    for field in "protocol", "cipher", "group", "resumed":
        assert client[field] == server[field]


SILENT = [name for name, expect in EXPECTED.items() if expect.group_from == "offer"]


TERM_BYTES, TERMS = 128, 15  # of the first meeting, as in docs/reference/records.md


def relay(client, server):
    """Between the barriers of two processes: each first hears its own terms as the other's, then what that says."""
    for end, role in (client, b"server"), (server, b"client"):
        terms = end.recv(TERM_BYTES * TERMS, socket.MSG_WAITALL)
        end.send(b"role=" + role.ljust(TERM_BYTES - 5, b"\0") + terms[TERM_BYTES:])
    with client, server, suppress(ConnectionError):
        while True:
            for end in select.select([client, server], [], [])[0]:
                if not (said := end.recv(4096)):
                    return
                (client if end is server else server).send(said)


def mixed_groups(silent, suite, silent_role, group):
    """The silent stack in this role with the suite's group, OpenSSL opposite with another, and neither is told so: the
    finished processes."""
    other = "server" if silent_role == "client" else "client"
    asked = {silent_role: suite, other: [f"group={group}" if "group=" in word else word for word in suite]}
    names = {silent_role: silent, other: built("openssl@3.5.5")}
    wires, started, between = os.memfd_create("wires"), [], []
    for role in ROLES:
        its, ours = socket.socketpair()
        started.append(start(names[role], role, wires, its, "sessions=4", *asked[role]))
        between.append(ours)
        its.close()
    os.close(wires)
    relaying = threading.Thread(target=relay, args=between)
    relaying.start()
    done = dict(zip(ROLES, map(finish, started), strict=True))
    relaying.join()
    return done


@pytest.mark.parametrize("name", SILENT)
@pytest.mark.parametrize("role", ROLES)
def test_a_stack_that_cannot_tell_its_group_takes_no_other_than_it_says(suite, role, name):
    """What it reports is what it offered; that this is all it offered, a partner that wants another finds out."""
    silent, other = built(name), "server" if role == "client" else "client"
    if run(silent, "memory", "sessions=2", *suite, "until=contexts").returncode == 77:
        pytest.skip(f"{name} does not have this suite")
    for group, wanted in ("X25519", 0), ("secp256r1", 1):
        done = mixed_groups(silent, suite, role, group)
        said = {one.stderr for one in done.values()}
        assert {one.returncode for one in done.values()} == {wanted} and "was started with" not in str(said), said
        if wanted:
            assert all('"record":"end"' not in one.stdout for one in done.values())
            assert any("handshake" in one.stderr for one in done.values())
            continue
        said = {at: lines(one)[-1]["negotiated"] for at, one in done.items()}
        assert {at: ends["group"] for at, ends in said.items()} == dict.fromkeys(ROLES, "X25519")
        assert (said[role]["group_from"], said[other]["group_from"]) == ("offer", "session")


@pytest.mark.parametrize("arguments", [["threads=4"], ["threads=4", "window=3"], ["threads=200"]])
def test_threads_change_no_live_heap(null, arguments):
    plain = [phases(null, sessions, heap=True) for sessions in (100, 200)]
    threaded = [phases(null, sessions, *arguments, heap=True) for sessions in (100, 200)]
    for phase in "established", "idle", "closed", "freed":
        for role in (*ROLES, "harness"):
            assert slope(*threaded, phase, role) == slope(*plain, phase, role), (phase, role)


@pytest.mark.thorough
def test_threads_of_a_tls_stack_change_no_live_heap(steady, suite):
    stack = steady
    plain = [together(stack, sessions, *suite) for sessions in (40, 80)]
    threaded = [together(stack, sessions, *suite, "threads=4") for sessions in (40, 80)]
    for phase in OPEN:
        for role in ROLES:
            assert slope(*threaded, phase, role) == slope(*plain, phase, role), (phase, role)
    for role, heap in threaded[0]["contexts"]["heap"].items():  # what a thread keeps for itself is there by then
        assert threaded[0]["closed"]["heap"][role]["live_bytes"] == heap["live_bytes"], role


@pytest.mark.parametrize("phase", ["contexts", "client 1", "established", "freed"])
def test_both_processes_end_after_the_same_phase(program, phase):
    recorded, _ = split([program, program], 20, *NONE, f"until={phase}")
    for role in ROLES:
        assert list(recorded[role]) == PHASES[: PHASES.index(phase) + 1]
