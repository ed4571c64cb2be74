"""What a caption says of libraries that a picture is without."""

from tests.support import synthetic
from tlsmem.plots.left_out import describe_left_out, find_refusals

SUITE = "tls13-rsa-aes256"


def refused(stack: str, reason: str):
    return synthetic.failed(stack, SUITE, 100, reason, "unsupported")


def test_a_reason_is_what_the_driver_says_without_version_suite_and_process():
    runs = [
        refused(
            "bearssl@0.6", "BearSSL (bearssl 0.6+dfsg.1-3): does TLSv1.2 only (TLSv1.3, TLS_AES_256_GCM_SHA384, X25519)"
        ),
        refused("mbedtls@3.6.6", "the server's process: Mbed TLS 3.6.6: does not take the certificates: memtest/x.pem"),
        refused(
            "go@1.27.4", "go1.27.4 crypto/tls: takes another cipher first, and no setting changes that (TLSv1.3, A, B)"
        ),
        synthetic.failed("gnutls@3.8.9", SUITE, 100, "exit 1: crashed"),
        refused("bearssl@0.6", "BearSSL 0.6: has no tickets (TLSv1.2, A, B)"),
    ]
    assert find_refusals(runs) == {
        "bearssl": "does TLS 1.2 only",
        "mbedtls": "does not take the certificates",
        "go": "takes another cipher first",
    }


def test_libraries_are_named_once_with_their_reasons_and_in_their_order():
    there = [
        "null@c",
        "bearssl@0.6",
        "libressl@3.1.0",
        "go@1.27.4",
        "openssl@3.5.5",
        "openssl@4.0.3",
        "rustls+ring@0.23.46",
    ]
    reasons = {"bearssl": "no TLS 1.3", "libressl": "no TLS 1.3", "openssl": "is drawn"}
    said = describe_left_out(there, ["openssl@4.0.3", "rustls+aws-lc@0.23.46"], reasons)
    assert said == "Not drawn: LibreSSL, BearSSL (no TLS 1.3); Go crypto/tls (not recorded). "
    assert describe_left_out(there, there) == ""
