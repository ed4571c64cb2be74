"""Servers that are built on the libraries of stacks: which can be had, and why others cannot."""

import pytest
from pydantic import ValidationError

from tlsmem.config.definitions import stacks
from tlsmem.config.releases import library_with_variant
from tlsmem.config.servers import ServerBuild, servers

BUILT = {name: one.build for name, one in servers().items() if one.build}


def test_every_library_of_a_build_is_one_that_the_server_can_run_on():
    for name, build in BUILT.items():
        known = {library_with_variant(stack) for stack in stacks()}
        assert set(build.on) <= known, name
        assert not [one for one in build.on if one.partition("+")[0] not in {key.partition("+")[0] for key in known}]
        assert all(servers()[name].can_run(f"{one}@1") for one in build.on), name


@pytest.mark.parametrize(
    ("server", "stack", "reason"),
    [
        ("haproxy", "openssl@4.0.3", "OpenSSL 4.0 made ASN1_INTEGER opaque"),
        ("haproxy", "openssl+debian@4.0.3", "OpenSSL 4.0 made ASN1_INTEGER opaque"),
        ("nginx", "openssl@4.0.1", "OpenSSL 4.0 made ASN1_INTEGER opaque"),
        ("haproxy", "libressl@3.1.0", "lacks SSL_get0_verified_chain"),
        ("haproxy", "boringssl@5.4.0", "lacks OCSP_CERTID"),
        ("nginx", "libressl@3.1.0", "has no TLS 1.3 for servers"),
        ("nginx", "wolfssl+server@5.9.4", "nginx needs a patch for it"),
        ("haproxy", "wolfssl@5.9.4", "is not built on wolfssl@5.9.4; it builds on openssl, awslc, wolfssl"),
        ("nginx", "gnutls@system", "is not built on gnutls@system"),
        ("nginx", "openssl@system", "has no source tree here"),
    ],
)
def test_what_cannot_be_had_is_refused_with_its_reason(server, stack, reason):
    with pytest.raises(ValueError, match=reason):
        BUILT[server].options(stack, stacks()[stack])


@pytest.mark.parametrize("stack", ["openssl@3.5.5", "openssl+clang@3.5.5", "openssl@3.0.22", "awslc@5.12.0"])
@pytest.mark.parametrize("server", BUILT)
def test_other_releases_and_builds_of_a_library_are_taken(server, stack):
    assert BUILT[server].options(stack, stacks()[stack]) == BUILT[server].on[stack.partition("@")[0].partition("+")[0]]


@pytest.mark.parametrize(
    ("server", "answer", "library"),
    [
        ("nginx", "built with OpenSSL 3.5.5 27 Jan 2026", "OpenSSL 3.5.5 27 Jan 2026"),
        ("nginx", "built with OpenSSL 1.1.1 (compatible; AWS-LC 5.12.0) (running with AWS-LC 5.12.0)", "AWS-LC 5.12.0"),
        ("nginx", "built with OpenSSL 1.1.1 (compatible; BoringSSL)", "OpenSSL 1.1.1 (compatible; BoringSSL)"),
        ("haproxy", "Running on OpenSSL version : OpenSSL 3.5.5 27 Jan 2026", "OpenSSL 3.5.5 27 Jan 2026"),
        ("haproxy", "Running on SSL library version : AWS-LC 1.72.0", "AWS-LC 1.72.0"),
        ("haproxy", "Built with OpenSSL version : OpenSSL 3.5.5", None),
    ],
)
def test_the_library_is_read_from_the_servers_answer(server, answer, library):
    assert BUILT[server].find_library(f"first\n{answer}\nlast\n") == library


@pytest.mark.parametrize("says", ["no group", "(open"])
def test_a_pattern_without_a_library_is_refused(says):
    with pytest.raises(ValidationError, match=r"needs a group|not a regular expression"):
        ServerBuild.model_validate(BUILT["nginx"].model_dump() | {"says": says})
