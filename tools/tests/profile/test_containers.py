"""The function that a site is named by: the first one outside of containers and allocators."""

import re

import pytest

from tlsmem.config import toml_tables
from tlsmem.profile.frames import Frame, is_container, skip_containers

CONTAINERS = {
    "openssl": ["sk_reserve", "OPENSSL_sk_insert", "OPENSSL_LH_insert", "lh_insert", "BUF_MEM_grow", "WPACKET_init"],
    "boringssl": [
        "bssl::SSLSession* bssl::New<bssl::SSLSession, bssl::SSL_X509_METHOD const*&>(bssl::SSL_X509_METHOD const*&)",
        "bssl::Array<unsigned short>::InitUninitialized(unsigned long)",
        "CBB_init(cbb_st*, unsigned long)",
    ],
    "gnutls": ["_gnutls_buffer_append_data"],
    "wolfssl": ["wolfSSL_sk_push"],
    "mbedtls": ["mbedtls_mpi_grow"],
    "s2n": ["s2n_stuffer_resize"],
    "rust": [
        "alloc::raw_vec::RawVec<T,A>::reserve::do_reserve_and_handle",
        "<alloc::vec::Vec<T,A> as core::clone::Clone>::clone",
        "hashbrown::raw::RawTable<T,A>::reserve_rehash",
    ],
}
OWNERS = ["SSL_new", "ssl_cert_dup", "EVP_MD_CTX_new", "rustls::vecbuf::ChunkVecBuffer::append", "skip", "expand"]


@pytest.mark.parametrize("library", CONTAINERS)
def test_containers_of_each_library_are_known(library: str):
    assert all(map(is_container, CONTAINERS[library]))


def test_owners_are_no_containers():
    assert not any(map(is_container, OWNERS))


def test_every_table_has_a_reason_and_patterns_that_compile():
    for table in toml_tables.read_tables("containers").values():
        assert {"why", "functions"} <= set(table) <= {"why", "functions", "generic"}
        for one in table["functions"]:
            re.compile(one)


def frames(*names: str | None) -> list[Frame]:
    files = {"server_handshake": "memtest/frames.c"}
    return [Frame(name, files.get(name or "", "openssl/x.c"), 1, "harness", 1) for name in names]


@pytest.mark.parametrize(
    ("stack", "owner"),
    [
        (("CRYPTO_zalloc", "sk_reserve", "OPENSSL_sk_insert", "X509_add_cert", "server_handshake"), "X509_add_cert"),
        (("CRYPTO_realloc", "BUF_MEM_grow_clean", "tls_get_message_header"), "tls_get_message_header"),
        (("CRYPTO_malloc", "ssl_cert_dup", "BUF_MEM_grow"), "ssl_cert_dup"),
        (("CRYPTO_zalloc", "sk_reserve", "server_handshake"), "sk_reserve"),  # nobody else is there
        (("CRYPTO_zalloc", "sk_reserve", None, "main"), "sk_reserve"),  # the next has no name
    ],
    ids=["stack", "buffer", "caller", "entrance", "unnamed"],
)
def test_a_site_is_named_by_the_first_function_outside(stack, owner):
    assert skip_containers(frames(*stack))[0].function == owner
