"""What the register of advisories is measured with: stacks that compress certificates, and that check staples."""

import pytest
from test_stall import MUTUAL, ROOT, SERVER_ONLY, TLS13, kept, phases, pinned

from tests.support import built_harness
from tlsmem.run import certificates

COMPRESSING = ("openssl+compress@3.5.4", "openssl+compress@4.0.3", "boringssl+compress@5.4.0", "awslc+compress@5.12.0")
STAPLED = [f"certs={ROOT}/memtest/certs/rsa-2048-empty-staple"]


def received(found):
    return found["stalled"]["received_bytes"] // 10


def padded(kind):
    certificates.make_padded(kind)
    return f"certs={ROOT}/build/certs/{kind}"


@pytest.mark.parametrize("stack", COMPRESSING)
def test_a_padded_chain_of_a_server_arrives_compressed_and_is_held_whole(stack):
    harness = built_harness.find(stack)
    found = phases(harness, "server-flight", *TLS13, padded("rsa-2048-padded-server-90k"))
    plain = phases(harness, "server-flight", *TLS13, *SERVER_ONLY)
    assert received(found) < 3_000
    assert pinned(found, "client") - pinned(plain, "client") > 90_000
    assert kept(found, "client") == 0


@pytest.mark.parametrize("stack", [one for one in COMPRESSING if one.startswith("openssl")])
def test_a_server_decompresses_what_a_client_sends(stack):
    harness = built_harness.find(stack)
    found = phases(harness, "client-flight", *TLS13, padded("rsa-2048-padded-client-90k"), "auth=mutual")
    plain = phases(harness, "client-flight", *TLS13, *MUTUAL)
    assert received(found) - received(plain) < 100  # the plain chain is compressed too
    assert pinned(found, "server") - pinned(plain, "server") > 180_000


@pytest.mark.parametrize(("stack", "bytes_kept"), [("openssl+staple@4.0.1", 60_253), ("openssl+staple@4.0.2", 0)])
def test_a_staple_without_an_answer_is_freed_since_the_correction(stack, bytes_kept):
    """What stays is the parsed response with its signature of 60,001 bytes, for each session."""
    harness = built_harness.find(stack)
    assert kept(phases(harness, "server-flight", *TLS13, *STAPLED), "client") == 10 * bytes_kept
    assert kept(phases(harness, "server-flight", *TLS13, *SERVER_ONLY), "client") == 0
