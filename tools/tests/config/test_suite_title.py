"""Suites as people write them: no two alike, and all in which two differ."""

import pytest

from tlsmem.config import definitions
from tlsmem.config.suite_title import suite_difference, suite_title


def test_no_two_suites_have_one_title():
    titles = [suite_title(suite) for suite in definitions.suites()]
    assert len(set(titles)) == len(titles)
    assert suite_title("tls13-rsa-aes256-mutual-ticket") == (
        "TLS 1.3, AES-256-GCM, X25519, RSA-2048, client certificates, 1 ticket, resumed"
    )
    assert suite_title("tls13-rsa-aes256+low-memory").endswith("RSA-2048, low-memory")
    assert suite_title("of-another-version") == "of-another-version"


def test_what_differs_from_another_suite_is_all_said():
    usual = "tls13-rsa-aes256"
    assert suite_difference(usual, usual) is None
    assert suite_difference("tls13-rsa-aes256-mutual-ticket", usual) == "client certificates, 1 ticket, resumed"
    assert suite_difference("tls12-ecdsa-aes256", usual) == "TLS 1.2, ECDSA-P256"
    assert suite_difference(usual, "tls13-rsa-aes256-mutual") == usual
    assert suite_difference("of-another-version", usual) == "of-another-version"


@pytest.mark.parametrize(
    ("cipher", "word"),
    [
        ("TLS_AES_128_CCM_SHA256", "TLS_AES_128_CCM_SHA256"),
        ("ECDHE-RSA-AES256-SHA384", "ECDHE-RSA-AES256-SHA384"),
        ("ECDHE-ECDSA-CHACHA20-POLY1305", "ChaCha20-Poly1305"),
        ("TLS_AES_128_GCM_SHA256", "AES-128-GCM"),
    ],
)
def test_a_cipher_without_a_name_of_ours_keeps_its_own(monkeypatch, cipher, word):
    suite = definitions.suites()["tls13-rsa-aes256"].model_copy(update={"cipher": cipher})
    monkeypatch.setattr(definitions, "suites", lambda: {"new": suite})
    assert suite_title("new").split(", ")[1] == word
