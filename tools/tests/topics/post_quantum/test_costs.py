"""Post-quantum suites: what differs between them, and certificates as long as FIPS 204 has keys and signatures."""

import base64
import re

import pytest

from tlsmem.base.paths import ROOT
from tlsmem.stats.selection import select
from tlsmem.store import read_runs
from tlsmem.topics.post_quantum.costs import (
    Choice,
    choice_of,
    find_certificate_rows,
    is_of_certificates,
    is_of_key_exchange,
)

PUBLIC_KEY_AND_SIGNATURE = {"mldsa-44": 1312 + 2420, "mldsa-65": 1952 + 3309, "mldsa-87": 2592 + 4627}  # FIPS 204
LEAF_BYTES = {"mldsa-44": 4195, "mldsa-65": 5724, "mldsa-87": 7682}
SEED_BYTES = 32
CLIENT_MLDSA65 = ("client", Choice("mldsa-65", "server", "X25519", None))


def read_pem(path):
    """The DER of each object in a file."""
    found = re.findall(r"-----BEGIN [^-]+-----(.*?)-----END", path.read_text(), re.DOTALL)
    return [base64.b64decode("".join(text.split())) for text in found]


@pytest.mark.parametrize("kind", LEAF_BYTES)
@pytest.mark.parametrize("prefix", ["", "client-"])
def test_a_chain_has_a_leaf_and_an_intermediate_of_ml_dsa_and_a_key_that_is_its_seed(kind, prefix):
    folder = ROOT / "memtest/certs" / kind
    chain = read_pem(folder / f"{prefix}chain.pem")
    assert len(chain) == 2
    for certificate in chain:
        assert 0 < len(certificate) - PUBLIC_KEY_AND_SIGNATURE[kind] < 600
    assert len(chain[0]) == LEAF_BYTES[kind] + 21 * bool(prefix)  # `client-` in three names
    (key,) = read_pem(folder / f"{prefix}key.pem")
    assert len(key) == SEED_BYTES + 22


def test_suites_differ_in_one_choice():
    assert choice_of("tls13-mldsa65-aes256") == ("TLS_AES_256_GCM_SHA384", Choice("mldsa-65", "server", "X25519", None))
    _, choice = choice_of("tls13-rsa-aes256-p384-retry")
    assert choice == Choice("rsa-2048", "server", "P-384", "X25519:P-384")
    assert is_of_key_exchange(choice) and not is_of_certificates(choice)
    assert choice_of("tls13-rsa-aes256-ticket") is None and choice_of("no-such-suite") is None


@pytest.mark.thorough
def test_the_recorded_campaign_has_rows_whose_sessions_are_in_use():
    """OpenSSL's client keeps 26,502 B more for an ML-DSA-65 chain than for one of RSA-2048, with full records."""
    runs = read_runs.load(ROOT / "data/2026-11-24-amd-epyc-p0457-post-quantum")
    rows = find_certificate_rows(select(run for run in runs if run.stack == "openssl@3.5.5"))
    (client,) = [row for row in rows if (row.role, row.choice) == CLIENT_MLDSA65]
    assert (
        client.beyond(lambda choice: client.live("blocked", choice), client.choice._replace(certs="rsa-2048")) == 26_502
    )
