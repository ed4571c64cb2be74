"""The scenario memory with resume=on: exact bytes of a store that drops the oldest, tickets counted, and refusals."""

import json

import pytest
from test_core import FAULTY, NONE, ROOT, phases, run
from test_two_processes import both

from tests.support import built_harness

TLS13 = ["protocol=TLSv1.3", "cipher=TLS_AES_256_GCM_SHA384", "group=X25519", f"certs={ROOT}/memtest/certs/rsa-2048"]
TLS12 = [
    "protocol=TLSv1.2", "cipher=ECDHE-RSA-AES256-GCM-SHA384", "group=X25519", f"certs={ROOT}/memtest/certs/rsa-2048",
]  # fmt: skip
STORE = ["store=on", "resume=on"]
STORE_ENTRIES, ENTRY_BYTES = 8, 200  # of tests/faulty.c's store
SESSION_BYTES = 4072  # of the null stack
OWNERS = ("client", "server", "client_context", "server_context")


def measured(harness, *arguments, **environment):
    """The phases of a run that must be measured, by name."""
    done = run(harness, "memory", *arguments, heap=True, **environment)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {line["phase"]: line for line in lines if line["record"] == "phase"}, lines[-1]


def live(phase, *owners):
    return [phase["heap"][owner]["live_bytes"] for owner in owners or OWNERS]


@pytest.fixture(params=["openssl@3.5.5", "rustls+aws-lc@0.23.46"])
def stack(request):
    return built_harness.find(request.param)


@pytest.mark.parametrize("window", ["window=all", "window=3"])
def test_what_earlier_sessions_leave_is_the_contexts_and_nothing_else_of_them_is_live(window):
    """One entry of the warm-up and one of each of six pairs; a session that counts leaves one when it is closed."""
    found, end = measured(FAULTY, "sessions=12", *NONE, *STORE, window, FAULT="store")
    sessions = 6 * SESSION_BYTES
    assert end["negotiated"]["resumed"] is True
    assert live(found["contexts"]) == [0, ENTRY_BYTES, 0, ENTRY_BYTES]  # of the warm-up's two pairs
    assert live(found["established"]) == [sessions, sessions + ENTRY_BYTES, 0, 7 * ENTRY_BYTES]
    assert live(found["closed"]) == [0, 6 * ENTRY_BYTES, 0, 2 * ENTRY_BYTES]  # eight, of which six are the newest
    assert live(found["freed"]) == [0, 0, 0, 0]


def test_the_peak_of_sessions_that_count_has_no_earlier_session_in_it():
    found, _ = measured(FAULTY, "sessions=12", *NONE, *STORE, FAULT="store")
    assert found["sessions"]["heap"]["client"]["peak_bytes"] == 6 * SESSION_BYTES
    assert found["client 1"]["heap"]["total"]["peak_bytes"] == sum(live(found["client 1"], *OWNERS, "harness"))


def test_a_store_that_drops_what_is_still_wanted_fails_the_run_with_a_sentence():
    wanted = 2 * (STORE_ENTRIES + 2)
    done = run(FAULTY, "memory", f"sessions={wanted}", *NONE, *STORE, FAULT="store")
    assert done.returncode == 1 and '"end"' not in done.stdout
    assert "resumed 16 of 20 sessions, the suite asks for all; a store that is full has dropped" in done.stderr
    assert done.stderr.count("\n") == 1


def test_fewer_pairs_at_a_time_find_their_entries_in_the_same_store():
    found, _ = measured(FAULTY, "sessions=20", *NONE, *STORE, "window=4", FAULT="store")
    assert live(found["closed"], "server") == [STORE_ENTRIES * ENTRY_BYTES]


def test_a_session_that_is_not_resumed_fails_the_run():
    done = run(FAULTY, "memory", "sessions=32", *NONE, "tickets=1", "resume=on", FAULT="resumes nothing")
    assert done.returncode == 1 and "the suite asks for all" in done.stderr and '"end"' not in done.stdout


@pytest.mark.parametrize(
    "fault, tickets, status",
    [("a ticket", 1, 0), ("a ticket", 0, 1), ("a ticket", 2, 1), ("two tickets", 1, 1), ("two tickets", 2, 0)],
)
def test_clients_receive_as_many_tickets_as_the_suite_asks_for(fault, tickets, status):
    done = run(FAULTY, "memory", "sessions=20", *NONE, f"tickets={tickets}", FAULT=fault)
    assert done.returncode == status
    each = ["a ticket", "two tickets"].index(fault) + 1
    if status:
        assert f"clients received {each} tickets in 1 sessions, the suite asks for {tickets}" in done.stderr
    else:
        last = json.loads(done.stdout.splitlines()[-2])
        assert (last["phase"], last["tickets"]) == ("freed", 10 * each)


def test_a_resumed_session_may_receive_fewer_tickets_and_never_more():
    for fault, status in {"a ticket": 0, "no ticket": 0, "two tickets": 1}.items():
        done = run(FAULTY, "memory", "sessions=20", *NONE, "tickets=1", "resume=on", FAULT=fault)
        assert done.returncode == status, (fault, done.stderr)


@pytest.mark.parametrize("name", ["null@c", "null@rust", "null@go"])
def test_bytes_sent_are_the_flights_of_the_null_stack(name):
    """Client 1,500 and 100, server 8,000; the warm-up sends 1 KiB each way too."""
    found = phases(built_harness.find(name), 20)
    for role, warm_up, flights in ("client", 1600 + 1024, 1600), ("server", 8000 + 1024, 8000):
        sent = [found[name][f"{role}_sent_bytes"] for name in ("contexts", "established", "reply")]
        assert sent == [warm_up, warm_up + 10 * flights, warm_up + 10 * (flights + 1024)]


@pytest.mark.parametrize("name", ["null@c", "null@go"])
def test_a_stack_that_resumes_nothing_says_so(name):
    done = run(built_harness.find(name), "memory", "sessions=4", *NONE, "tickets=1", "resume=on")
    assert done.returncode == 77 and "this driver resumes no sessions" in done.stderr


@pytest.mark.parametrize("suite", [[*TLS13, "tickets=1"], [*TLS13, "tickets=1", "store=on"], [*TLS12, "tickets=1"]])
@pytest.mark.parametrize("more", [[], ["window=3"], ["threads=2"], ["keep=server", "window=4", "data=full"]])
def test_every_session_of_a_library_is_resumed(stack, suite, more):
    found, end = measured(stack, "sessions=40", *suite, "resume=on", *more)
    assert end["negotiated"]["resumed"] is True
    assert found["freed"]["tickets"] <= 20


@pytest.mark.parametrize("tickets", [1, 2, 4])
def test_a_library_issues_as_many_tickets_as_the_suite_has(stack, tickets):
    found, _ = measured(stack, "sessions=20", *TLS13, f"tickets={tickets}")
    assert found["reply"]["tickets"] == 10 * tickets


def test_two_processes_resume_what_one_process_resumes(stack):
    client, server = both([stack, stack], "sessions=40", *TLS13, "tickets=1", "resume=on")
    assert client.returncode == server.returncode == 0, client.stderr + server.stderr
    ends = [json.loads(done.stdout.splitlines()[-1])["negotiated"]["resumed"] for done in (client, server)]
    assert ends == [True, True]


def test_over_waves_a_store_grows_by_its_entries_until_it_is_full():
    """Three pairs a wave, and one entry of the warm-up: 4, 7, and then eight for ever."""
    done = run(FAULTY, "churn", "sessions=6", "pattern=waves", "waves=6", *NONE, "store=on", heap=True, FAULT="store")
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    left = [live(line, "server")[0] // ENTRY_BYTES for line in lines if line.get("phase") == "closed"]
    assert left == [4, 7, 8, 8, 8, 8]


def test_over_waves_every_session_is_resumed_or_the_run_fails():
    for waves, fault, status in ("3", "store", 0), ("3", "resumes nothing", 1):
        words = ["sessions=6", "pattern=waves", f"waves={waves}", *NONE, "tickets=0", *STORE]
        done = run(FAULTY, "churn", *words, FAULT=fault)
        assert done.returncode == status, done.stderr
        assert ("the suite asks for all" in done.stderr) == bool(status)
