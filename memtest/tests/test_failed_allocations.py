"""A run in which memory was refused is no measurement, and says why."""

import subprocess

import pytest
from test_core import run
from test_two_processes import RSA, built

# Verification as it ends in OpenSSL when memory is refused: below 1, and the chain is not judged.
UNDECIDED = "int X509_verify_cert(void *context) { (void)context; return -1; }"


@pytest.fixture
def undecided(tmp_path):
    library = tmp_path / "undecided.so"
    command = ["gcc", "-shared", "-fPIC", "-o", library, "-xc", "-"]
    subprocess.run(command, input=UNDECIDED, text=True, check=True)
    return str(library)


@pytest.mark.parametrize("suite", RSA)
def test_verification_without_memory_is_not_said_to_be_fine(undecided, suite):
    harness = built("openssl@system")  # whose X509_verify_cert can be another's
    done = run(harness, "memory", "sessions=2", *RSA[suite], LD_PRELOAD=undecided)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert done.stderr.endswith("handshake: the peer's chain: no verdict, as when memory is out\n")
