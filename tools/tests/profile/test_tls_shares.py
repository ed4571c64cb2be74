"""Which bytes are TLS: known call stacks, sums to the byte, our own profiles, and what the table may say."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import handmade
from tlsmem.base.paths import ROOT
from tlsmem.config import tls_rules
from tlsmem.profile import open_profile, tls_shares
from tlsmem.profile.buckets.sums import BucketSums
from tlsmem.profile.frames import Frame
from tlsmem.profile.heap_profile import PEAK, CallstackTree, LiveHeap, Moment, Profile, sum_live
from tlsmem.profile.tls_shares import (
    CONTEXTS,
    CRYPTO,
    EITHER,
    LOAD,
    OTHER,
    PROCESS,
    SESSIONS,
    TLS,
    UNKNOWN,
    TlsShares,
)

PROFILES = ROOT / "data/2026-11-21-amd-epyc-2/profiles"
ONE_BLOCK = LiveHeap(64, 1)


def frame(text: str) -> Frame:
    """`SSL_new@libssl.so.3`; a function without a name is `?`, and a module of its own is left out."""
    function, _, module = text.partition("@")
    return Frame(None if function == "?" else function, None, None, f"/usr/lib/{module or 'program'}", len(text))


def profile(*stacks: tuple[str, LiveHeap]) -> tuple[Profile, list[int]]:
    """A profile of another program, in which these call stacks, innermost frame first, are live at the peak."""
    tree = CallstackTree()
    places: dict[str, int] = {}
    numbers = []
    for text, _ in stacks:
        number = 0
        for one in reversed(text.split()):
            place = places.get(one) or places.setdefault(one, tree.place((frame(one),)))
            number = tree.add(place, number)
        numbers.append(number)
    live = {number: held for number, (_, held) in zip(numbers, stacks, strict=True)}
    moment = Moment(PEAK, sum(held.bytes for held in live.values()), live)
    return Profile("heaptrack", "one.zst", "program", tree, {PEAK: moment}), numbers


def share(text: str, held: LiveHeap = ONE_BLOCK) -> tuple[str, str | None]:
    made, (number,) = profile((text, held))
    found = TlsShares(made).share(number, held)
    return found.share, found.library and found.library.key


@pytest.mark.parametrize(
    ("stack", "expected"),
    [
        ("CRYPTO_zalloc@libcrypto.so.3 SSL_new@libssl.so.3 main", (SESSIONS, "openssl")),
        ("CRYPTO_zalloc@libcrypto.so.3 SSL_CTX_new_ex@libssl.so.3 main", (CONTEXTS, "openssl")),
        ("?@libcrypto.so.3 EVP_CIPHER_fetch@libcrypto.so.3 SSL_CTX_new_ex@libssl.so.3 main", (PROCESS, "openssl")),
        ("?@libcrypto.so.3 ?@libssl.so.3 ?@libcurl.so.4 main", (EITHER, "openssl")),
        ("?@libcrypto.so.3 EVP_DigestInit_ex@libcrypto.so.3 ?@_hashlib.cpython-311.so main", (CRYPTO, "openssl")),
        ("?@libcrypto.so.3 X509_STORE_load_file@libcrypto.so.3 ?@libcurl.so.4 main", (CRYPTO, "openssl")),
        ("?@libcrypto.so.3 X509_STORE_load_file@libcrypto.so.3 ?@_ssl.cpython-311.so", (CONTEXTS, "openssl")),
        ("X509_STORE_add_cert@libcrypto.so.3 ?@libcurl.so.4 ?@libssl.so.3 main", (CONTEXTS, "openssl")),
        ("?@libtasn1.so.6 ?@libgnutls.so.30 call_init@ld-linux.so.2 _dl_init@ld-linux.so.2", (LOAD, "gnutls")),
        ("?@libfoo.so.1 call_init@ld-linux-x86-64.so.2", (OTHER, None)),
        ("?@libfoo.so.1 call_init@ld-linux.so.2 dlopen@libc.so.6 SSL_CTX_new@libssl.so.3", (CONTEXTS, "openssl")),
        ("ngx_palloc@nginx ngx_ssl_create_connection@nginx main@nginx", (SESSIONS, None)),
        ("ngx_palloc@nginx ngx_http_request@nginx ngx_ssl_handshake_handler@nginx main@nginx", (OTHER, None)),
        ("PEM_read_bio_X509@libcrypto.so.3 ngx_ssl_certificate@nginx main@nginx", (CONTEXTS, "openssl")),
        ("malloc rustls::conn::ConnectionCore::new main", (SESSIONS, "rustls")),
        ("malloc <rustls::msgs::codec::Reader>::take hyper::proto::h1::Conn::poll main", (EITHER, "rustls")),
        ("malloc hyper::client::Conn<tokio_rustls::TlsStream>::poll main", (OTHER, None)),
        ("ring::aead::seal main", (CRYPTO, "rustls")),
        ("runtime.mallocgc crypto/tls.(*Conn).readRecord net/http.(*conn).serve", (SESSIONS, "go")),
        ("runtime.mallocgc crypto/sha256.New main.main", (CRYPTO, "go")),
        ("gnutls_hash_init@libgnutls.so.30 main", (CRYPTO, "gnutls")),
        ("gnutls_hash_init@libgnutls.so.30 ?@libgnutls.so.30 gnutls_handshake main", (SESSIONS, "gnutls")),
        ("mbedtls_calloc mbedtls_ssl_setup main", (SESSIONS, "mbedtls")),
        ("wolfSSL_Malloc@libwolfssl.so.42 wolfSSL_CTX_new_ex@libwolfssl.so.42 main", (CONTEXTS, "wolfssl")),
        ("s2n_alloc s2n_connection_new main", (SESSIONS, "s2n")),
        ("PR_Malloc@libnspr4.so SSL_ImportFD@libssl3.so main", (SESSIONS, "nss")),
        ("?@libcrypto.so.55 ?@libssl.so.58 SSL_new@libssl.so.58 main", (SESSIONS, "libressl")),
        ("OPENSSL_malloc bssl::ssl_handshake_new SSL_do_handshake main", (SESSIONS, "boringssl")),
        ("OPENSSL_malloc SSL_new main", (SESSIONS, "openssl_family")),
        ("allocate_dtv@ld-linux-x86-64.so.2 _dl_allocate_tls@ld-linux-x86-64.so.2 main", (OTHER, None)),
        ("tls_get_addr_tail@ld-linux-x86-64.so.2 __tls_get_addr@ld-linux-x86-64.so.2 main", (OTHER, None)),
        ("PyDict_New@python3 main@python3", (OTHER, None)),
        ("", (UNKNOWN, None)),
    ],
)  # fmt: skip
def test_known_stacks(stack, expected):
    assert share(stack) == expected


def test_an_unnamed_block_is_told_by_its_size_where_only_sessions_have_it():
    """OpenSSL's read buffer; no table of any release has 16,713."""
    stack = "?@libssl.so.3 ?@libcurl.so.4 main"
    assert share(stack, LiveHeap(2 * 16712, 2))[0] == SESSIONS
    assert share(stack, LiveHeap(16713, 1))[0] == EITHER
    assert share(stack, LiveHeap(16712, None))[0] == EITHER


def test_a_size_that_sessions_and_contexts_have_tells_nothing():
    assert share("?@libssl.so.3 ?@libcurl.so.4 main", LiveHeap(536, 1))[0] == EITHER


def test_other_blocks_of_the_same_call_into_the_library_are_the_session_s_too():
    buffer = ("?@libssl.so.3 inner@libssl.so.3 ?@libssl.so.3 connect main", LiveHeap(16712, 1))
    same = ("?@libcrypto.so.3 ?@libssl.so.3 connect main", LiveHeap(100, 1))
    either = ("?@libcrypto.so.3 either@libssl.so.3 ?@libssl.so.3 connect main", LiveHeap(536, 1))
    another = ("?@libcrypto.so.3 ?@libssl.so.3 configure main", LiveHeap(100, 1))
    made, numbers = profile(buffer, same, either, another)
    shares = TlsShares(made)
    found = [shares.share(number, made.moments[PEAK].live[number]).share for number in numbers]
    assert found == [SESSIONS, SESSIONS, SESSIONS, EITHER]


def test_code_of_the_program_is_of_the_only_library_in_the_profile():
    wrapper = ("malloc ?@_ssl.cpython-311.so main", ONE_BLOCK)
    openssl = ("CRYPTO_zalloc@libcrypto.so.3 SSL_new@libssl.so.3 main", ONE_BLOCK)
    gnutls = ("gnutls_malloc@libgnutls.so.30 gnutls_init@libgnutls.so.30 main", ONE_BLOCK)
    for stacks, expected in (((wrapper, openssl), "openssl"), ((wrapper, openssl, gnutls), None)):
        made, (number, *_) = profile(*stacks)
        library = TlsShares(made).share(number, ONE_BLOCK).library
        assert (library and library.key) == expected


@pytest.mark.parametrize(
    ("stack", "expected"),
    [
        ("ssl_handshake_init mbedtls_ssl_setup main", (SESSIONS, "mbedtls")),
        ("mbedtls_md_setup ssl_tls13_write_server_finished mbedtls_ssl_handshake main", (SESSIONS, "mbedtls")),
        ("rsa_alloc_wrap mbedtls_pk_setup x509_crt_parse_der_core mbedtls_x509_crt_parse main", (CRYPTO, "mbedtls")),
        ("mbedtls_x509_get_name x509_crt_parse_der_core ssl_tls13_parse_certificate main", (EITHER, "mbedtls")),
    ],
)
def test_functions_without_a_prefix_are_of_the_only_library_in_the_program(stack, expected):
    """Mbed TLS's static functions have names that OpenSSL could have; with both in one program nothing tells."""
    mbedtls = ("mbedtls_calloc mbedtls_ssl_setup main", ONE_BLOCK)
    openssl = ("CRYPTO_zalloc SSL_new main", ONE_BLOCK)
    of_a_library = ("CRYPTO_zalloc@libcrypto.so.3 SSL_new@libssl.so.3 main", ONE_BLOCK)
    for others in ((mbedtls,), (mbedtls, of_a_library)):
        made, (number, *_) = profile((stack, ONE_BLOCK), *others)
        found = TlsShares(made).share(number, ONE_BLOCK)
        assert (found.share, found.library and found.library.key) == expected
    made, (number, *_) = profile((stack.split(" ")[0] + " main", ONE_BLOCK), mbedtls, openssl)
    key = TlsShares(made).share(number, ONE_BLOCK).library
    assert key is None or key.key == ("mbedtls" if stack.startswith("mbedtls") else "openssl_family")


WORDS = st.sampled_from(
    [
        *("?@libssl.so.3", "SSL_new@libssl.so.3", "SSL_CTX_new@libssl.so.3", "?@libcrypto.so.3", "?@libgnutls.so.30"),
        *("call_init@ld.so", "main", "ngx_ssl_handshake@nginx", "EVP_MD_fetch@libcrypto.so.3", "?@libc.so.6"),
        *("client_session_new", "server_context_new"),
    ]
)
HELD = st.builds(LiveHeap, st.integers(0, 1 << 40), st.integers(0, 1 << 20))


@given(st.lists(st.tuples(st.lists(WORDS, max_size=6).map(" ".join), HELD), max_size=12, unique_by=lambda one: one[0]))
def test_sums_are_all_that_is_live(stacks):
    made, _ = profile(*stacks)
    sums = TlsShares(made).sums(PEAK)
    assert sum_live(dict(enumerate(sums.values()))) == sum_live(made.moments[PEAK].live)


@pytest.mark.parametrize("moment", ["contexts", "sessions", "peak", "end"])
def test_of_a_harness_the_warm_up_is_the_process_s(moment):
    made = handmade.profile()
    sums = TlsShares(made).sums(moment)
    assert sum(held.bytes for held in sums.values()) == sum_live(made.moments[moment].live).bytes
    for role in ("client", "server"):
        of_role = sum(held.bytes for (found, owner), held in sums.items() if owner == role and found.share == SESSIONS)
        expected = made.live(moment, role) if moment == "contexts" else made.live_of_sessions(moment, role)
        assert of_role == sum_live(expected).bytes


@pytest.mark.parametrize("name", ["openssl@3.5.5.tls13-rsa-aes256", "rustls+ring@0.23.46.tls13-rsa-aes256"])
def test_our_own_profiles_have_the_bytes_of_buckets_as_sessions(name):
    made = open_profile.open_profile(PROFILES / f"{name}.1000.heaptrack.zst")
    shares, buckets = TlsShares(made), BucketSums(made)
    for moment in ("established", PEAK):
        sums = shares.sums(moment)
        for role in ("client", "server"):
            held = [one for (found, owner), one in sums.items() if owner == role and found.share == SESSIONS]
            assert sum_live(dict(enumerate(held))) == buckets.live_total(moment, role)
    assert all(found.library for found, _ in sums if found.share in TLS)


def test_our_own_profiles_are_tls_by_their_frames_alone():
    """Without the owner that a harness calls a driver for, the rules find all bytes that sessions hold."""
    made = open_profile.open_profile(PROFILES / "openssl@3.5.5.tls13-rsa-aes256.1000.heaptrack.zst")
    sessions = {stack: held for role in ("client", "server") for stack, held in made.live(PEAK, role).items()}
    made.run, made.stacks.owners = None, dict.fromkeys(range(len(made.stacks.nodes)), "harness")
    shares = TlsShares(made)
    missed = {stack: held for stack, held in sessions.items() if shares.share(stack, held).share not in TLS}
    transport = sum(held.bytes for stack, held in missed.items() if "BIO_" in str(made.stacks.frames(stack)))
    assert sum_live(missed).bytes == transport


@pytest.mark.parametrize(
    ("tables", "where"),
    [
        ({"x": {"name": "X"}}, "[x]: "),
        ({"x": {"name": "X", "functions": ["(f"]}}, "[x]: functions.0: '(f' is not a regular expression"),
        ({"x": {"name": "X", "modules": ["a"], "version": "1"}}, "[x]: "),
        ({"x": {"name": "X", "modules": ["a"], "family": "y"}}, "[x]: family: no table y"),
        ({"x": {"name": "X", "modules": ["a"], "evidence": ["b"]}}, "[x]: "),
        ({"x": {"name": "X", "module": ["a"]}}, "[x]: module: "),
        (
            {"x": {"name": "X", "modules": ["a"], "sizes": [{"bytes": 0, "of": "sessions", "by": ["f"]}]}},
            "[x]: sizes.0",
        ),
    ],
)
def test_what_the_table_may_not_say_is_a_sentence(tables, where):
    with pytest.raises(ValueError, match=re.escape(f"memtest/tls_shares.toml: {where}")) as refused:
        tls_rules.parse_libraries(tables)
    assert "\n" not in str(refused.value)


def test_every_release_of_the_sizes_is_of_a_library_of_the_shares():
    names = {one.name for one in tls_rules.tls_libraries().values()}
    assert {series.rpartition(" ")[0] for series in tls_shares.read_sizes()} <= names
