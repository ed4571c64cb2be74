"""The timed scenarios of the harness in Go: its lines are those of the harness in C, and every suite has its answer."""

import json

import pytest
from test_core import NONE, ROOT, run
from test_go import GO
from test_two_processes import built

from tlsmem.config.definitions import suites
from tlsmem.schema.harness_output import OUTPUT_LINE

NULLS = ["null@c", "null@go"]
OF_HANDSHAKE = ["client_new", "client", "client_free", "server_new", "server", "server_free"]
OF_THROUGHPUT = ["send", "receive"]
OWN = ["wire_write", "wire_read", "clock"]  # of no round, so without a histogram
FLIGHTS = 1500 + 8000 + 100  # bytes of a null handshake
AES_128 = ["protocol=TLSv1.3", "cipher=TLS_AES_128_GCM_SHA256"]
REFUSED = {  # of suites.toml
    "does TLSv1.2 and TLSv1.3 only": lambda suite: suite.protocol == "none",
    "first in TLS 1.3 on this CPU": lambda suite: suite.protocol == "TLSv1.3" and "AES_128" not in suite.cipher,
    "store=on: a server keeps no sessions": lambda suite: suite.store == "on",
    "issues one ticket at most": lambda suite: suite.tickets not in ("library", 0, 1),
    "failed to parse private key": lambda suite: suite.certs.startswith("mldsa"),  # until Go 1.27
}
USAGE = [
    (["handshake"], "rounds= is missing"),
    (["handshake", "rounds=0"], "rounds=0: must be a whole number from 1 to 1000000000"),
    (["handshake", "rounds=2", "cpus=0,x"], "must be a whole number from 0 to 1000000000"),
    (["handshake", "rounds=2", "sessions=2"], "sessions=2: is no key of the scenario handshake"),
    (["handshake", "rounds=2", "size=5"], "size=5: is no key of the scenario handshake"),
    (["handshake", "rounds=2", "threads=257"], "threads=257: must be a whole number from 1 to 256"),
    (["handshake", "rounds=2", "resume=on", *NONE], "resume=on needs store=on or tickets, which clients can offer"),
    (["memory", "sessions=2", "rounds=2"], "rounds=2: is no key of the scenario memory"),
    (["throughput", "rounds=2", "size=0"], "size=0: must be a whole number from 1 to 1073741824"),
    (
        ["throughput", "rounds=2", "tickets=1", "resume=on", *NONE],
        "resume=on is of the scenarios memory, churn and handshake",
    ),
]


def timed(harness, scenario, *arguments):
    """The run line, those of the threads, and the end line, each by the model of its kind."""
    done = run(harness, scenario, *arguments)
    assert done.returncode == 0, done.stderr
    first, *threads, end = [OUTPUT_LINE.validate_json(line) for line in done.stdout.splitlines()]
    assert first.record == "run" and end.status == "measured" and {line.record for line in threads} == {"thread"}
    return first, threads, end


def parts(thread):
    return {part.part: part for part in thread.parts}


def arguments(suite, *names):
    """As the runner has them; `resume` is no key of all scenarios."""
    values = suite.model_dump() | {"certs": ROOT / "memtest/certs" / suite.certs}
    names = ["protocol", "cipher", "group", "certs", "auth", "tickets", "store", *names]
    return [f"{name}={values[name]}" for name in names]


@pytest.fixture(params=NULLS)
def null(request):
    return built(request.param)


@pytest.fixture(scope="module")
def go():
    return built(GO)


@pytest.mark.parametrize("words, sentence", USAGE)
def test_arguments_that_make_no_timed_run_are_usage_errors(null, words, sentence):
    done = run(null, *words)
    assert done.returncode == 2 and sentence in done.stderr and done.stdout == "", done.stderr


@pytest.mark.parametrize("scenario, names", [("handshake", OF_HANDSHAKE), ("throughput", OF_THROUGHPUT)])
def test_every_round_is_one_interval_of_every_part(null, scenario, names):
    first, threads, end = timed(null, scenario, "rounds=40", "warmup=3", "threads=2", *NONE)
    assert (first.scenario, first.meter, first.sessions, first.threads) == (scenario, "time", 4, 2)
    assert (first.rounds, first.warmup_rounds, first.cpu, first.cpus) == (40, 3, None, None)
    assert first.size_bytes == (1048576 if scenario == "throughput" else None)
    assert [thread.thread for thread in threads] == [0, 1] and end.sealed is None
    assert max(thread.rounds for thread in threads) == 40  # who is first stops all
    for thread in threads:
        assert list(parts(thread)) == names + OWN and thread.resumed == 0 and thread.cpu is None
        for name, part in parts(thread).items():
            assert (part.histogram is None) == (name in OWN) == (part.faults_count is None), name
        for name in names:
            part = parts(thread)[name]
            assert (part.count, part.faults_count) == (thread.rounds, 3)
            assert sum(count for _, count in part.histogram) == part.count
            least = sum(value * count for value, count in part.histogram)
            assert least <= part.total_ns <= 1.001 * least + part.count
            assert part.bytes == (part.count * 1048576 if names == OF_THROUGHPUT else None)
        assert sum(parts(thread)[name].total_ns for name in names) <= thread.elapsed_ns


@pytest.mark.parametrize("scenario, size, moved", [
    ("handshake", [], FLIGHTS), ("throughput", ["size=1000"], 65000), ("throughput", ["size=70000"], 70000),
])  # fmt: skip
def test_the_wire_copies_what_a_round_sends(null, scenario, size, moved):
    _, (thread,), _ = timed(null, scenario, "rounds=3", *size, *NONE)
    for name in "wire_read", "wire_write":
        part = parts(thread)[name]
        assert part.bytes == part.count * moved
    if scenario == "throughput":
        assert parts(thread)["send"].bytes == parts(thread)["receive"].bytes == 3 * moved


def test_threads_are_on_their_cpus_in_turn(null):
    first, threads, _ = timed(null, "handshake", "rounds=3", "threads=3", "cpus=0", *NONE)
    assert first.cpus == [0] and [thread.cpu for thread in threads] == [0, 0, 0]


def test_a_cpu_that_is_not_there_is_an_error(null):
    done = run(null, "handshake", "rounds=3", "threads=2", "cpus=0,1000", *NONE)
    assert done.returncode == 1 and done.stderr.lower() == "memtest: null: cpus: 1000: invalid argument\n"
    assert '"record":"end"' not in done.stdout


def test_the_run_line_says_which_clock_and_no_memory_run_does(go):
    said = "clock: CLOCK_MONOTONIC, which Go reads without a system call; CLOCK_MONOTONIC_RAW it does not"
    first, _, _ = timed(built("null@go"), "handshake", "rounds=1", *NONE)
    assert said in first.notes
    done = run(built("null@go"), "memory", "sessions=2", *NONE)
    assert not any("clock" in note for note in json.loads(done.stdout.splitlines()[0])["notes"])


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(suites()))
def test_every_suite_is_done_or_refused_with_its_reason(go, name):
    suite = suites()[name]
    reasons = [reason for reason, applies in REFUSED.items() if applies(suite)]
    words = arguments(suite, "resume")
    if reasons:
        done = run(go, "handshake", "rounds=1", *words)
        assert done.returncode == 77 and reasons[0] in done.stderr, done.stderr
        return
    resumed = suite.resume == "on"
    _, threads, end = timed(go, "handshake", "rounds=50", "threads=2", *words)
    assert all(thread.resumed == (thread.rounds if resumed else 0) for thread in threads)
    agreed = end.negotiated
    assert (agreed.resumed, agreed.group_from) == (resumed, "session")
    assert (agreed.client_verified, agreed.server_verified) == (True, suite.auth == "mutual")
    if not resumed:
        timed(go, "throughput", "rounds=8", *arguments(suite))


@pytest.mark.parametrize("auth", ["mutual", "server"])
@pytest.mark.parametrize("group", ["X25519", "X25519MLKEM768"])
def test_tls_1_3_resumes_by_ticket(go, group, auth):
    """No suite of suites.toml: the cipher that crypto/tls takes has none that resumes."""
    words = [*AES_128, f"group={group}", f"auth={auth}", f"certs={ROOT}/memtest/certs/ecdsa-p256"]
    _, threads, end = timed(go, "handshake", "rounds=50", "threads=2", *words, "tickets=1", "resume=on")
    assert all(thread.resumed == thread.rounds for thread in threads)
    assert end.negotiated.resumed and end.negotiated.group == group and end.negotiated.group_from == "session"


def test_a_client_that_is_not_to_be_trusted_fails_the_run(go, tmp_path):
    """Its chain goes up to the root of servers, which is not in a server's store of clients' roots."""
    for file in (ROOT / "memtest/certs/ecdsa-p256").iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    for file in "chain.pem", "key.pem":
        (tmp_path / f"client-{file}").write_bytes((tmp_path / file).read_bytes())
    words = [*AES_128, "group=X25519", f"certs={tmp_path}", "auth=mutual"]
    done = run(go, "handshake", "rounds=1", *words)
    assert done.returncode == 1 and '"record":"end"' not in done.stdout
    assert done.stderr.count("\n") == 1 and "certificate" in done.stderr, done.stderr


@pytest.mark.parametrize("cipher, sealed", [
    ("ECDHE-ECDSA-AES256-GCM-SHA384", "2b276ff85c91c63a559c04582e4ea5ab"),
    ("ECDHE-ECDSA-CHACHA20-POLY1305", None),
])  # fmt: skip
def test_the_tag_is_that_of_other_libraries_where_there_is_a_sealer(go, cipher, sealed):
    words = ["protocol=TLSv1.2", f"cipher={cipher}", "group=X25519", f"certs={ROOT}/memtest/certs/ecdsa-p256"]
    _, (thread,), end = timed(go, "throughput", "rounds=5", "size=20000", *words)
    assert end.sealed == sealed and ("seal" in parts(thread)) == (sealed is not None)
    if sealed:
        seal = parts(thread)["seal"]
        assert seal.count == 5 and seal.bytes == 5 * 49152  # of three writes, 60,000 bytes, in whole records
        assert sum(count for _, count in seal.histogram) == 5
