"""Certificates that stacks may refuse, one certificate for each client, and servers that drop their clients' chains."""

import json
import shutil

import pytest
from test_core import FAULTY, NONE, ROOT, run

from tests.support import built_harness

TLS13 = ["protocol=TLSv1.3", "cipher=TLS_AES_256_GCM_SHA384", "group=X25519"]
TLS12 = ["protocol=TLSv1.2", "cipher=ECDHE-ECDSA-AES256-GCM-SHA384", "group=X25519"]  # Go's 1.3 has AES-128 only
SUITES = {"openssl@3.5.5": TLS13, "rustls+aws-lc@0.23.46": TLS13, "go@1.26.8": TLS12}
CLIENTS = ROOT / "memtest/certs/ecdsa-p256-clients"


@pytest.fixture(params=SUITES)
def stack(request):
    """A harness and the words of a suite that it can do."""
    return built_harness.find(request.param), SUITES[request.param]


def measure(stack, certs, *arguments, **options):
    harness, suite = stack
    return run(harness, "memory", *suite, f"certs={certs}", "auth=mutual", *arguments, **options)


def pretend(fault, *arguments, certs=CLIENTS):
    """The null stack, whose servers say so of whom they have verified."""
    words = [word for word in NONE if not word.startswith(("certs=", "auth="))]
    return run(FAULTY, "memory", *words, f"certs={certs}", "auth=mutual", *arguments, FAULT=fault)


@pytest.fixture
def certs(tmp_path):
    """A copy of the certificates of many clients."""
    return shutil.copytree(CLIENTS, tmp_path / CLIENTS.name, symlinks=True)


def reason(done):
    return json.loads(done.stdout.splitlines()[-1])["reason"]


def test_each_client_has_its_own_certificate_and_all_are_verified(stack):
    done = measure(stack, CLIENTS, "sessions=20", "client_certs=each")
    assert done.returncode == 0, done.stderr
    agreed = json.loads(done.stdout.splitlines()[-1])["negotiated"]
    assert (agreed["client_verified"], agreed["server_verified"]) == (True, True)


def test_servers_that_verified_one_certificate_twice_end_the_run(stack, certs):
    for name in "client-chain.pem", "client-key.pem":
        shutil.copy(certs / "clients/003" / name, certs / "clients/007" / name)
    done = measure(stack, certs, "sessions=20", "client_certs=each")
    assert done.returncode == 1
    assert "servers 3 and 7 verified the same certificate, the suite has client_certs=each" in done.stderr
    assert measure(stack, certs, "sessions=14", "client_certs=each").returncode == 0, "the eighth client was not there"


def test_all_clients_have_one_certificate_unless_each_has_its_own(stack, certs):
    shutil.rmtree(certs / "clients")
    assert measure(stack, certs, "sessions=20").returncode == 0
    assert measure(stack, certs, "sessions=20", "client_certs=same").returncode == 0


def test_too_few_certificates_are_said_and_nothing_is_measured(stack, certs):
    shutil.rmtree(certs / "clients/009")
    assert measure(stack, certs, "sessions=18", "client_certs=each").returncode == 0
    done = measure(stack, certs, "sessions=20", "client_certs=each")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert f"{certs} has certificates of 9 clients, and sessions=20 needs 10;" in done.stderr


@pytest.mark.parametrize(
    ("fault", "client_certs", "says"),
    [
        ("verified: one", "same", None),
        ("verified: each", "each", None),
        ("verified: untold", "same", None),
        ("verified: each", "same", "server 1 verified another certificate than the servers before it"),
        ("verified: one", "each", "servers 0 and 1 verified the same certificate"),
    ],
)
def test_the_core_compares_what_servers_say_of_their_clients(fault, client_certs, says):
    done = pretend(fault, "sessions=8", f"client_certs={client_certs}")
    assert done.returncode == (1 if says else 0), done.stderr
    assert not says or says in done.stderr


def test_a_stack_that_keeps_nothing_of_its_clients_shows_no_difference():
    done = pretend("verified: untold", "sessions=8", "client_certs=each")
    assert done.returncode == 77
    assert "client_certs=each: keeps nothing of a client's certificate" in reason(done)


@pytest.mark.parametrize(
    ("scenario", "arguments", "says"),
    [
        ("memory", ["sessions=2", "client_certs=many"], "client_certs=many: must be same or each"),
        ("memory", ["sessions=2", "client_certs=each", "auth=server"], "client_certs=each needs auth=mutual"),
        ("stall", ["sessions=2", "point=silent", "client_certs=each"], "client_certs=each is of the scenario memory"),
        ("handshake", ["rounds=2", "client_certs=each"], "client_certs=each is of the scenario memory"),
        ("memory", ["sessions=2", "options=drop"], "options=drop: must be default, low-memory or drop-peer-chain"),
    ],
)
@pytest.mark.parametrize("program", ["null@c", "null@rust"])
def test_what_goes_with_no_other_argument_is_refused_before_anything_runs(program, scenario, arguments, says):
    done = run(ROOT / "build/harness" / program, scenario, *NONE, "auth=mutual", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr


def test_a_chain_that_may_be_refused_is_unsupported_in_the_library_s_own_words(stack, certs):
    (certs / "client-chain.pem").write_bytes((certs / "chain.pem").read_bytes())  # of another key
    failed = measure(stack, certs, "sessions=2")
    assert failed.returncode == 1
    (certs / "may-be-refused").write_text("for this test\n")
    done = measure(stack, certs, "sessions=2")
    assert done.returncode == 77, done.stderr
    assert "does not take the suite's certificates: " in reason(done)
    assert failed.stderr.split(": ", 2)[2].strip() in reason(done)


def test_no_peer_chain_is_dropped_where_no_client_has_one():
    done = run(FAULTY, "memory", *NONE, "sessions=2", "options=drop-peer-chain")
    assert done.returncode == 77
    assert "only clients that authenticate have a chain to drop" in reason(done)


def test_a_library_without_the_option_says_so(stack):
    done = measure(stack, CLIENTS, "sessions=2", "options=drop-peer-chain")
    assert done.returncode == 77
    assert "options=drop-peer-chain: has no option for it" in reason(done)
