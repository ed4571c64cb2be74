"""The AEAD of every stack that is built, called directly: it makes the same of the same."""

import json

import pytest
from test_core import ROOT, run
from test_timed import lines, parts

from tests.support import built_harness
from tlsmem.config.definitions import stacks

# The tag of the first record, by the Python package cryptography 50.0.2: AESGCM or ChaCha20Poly1305 of the key 0, 1, 2,
# ..., encrypt(bytes(12), bytes(i % 256 for i in range(16384)), bytes(13))[-16:].
SEALED = {
    "aes128": "42e2385269986a085397bac01d4a4387",
    "aes256": "2b276ff85c91c63a559c04582e4ea5ab",
    "chacha20": "70041a83aed7f5560b46a7cdc1300aba",
}
CIPHERS = {
    "aes128": {"TLSv1.3": "TLS_AES_128_GCM_SHA256", "TLSv1.2": "ECDHE-RSA-AES128-GCM-SHA256"},
    "aes256": {"TLSv1.3": "TLS_AES_256_GCM_SHA384", "TLSv1.2": "ECDHE-RSA-AES256-GCM-SHA384"},
    "chacha20": {"TLSv1.3": "TLS_CHACHA20_POLY1305_SHA256", "TLSv1.2": "ECDHE-RSA-CHACHA20-POLY1305"},
}


def sealed(harness, cipher):
    """The tag and the thread, in the newest protocol that the stack does with this cipher; None where in none."""
    for protocol, name in CIPHERS[cipher].items():
        suite = [f"protocol={protocol}", f"cipher={name}", "group=X25519", f"certs={ROOT}/memtest/certs/rsa-2048"]
        done = run(harness, "throughput", *suite, "rounds=2", "warmup=1", "size=100000")
        if done.returncode != 77:
            _, (thread,) = lines(done)
            return json.loads(done.stdout.splitlines()[-1]).get("sealed"), thread
    return None


@pytest.mark.parametrize("cipher", sorted(SEALED))
@pytest.mark.parametrize("stack", built_harness.choose(sorted(name for name, stack in stacks().items() if stack.tls)))
def test_the_aead_of_every_stack_makes_the_same_of_the_same(stack, cipher):
    harness = built_harness.find(stack)
    found = sealed(harness, cipher)
    if found is None:
        pytest.skip(f"{stack} does not have this cipher")
    tag, thread = found
    if cipher in stacks()[stack].expect.not_sealed:
        pytest.skip(f"{stack} has no call of this AEAD")
    assert tag == SEALED[cipher]
    assert parts(thread)["seal"].count == 2 and parts(thread)["seal"].bytes == 2 * 6 * 16384
