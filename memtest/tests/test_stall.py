"""The scenario stall: exact bytes of sessions whose peers stop, and points that a stack does not reach."""

import json
import shutil
from itertools import accumulate

import pytest
from test_core import FAULTY, NONE, ROOT, run

from tlsmem.config.scenarios import PHASES
from tlsmem.config.stall_points import stall_points

TLS13 = ["protocol=TLSv1.3", "cipher=TLS_AES_256_GCM_SHA384", "group=X25519"]
TLS12 = ["protocol=TLSv1.2", "cipher=ECDHE-RSA-AES256-GCM-SHA384", "group=X25519"]
SERVER_ONLY = [f"certs={ROOT}/memtest/certs/rsa-2048"]
MUTUAL = [*SERVER_ONLY, "auth=mutual"]
LARGE_CHAIN = [f"certs={ROOT}/memtest/certs/rsa-2048-large-client", "auth=mutual"]
SESSION_BYTES = 4072  # of the null stack, in three blocks
TICKETS = [*SERVER_ONLY, "tickets=1"]
NO_EXTENSIONS = {"hello-unknown", "hello-alpn", "hello-alpn-8k", "hello-name", "hello-psk", "hello-ticket"}


def stall(harness, point, *suite, sessions=20, heap=True, **environment):
    """The finished run, under the heap meter by default, and its lines."""
    done = run(harness, "stall", f"sessions={sessions}", f"point={point}", *suite, heap=heap, **environment)
    return done, [json.loads(line) for line in done.stdout.splitlines()]


def phases(harness, point, *suite, **options):
    """What was recorded, by phase."""
    done, lines = stall(harness, point, *suite, **options)
    assert done.returncode == 0, done.stderr
    assert lines[0]["settings"] == {"point": point}
    return {line["phase"]: line for line in lines if line["record"] == "phase"}


def pinned(of_phases, role, pairs=10):
    """Live bytes a session beyond those for a peer that is connected and silent."""
    silent, stalled = (of_phases[name]["heap"][role]["live_bytes"] for name in ("connected", "stalled"))
    assert (stalled - silent) % pairs == 0
    return (stalled - silent) // pairs


def kept(of_phases, role):
    before, after = (of_phases[name]["heap"][role]["live_bytes"] for name in ("contexts", "closed"))
    return after - before


@pytest.mark.parametrize(("point", "role"), [("silent", "server"), ("silent-server", "client")])
def test_a_null_session_holds_its_three_blocks_and_gives_them_back(null, point, role):
    found = phases(null, point, *NONE)
    assert list(found) == PHASES["stall"]
    growth = found["connected"]["heap"][role]["live_bytes"] - found["contexts"]["heap"][role]["live_bytes"]
    assert growth == 10 * SESSION_BYTES
    assert (pinned(found, role), kept(found, role)) == (0, 0)
    assert {phase["received_bytes"] for phase in found.values()} == {0}


def test_what_a_closed_session_keeps_is_seen():
    assert kept(phases(FAULTY, "silent", *NONE), "server") == 0
    assert kept(phases(FAULTY, "silent", *NONE, FAULT="leak 64"), "server") == 10 * 64


def test_a_later_session_that_does_not_reach_the_point_fails_the_run():
    """The first one did, so it is nothing that the stack cannot do."""
    done, lines = stall(FAULTY, "silent", *NONE, FAULT="speaks unasked")
    assert done.returncode == 1
    assert (
        "session 0 does not reach the point silent, although the first one did: "
        "the session answers, where it should wait for more" in done.stderr
    )
    assert lines[-1]["phase"] == "connected"


def test_a_point_of_tls_is_none_of_the_null_stack(program):
    done, lines = stall(program, "announced-hello", *NONE, heap=False)
    assert done.returncode == 77
    assert "without TLS no peer stops but one that sends nothing" in lines[-1]["reason"]


def test_an_unknown_point_is_refused_before_anything_runs(program):
    done = run(program, "stall", "sessions=2", "point=announced-helo", *NONE)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == ("memtest: point=announced-helo: no such point; docs/reference/records.md lists them\n")
    assert run(program, "stall", "sessions=2", *NONE).stderr == "memtest: point= is missing\n"
    assert run(program, "memory", "sessions=2", "point=silent", *NONE).returncode == 2


def test_the_core_has_the_points_that_the_tools_list(program):
    for point in stall_points():
        assert run(program, "stall", "sessions=2", f"point={point}", *NONE).returncode in (0, 77), point


def test_openssl_holds_what_eleven_bytes_announce(openssl):
    """grow_init_buf takes a buffer of 4/3 of the announced 131,396 bytes for one of 16,384, which it had before."""
    found = phases(openssl, "announced-hello", *TLS13, *SERVER_ONLY)
    assert found["stalled"]["received_bytes"] == 10 * 11
    assert pinned(found, "server") == 153_356
    assert kept(found, "server") == 0


@pytest.mark.parametrize(
    ("suite", "point"),
    [([*TLS12, *MUTUAL], "announced-certificate"), ([*TLS13, *LARGE_CHAIN], "certificate-first-record")],
)
def test_openssl_holds_a_certificate_that_has_not_arrived(openssl, suite, point):
    found = phases(openssl, point, *suite)
    assert pinned(found, "server") > 100_000
    assert kept(found, "server") == 0
    assert found["closed"]["heap"]["client"]["live_bytes"] == found["contexts"]["heap"]["client"]["live_bytes"]


def test_a_client_holds_what_a_server_announces(openssl):
    assert pinned(phases(openssl, "announced-server-hello", *TLS13, *SERVER_ONLY), "client") == 65_636


def test_a_byte_short_of_a_hello_is_received_and_waited_for(openssl, rustls):
    for harness in openssl, rustls:
        found = phases(harness, "hello-by-bytes", *TLS13, *SERVER_ONLY)
        whole = phases(harness, "unread-flight", *TLS13, *SERVER_ONLY)
        assert found["stalled"]["received_bytes"] == whole["stalled"]["received_bytes"] - 10


def test_what_a_library_refuses_is_unsupported_with_its_words(rustls):
    done, lines = stall(rustls, "announced-hello", *TLS13, *SERVER_ONLY)
    assert done.returncode == 77
    assert (
        "does not reach the point announced-hello: received corrupt message of type HandshakePayloadTooLarge"
        in lines[-1]["reason"]
    )
    assert [line["record"] for line in lines] == ["run", "end"]


@pytest.mark.parametrize("point", sorted(NO_EXTENSIONS - {"hello-ticket"}))
def test_a_large_hello_is_one_that_the_library_answers(openssl, point):
    """It is made of the stack's own, with one extension more: a server that answered it has parsed it."""
    plain = phases(openssl, "unread-flight", *TLS13, *SERVER_ONLY)["stalled"]["received_bytes"]
    found = phases(openssl, point, *TLS13, *SERVER_ONLY)["stalled"]["received_bytes"]
    assert found > plain


def test_a_point_of_another_protocol_says_so(openssl):
    done, lines = stall(openssl, "announced-certificate", *TLS13, *SERVER_ONLY)
    assert done.returncode == 77
    assert "the point announced-certificate is of TLSv1.2" in lines[-1]["reason"]


def names_of_authorities(directory):
    """The lengths of the names in ca-names.der, each with its own length in two bytes."""
    left, sizes = (directory / "ca-names.der").read_bytes(), []
    while left:
        sizes.append(2 + int.from_bytes(left[:2], "big"))
        left = left[sizes[-1] :]
    return sizes


@pytest.mark.thorough
def test_a_client_gets_as_many_names_as_the_point_has(openssl, rustls):
    """Of 150 names the message takes one record more, with its header of five bytes."""
    sizes = list(accumulate(names_of_authorities(ROOT / "memtest/certs")))
    assert len(sizes) == 150
    for harness in openssl, rustls:
        found = {n: phases(harness, f"request-{n}", *TLS12, *MUTUAL) for n in (1, 10, 150)}
        received = {n: one["stalled"]["received_bytes"] // 10 for n, one in found.items()}
        assert received[10] - received[1] == sizes[9] - sizes[0]
        assert received[150] - received[1] == sizes[149] - sizes[0] + 5
        held = {n: pinned(one, "client") for n, one in found.items()}
        assert held[150] - held[1] == 0 if harness is rustls else held[150] - held[1] > 5 * sizes[149]
        assert kept(found[150], "client") == 0


def test_too_few_names_and_no_file_of_them_are_a_sentence(openssl, tmp_path):
    shutil.copytree(ROOT / "memtest/certs/rsa-2048", tmp_path / "rsa-2048")
    suite = [*TLS12, f"certs={tmp_path}/rsa-2048", "auth=mutual"]
    done, _ = stall(openssl, "request-10", *suite)
    assert done.returncode == 1
    assert "ca-names.der: there is no such file; memtest/certs/make_certs.sh makes it" in done.stderr
    (tmp_path / "ca-names.der").write_bytes(b"\0\2\x30\0" * 9)
    done, _ = stall(openssl, "request-10", *suite)
    assert done.returncode == 1
    assert "memtest/certs/ca-names.der has fewer than 10 names" in done.stderr


def test_a_client_keeps_the_ticket_that_it_was_sent(openssl):
    small, large = (phases(openssl, point, *TLS12, *TICKETS) for point in ("ticket", "ticket-64k"))
    assert large["stalled"]["received_bytes"] > 10 * 65_529 > small["stalled"]["received_bytes"]
    assert pinned(large, "client") - pinned(small, "client") > 65_529 - 256
    assert kept(large, "client") == 0


def test_a_ticket_needs_a_suite_with_tickets(openssl):
    done, lines = stall(openssl, "ticket", *TLS12, *SERVER_ONLY)
    assert done.returncode == 77
    assert "the point ticket is of a suite with tickets" in lines[-1]["reason"]


@pytest.mark.parametrize("point", ["hello-name-256", "hello-name-60k"])
def test_a_host_name_longer_than_a_library_takes_is_unsupported_with_its_words(openssl, point):
    done, lines = stall(openssl, point, *TLS13, *SERVER_ONLY)
    assert done.returncode == 77
    assert (
        f"does not reach the point {point}: handshake: " in lines[-1]["reason"]
        and "bad extension" in lines[-1]["reason"]
    )


def test_a_key_share_is_sent_as_often_as_it_fits(openssl):
    """416 times, of 36 bytes for X25519, where a plain ClientHello has it once."""
    plain, many = (phases(openssl, point, *TLS13, *SERVER_ONLY) for point in ("unread-flight", "hello-key-shares"))
    received = [found["stalled"]["received_bytes"] // 10 for found in (plain, many)]
    assert received[1] - received[0] == 415 * 36
    assert kept(many, "server") == 0


@pytest.mark.parametrize(
    ("point", "role", "suite"), [("client-flight", "server", MUTUAL), ("server-flight", "client", SERVER_ONLY)]
)
def test_a_whole_flight_completes_the_session(openssl, rustls, point, role, suite):
    """Its handshake's buffers are free again: it holds less than one whose peer is silent, and nothing once closed."""
    for harness in openssl, rustls:
        found = phases(harness, point, *TLS13, *suite)
        assert kept(found, role) == 0
        assert found["stalled"]["received_bytes"] > 10 * 2_000
    assert pinned(phases(openssl, point, *TLS13, *suite), role) < 0


def test_a_flight_of_a_large_chain_arrives_whole(openssl):
    first, whole = (
        phases(openssl, point, *TLS13, *LARGE_CHAIN)["stalled"]["received_bytes"] // 10
        for point in ("certificate-first-record", "client-flight")
    )
    assert first < 20_000 and whole > 90_000
