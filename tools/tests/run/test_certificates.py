"""Chains that are padded for runs: DER that a library parses, as long as the directory's `padding` says."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tlsmem.base.errors import UserError
from tlsmem.base.paths import ROOT
from tlsmem.config.certificates import certificate_sizes, is_padded
from tlsmem.run import certificates

MAKER = ROOT / "memtest/certs/make_padded.py"
HEADERS = 36  # the extension's 11 bytes of name and four headers of it; headers above it that become longer


@pytest.fixture
def padded(tmp_path, monkeypatch):
    """padded(KIND): its directory as a run has it, below a directory of the test."""
    monkeypatch.setattr(certificates, "MADE", tmp_path)
    certificates.make_padded.cache_clear()

    def make(kind: str) -> Path:
        certificates.make_padded(kind)
        return tmp_path / kind

    yield make
    certificates.make_padded.cache_clear()


def test_a_server_s_leaf_is_longer_and_signed_again(padded):
    made, plain = padded("rsa-2048-padded-server-90k"), ROOT / "memtest/certs/rsa-2048-many"
    (before, above), (longer, still) = (certificate_sizes(place / "chain.pem") for place in (plain, made))
    assert above == still and 90_000 < longer - before <= 90_000 + HEADERS
    trust = ["-CAfile", made / "root.pem", "-untrusted", made / "intermediate.pem"]
    words = ["openssl", "verify", *trust, "-verify_hostname", "localhost", made / "chain.pem"]
    assert subprocess.run(words, capture_output=True).returncode == 0


def test_one_certificate_more_of_a_client_has_so_many_zeros(padded):
    made, plain = padded("rsa-2048-padded-client-90k"), ROOT / "memtest/certs/rsa-2048"
    chain = "client-chain.pem"
    *before, added = certificate_sizes(made / chain)
    assert tuple(before) == certificate_sizes(plain / chain)
    assert 90_000 < added - before[-1] <= 90_000 + HEADERS
    assert (made / "chain.pem").read_bytes() == (plain / "chain.pem").read_bytes()
    pem = (made / chain).read_text().split("-----BEGIN")[-1]
    text = subprocess.run(
        ["openssl", "x509", "-noout", "-text"], input=f"-----BEGIN{pem}", capture_output=True, text=True
    )
    assert text.returncode == 0 and "1.3.6.1.4.1.32473.1" in text.stdout


def test_what_is_there_stays_and_what_is_half_made_is_made_again(padded):
    made = padded("rsa-2048-padded-server-90k")
    (made / "chain.pem").write_text("kept")
    certificates.make_padded.cache_clear()
    assert (padded("rsa-2048-padded-server-90k") / "chain.pem").read_text() == "kept"
    (made / "made-from").unlink()
    certificates.make_padded.cache_clear()
    assert len(certificate_sizes(padded("rsa-2048-padded-server-90k") / "chain.pem")) == 2


def test_a_chain_that_cannot_be_padded_is_a_sentence(padded, monkeypatch, tmp_path):
    (tmp_path / "source").mkdir()
    shutil.copytree(ROOT / "memtest/certs/rsa-2048", tmp_path / "source/rsa-2048-padded-none")
    shutil.copy(MAKER, tmp_path / "source")
    (tmp_path / "source/rsa-2048-padded-none/padding").write_text("chain.pem many\n")
    monkeypatch.setattr(certificates, "MAKERS", tmp_path / "source")
    with pytest.raises(UserError) as stop:
        padded("rsa-2048-padded-none")
    assert "memtest/certs/make_padded.py: " in str(stop.value) and "'many'" in str(stop.value)


def test_only_directories_with_padding_are_made():
    assert is_padded("rsa-2048-padded-client-15m") and not is_padded("rsa-2048")
