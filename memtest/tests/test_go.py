"""The harness in Go: no line of the core is in it, and what it says and does is the same; its heap is its runtime's."""

import json

import pytest
from test_core import METER, NONE, OPEN, PHASES, phases, run
from test_two_processes import CERTS, RSA, built, split

from tlsmem.base.paths import ROOT
from tlsmem.build import go_stack
from tlsmem.config.definitions import stacks

GO = "go@1.26.8"
MIXED = ["null@go", "null@c"], ["null@c", "null@go"]
SUITES = {
    "tls12": RSA["tls12"],
    "tls13": ["protocol=TLSv1.3", "cipher=TLS_AES_128_GCM_SHA256", "group=X25519", f"certs={CERTS}"],
    "tls13-pq": ["protocol=TLSv1.3", "cipher=TLS_AES_128_GCM_SHA256", "group=X25519MLKEM768", f"certs={CERTS}"],
}
BLOCKS = 48 + 1024 + 3072  # of a null session, by Go's size classes
HARNESS = 8 + 48 + 112  # a session's place, what it knows, and the channel by which it is woken
GOROUTINE_BYTES = 700  # at most, beside its stack: the runtime's record of it, and of what it waits for
STACK_BYTES = 2048  # of a goroutine, the smallest there is


@pytest.fixture(scope="module")
def null():
    return built("null@go")


@pytest.fixture(scope="module")
def null_left_alone(tmp_path_factory):
    """The null harness with the tag of go+left-alone."""
    binary = tmp_path_factory.mktemp("left-alone") / "null"
    stack = stacks()["null@go"].model_copy(update={"features": stacks()["go+left-alone@1.27.4"].features})
    go_stack.build("null@go", stack, binary, ROOT, binary.with_suffix(".log"))
    return binary


@pytest.fixture(params=SUITES)
def suite(request):
    return SUITES[request.param]


def measured(harness, sessions, *arguments, scenario="memory"):
    done = run(harness, scenario, f"sessions={sessions}", *arguments)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {line["phase"]: line for line in lines if line["record"] == "phase"}


def slope(few, many, sessions, figure, phase):
    """Bytes of the runtime's figure that one more session adds."""
    return (many[phase]["allocator"]["go"][figure] - few[phase]["allocator"]["go"][figure]) / sessions


@pytest.mark.thorough
def test_a_null_session_is_its_three_blocks_and_a_goroutine(null):
    few, many = (measured(null, sessions, *NONE, "cpu=0") for sessions in (1000, 5000))
    for phase in OPEN:
        beside = slope(few, many, 4000, "live_bytes", phase) - BLOCKS - HARNESS
        assert 400 < beside < GOROUTINE_BYTES, phase
        assert abs(slope(few, many, 4000, "stack_inuse_bytes", phase) - STACK_BYTES) < 20, phase
        rss = (many[phase]["rss_anon_bytes"] - few[phase]["rss_anon_bytes"]) / 4000
        assert BLOCKS + STACK_BYTES < rss < 1.1 * (BLOCKS + HARNESS + beside + STACK_BYTES), phase
    assert slope(few, many, 4000, "live_bytes", "closed") < GOROUTINE_BYTES


@pytest.mark.slow
def test_live_bytes_of_a_session_repeat(suite):
    """But for what the runtime has once, such as one thread more or less: some 5,000 bytes."""
    quick = [word.replace("ECDHE-RSA", "ECDHE-ECDSA").replace("rsa-2048", "ecdsa-p256") for word in suite]
    runs = [[measured(built(GO), sessions, *quick, "cpu=0") for sessions in (100, 1600)] for _ in range(2)]
    for phase in list(runs[0][0])[1:-3]:  # while they are open
        one, other = (slope(few, many, 1500, "live_bytes", phase) for few, many in runs)
        assert abs(one - other) < 8, phase
    assert slope(*runs[0], 1500, "live_bytes", "established") > 4000


@pytest.mark.thorough
def test_rss_is_read_before_a_collection_and_after_it(null):
    """Freed sessions are garbage until the collection at that phase's end."""
    closed = measured(null, 4000, *NONE, "cpu=0")["closed"]
    given_back = closed["rss_bytes"] - closed["allocator"]["go"]["rss_after_collection_bytes"]
    assert 0.9 < given_back / (4000 * (BLOCKS + STACK_BYTES)) < 1.5  # pages that live blocks share stay


@pytest.mark.thorough
def test_left_alone_it_gives_nothing_back_before_it_is_trimmed(null, null_left_alone):
    forced, alone = (measured(harness, 4000, *NONE, "cpu=0") for harness in (null, null_left_alone))
    assert forced["closed"]["allocator"]["go"].keys() - alone["closed"]["allocator"]["go"].keys() == {
        "live_bytes", "rss_after_collection_bytes",
    }  # fmt: skip
    freed = 4000 * (BLOCKS + STACK_BYTES)
    assert forced["closed"]["rss_bytes"] - forced["freed"]["rss_bytes"] > freed
    assert alone["closed"]["rss_bytes"] >= alone["idle"]["rss_bytes"]
    assert alone["closed"]["rss_bytes"] - alone["trimmed"]["rss_bytes"] > freed
    line = json.loads(run(null_left_alone, "memory", "sessions=2", *NONE).stdout.splitlines()[0])
    assert [note.partition(":")[0] for note in line["notes"]][-1] == "left alone"


@pytest.mark.thorough
@pytest.mark.parametrize("peer", [GO, "openssl@3.5.5"])
def test_with_data_full_each_end_holds_the_buffer_of_a_full_record_while_it_waits(peer):
    """crypto/tls keeps the buffer that it read a record into: 16 KiB and more by its size class, whoever sent it."""
    suite = [word.replace("rsa-2048", "ecdsa-p256") for word in SUITES["tls13"]]
    for role, ends, sent in (("client", [GO, peer], "full reply"), ("server", [peer, GO], "full payload")):
        few, many = (
            split([built(name) for name in ends], n, *suite, "data=full", "cpu=0")[0][role] for n in (200, 1200)
        )
        live = {phase: slope(few, many, 500, "live_bytes", phase) for phase in many}
        assert 16_300 < live[sent] - live["reply"] < 18_500
        assert abs(live["blocked"] - live["full reply"]) < 8
        stacks_held = [slope(few, many, 500, "stack_inuse_bytes", phase) for phase in ("established", "blocked")]
        assert abs(stacks_held[0] - stacks_held[1]) < 200


def test_bytes_in_flight_are_those_of_the_harness_in_c(null):
    for arguments in [], ["window=7"]:
        in_c, in_go = (phases(harness, 200, *arguments) for harness in (built("null@c"), null))
        assert [line["wire_bytes"] for line in in_go.values()] == [line["wire_bytes"] for line in in_c.values()]


@pytest.mark.parametrize("ends", MIXED, ids=lambda ends: " with ".join(ends))
@pytest.mark.parametrize("arguments", [[], ["window=7"]])
def test_harnesses_of_two_languages_share_wires_and_barrier(ends, arguments):
    recorded, _ = split([built(name) for name in ends], 200, *NONE, *arguments)
    in_c = phases(built("null@c"), 200, *arguments)
    for role in recorded.values():
        assert list(role) == PHASES
        assert [line["wire_bytes"] for line in role.values()] == [line["wire_bytes"] for line in in_c.values()]


@pytest.mark.parametrize("other", ["openssl@3.5.5", "rustls+aws-lc@0.23.46"])
@pytest.mark.parametrize("go_is", ["client", "server"])
def test_it_talks_with_another_stack_and_each_says_whom_it_verified(other, go_is, suite):
    names = [GO, other] if go_is == "client" else [other, GO]
    recorded, (client, server) = split([built(name) for name in names], 20, *suite)
    assert list(recorded["client"]) == list(recorded["server"])
    assert (client["client_verified"], client["server_verified"]) == (True, None)
    assert (server["client_verified"], server["server_verified"]) == (None, False)
    for field in "protocol", "cipher", "group", "resumed":
        assert client[field] == server[field]


@pytest.mark.slow
@pytest.mark.parametrize("kept", ["client", "server"])
def test_a_kept_role_holds_what_it_holds_in_a_process_of_its_own(kept, suite):
    together = [measured(built(GO), sessions, *suite, f"keep={kept}", "cpu=0") for sessions in (100, 300)]
    apart = [split([built(GO)] * 2, sessions, *suite, "cpu=0")[0][kept] for sessions in (100, 300)]
    one, other = (slope(*runs, 200, "live_bytes", "established") for runs in (together, apart))
    assert abs(one - other) < 520  # of every freed peer the runtime keeps the record of its goroutine
    assert one >= other


def test_what_is_preloaded_is_not_taken_for_a_meter(null):
    done = run(null, "memory", "sessions=2", *NONE, heap=True)
    assert done.returncode == 77 and f"LD_PRELOAD={METER} has no effect" in done.stderr


@pytest.mark.thorough
def test_the_runtime_is_as_by_default_whatever_the_environment_says(null):
    done = run(null, "memory", "sessions=2", *NONE, GOGC="off", GOMEMLIMIT="1KiB", GODEBUG="tlsmlkem=0,cpu.avx=off")
    assert done.returncode == 0 and done.stderr == ""
    said = json.loads(done.stdout.splitlines()[0])["notes"]
    assert "GOGC=100, GOMEMLIMIT=off: Go's defaults, whatever the environment says" in said
    assert "GODEBUG=cpu.avx=off" in said


def test_the_laboratory_is_what_the_other_harnesses_have(null):
    first = [json.loads(run(built(name), "memory", "sessions=2", *NONE, "cpu=0").stdout.splitlines()[0])
             for name in ("null@c", "null@go")]  # fmt: skip
    for key in "schema", "scenario", "sessions", "role", "keep", "threads", "window", "meter", "aslr", "thp", "cpu":
        assert first[0][key] == first[1][key], key


def test_aes_256_cannot_be_asked_of_it_in_tls_1_3():
    done = run(built(GO), "memory", "sessions=2", *RSA["tls13"])
    assert done.returncode == 77
    assert (
        "takes TLS_AES_128_GCM_SHA256 first in TLS 1.3 on this CPU, and no setting has it take TLS_AES_256"
        in done.stderr
    )


@pytest.mark.parametrize("features", ["cpu.aes=off", "cpu.all=off"])
def test_without_aes_instructions_it_takes_chacha20_in_tls_1_3_and_does_tls_1_2(features):
    aes, chacha = ("cipher=TLS_AES_128_GCM_SHA256", "cipher=TLS_CHACHA20_POLY1305_SHA256")
    tls13 = [word for word in RSA["tls13"] if not word.startswith("cipher=")]
    done = run(built(GO), "memory", "sessions=2", *tls13, aes, GODEBUG=features)
    assert done.returncode == 77
    assert "takes TLS_CHACHA20_POLY1305_SHA256 first in TLS 1.3 on this CPU" in done.stderr
    assert run(built(GO), "memory", "sessions=2", *tls13, chacha, GODEBUG=features).returncode == 0
    assert run(built(GO), "memory", "sessions=2", *RSA["tls12"], GODEBUG=features).returncode == 0


def test_with_marks_nothing_is_collected_for_its_sake(null):
    assert all("allocator" not in line for line in measured(null, 20, *NONE, "marks=1").values())


def stalled(point, *suite):
    """Bytes of live heap and of goroutine stack that a session of crypto/tls gains, by phase; and what it was sent."""
    few, many = (measured(built(GO), n, f"point={point}", *suite, "cpu=0", scenario="stall") for n in (200, 1000))
    figures = ("live_bytes", "stack_inuse_bytes")
    grown = {phase: [slope(few, many, 400, figure, phase) for figure in figures] for phase in many}
    received = many["stalled"]["received_bytes"] / 500
    return grown, received


def test_eleven_bytes_pin_no_more_than_a_buffer_of_64():
    """crypto/tls takes what has arrived, not what is announced."""
    grown, received = stalled("announced-hello-16k", *SUITES["tls13"])
    heap, stack = (after - before for before, after in zip(grown["connected"], grown["stalled"], strict=True))
    assert received == 11
    assert abs(heap - 64) < 8 and abs(stack) < 100


@pytest.mark.thorough
def test_a_goroutine_keeps_the_stack_that_its_handshake_grew():
    """A server waits for a hello in a stack of 4 KiB, and once it has answered in one of 8 KiB."""
    grown, _ = stalled("unread-flight", *SUITES["tls13"])
    assert abs(grown["connected"][1] - 4096) < 300
    assert abs(grown["stalled"][1] - 8192) < 300


@pytest.mark.thorough
def test_names_of_a_hello_are_kept_as_strings():
    """A name of 9 bytes takes 16 of a string's header, 16 of its size class, and its part of a slice that doubled."""
    large, received = stalled("hello-alpn", *SUITES["tls13"])
    assert received > 60_000
    assert large["stalled"][0] > 5 * received
    assert large["closed"][0] < GOROUTINE_BYTES


@pytest.mark.thorough
def test_a_certificate_that_has_begun_is_held_as_far_as_it_has_arrived():
    words = [word.replace("rsa-2048", "rsa-2048-large-client") for word in SUITES["tls13"]]
    grown, received = stalled("certificate-first-record", *words, "auth=mutual")
    assert 16_000 < received < 17_000
    assert 2 * received < grown["stalled"][0] < 3 * received


@pytest.mark.parametrize(("point", "most"), [("announced-hello", 131396), ("announced-server-hello", 65607)])
def test_what_it_refuses_is_unsupported_with_its_words(point, most):
    done = run(built(GO), "stall", "sessions=2", f"point={point}", *SUITES["tls13"])
    words = (
        f"does not reach the point {point}: handshake: tls: handshake message of length {most} bytes exceeds maximum"
    )
    assert done.returncode == 77 and words in done.stderr


def test_churned_sessions_are_collected_and_their_goroutines_used_again(null):
    """From the second wave on all waves are alike."""
    done = run(null, "churn", "sessions=400", "pattern=waves", "waves=5", *NONE, "cpu=0")
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    for name in "open", "closed":
        live = [line["allocator"]["go"]["live_bytes"] for line in lines if line.get("phase") == name]
        assert max(live[1:]) - min(live[1:]) < 6000, name  # a thread of the runtime's, at most
