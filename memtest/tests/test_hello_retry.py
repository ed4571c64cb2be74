"""A HelloRetryRequest is verified on the wire: where it is claimed it must be there, and nowhere else."""

import json

import pytest
from test_core import FAULTY, NONE, ROOT, run

from tests.support import built_harness

TLS13 = ["protocol=TLSv1.3", "cipher=TLS_AES_128_GCM_SHA256", f"certs={ROOT}/memtest/certs/rsa-2048"]
SCENARIOS = {"memory": ["sessions=6"], "handshake": ["rounds=3"], "throughput": ["rounds=2"]}
MUST_NAME = "memtest: client_groups= must be library, or names with colons between, of which one is group=\n"
NOT_ASKED = "received a HelloRetryRequest, where the client's first group is its server's"
MISSING = "received no HelloRetryRequest, where the client's first group is not its server's"


@pytest.fixture(params=["openssl@3.5.5", "rustls+aws-lc@0.23.46", "go@1.26.8"])
def stack(request):
    return built_harness.find(request.param)


def retried(done):
    """What the end line says of it."""
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])["negotiated"]["retried"]


def run_faulty(fault, scenario, *words):
    return run(FAULTY, scenario, *SCENARIOS[scenario], *NONE, *words, FAULT=fault)


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize(
    "groups", [[], ["client_groups=None"], ["client_groups=none:P-192"], ["client_groups=library"]]
)
def test_without_one_there_is_none(program, scenario, groups):
    assert retried(run(program, scenario, *SCENARIOS[scenario], *NONE, *groups)) is False


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize(
    ("fault", "groups", "sentence"),
    [
        ("", "P-192:none", MISSING),
        ("almost retries", "P-192:none", MISSING),
        ("retries", "none:P-192", NOT_ASKED),
        ("retries", "none", NOT_ASKED),
    ],
)
def test_one_that_is_missing_or_not_asked_for_ends_the_run(scenario, fault, groups, sentence):
    done = run_faulty(fault, scenario, f"client_groups={groups}")
    assert (done.returncode, done.stderr) == (1, f"memtest: null: client 0 {sentence}\n")


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("groups", ["P-192:none", "library"])
def test_one_that_is_asked_for_or_that_the_library_chooses_is_recorded(scenario, groups):
    assert retried(run_faulty("retries", scenario, f"client_groups={groups}")) is True


def test_all_sessions_begin_alike_where_the_library_chooses():
    done = run_faulty("retries later", "memory", "client_groups=library")
    assert done.returncode == 1
    assert done.stderr == "memtest: null: client 0 received a HelloRetryRequest, other than the first one\n"


@pytest.mark.parametrize("groups", ["", "P-192", "none:", ":none", "none::P-192", "Library"])
def test_a_list_without_the_servers_group_is_refused(program, groups):
    done = run(program, "memory", "sessions=2", *NONE, f"client_groups={groups}")
    assert (done.returncode, done.stderr, done.stdout) == (2, MUST_NAME, "")


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_library_sends_one_to_a_client_of_another_group(stack, scenario):
    words = [scenario, *SCENARIOS[scenario], *TLS13]
    assert retried(run(stack, *words, "group=P-384", "client_groups=X25519:P-384")) is True
    assert retried(run(stack, *words, "group=X25519", "client_groups=X25519:P-384")) is False
    assert retried(run(stack, *words, "group=X25519", "client_groups=library")) is False


def test_a_group_that_a_library_does_not_have_is_unsupported(stack):
    done = run(stack, "memory", "sessions=2", *TLS13, "group=X25519", "client_groups=X25519:X448-Q")
    assert done.returncode == 77 and "does not have this group (TLSv1.3, TLS_AES_128_GCM_SHA256, X25519)" in done.stderr
