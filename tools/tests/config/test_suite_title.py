"""Suites as people write them: no two alike, and all in which two differ."""

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
