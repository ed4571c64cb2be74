"""Rules of buckets: which rule takes a call stack, what the file may say, and that every reason has its source."""

import re
import shutil
from pathlib import Path

import pytest

from tlsmem.base.errors import UserError
from tlsmem.base.paths import ROOT
from tlsmem.build import sources
from tlsmem.config import definitions, toml_tables
from tlsmem.profile.buckets import rules as bucket_rules
from tlsmem.profile.buckets.rules import CONTEXT, OTHER, Rules, find_bucket
from tlsmem.profile.frames import Frame

MESSAGES = "handshake messages and transcript"
RULE = {"bucket": "b", "why": "Because.", "source": "a.c: f"}


def stack(*functions: str | None) -> list[Frame]:
    """Innermost first."""
    return [Frame(function, None, None, "module", 16) for function in functions]


def rule(bucket: str, **patterns: list[str]) -> definitions.BucketRule:
    return definitions.BucketRule.model_validate(RULE | {"bucket": bucket} | patterns)


def test_the_first_rule_that_takes_a_stack_names_its_bucket():
    rules = Rules([rule("a", within=["outer"]), rule("b", within=["inner"]), rule("c", within=["out.*"])])
    assert rules.rule_of(stack("inner", "outer")).bucket == "a"
    assert rules.rule_of(stack("inner", "outermost")).bucket == "b"
    assert rules.rule_of(stack("outermost")).bucket == "c"
    assert rules.rule_of(stack("elsewhere", None)) is None


def test_by_is_asked_of_who_called_the_allocator_alone():
    rules = Rules([rule("a", by=["grow"])])
    assert rules.rule_of(stack("CRYPTO_malloc", "grow", "main"))
    assert rules.rule_of(stack("grow"))
    assert not rules.rule_of(stack("CRYPTO_malloc", "make", "grow"))


def test_by_and_within_must_both_hold():
    rules = Rules([rule("a", by=["new"], within=["open"])])
    assert rules.rule_of(stack("malloc", "new", "open"))
    assert not rules.rule_of(stack("malloc", "new", "close"))
    assert not rules.rule_of(stack("malloc", "old", "open"))


def test_a_pattern_is_for_a_whole_name():
    rules = Rules([rule("a", within=["SSL_new", "x|y"])])
    assert not rules.rule_of(stack("SSL_new_extra")) and not rules.rule_of(stack("my_SSL_new"))
    assert rules.rule_of(stack("y")) and not rules.rule_of(stack("xy"))


def test_more_rules_than_a_machine_word_has_bits():
    rules = Rules([rule(f"{number}", within=[f"f{number}"]) for number in range(100)])
    assert rules.rule_of(stack("f99", "f70")).bucket == "70"


@pytest.mark.parametrize(
    ("functions", "family", "bucket"),
    [
        (["malloc", "CRYPTO_malloc", "tls_setup_read_buffer", "client_read"], "openssl", "record buffers, read"),
        (["CRYPTO_zalloc", "BIO_new_ex", "BIO_new", "session_new"], "openssl", "transport"),
        (["CRYPTO_zalloc", "BIO_new_ex", "BIO_new", "wire_bio_new", "openssl_session_new"], "openssl", "transport"),
        (["CRYPTO_zalloc", "BIO_new_ex", "ssl_set_new_record_layer", "session_new"], "openssl", "connection structure"),
        (["EVP_PKEY_new", "x509_pubkey_decode", "tls_process_server_certificate"], "openssl", "peer certificates"),
        (["EVP_PKEY_new", "tls_parse_stoc_key_share"], "openssl", "keys and cipher contexts"),
        (["CRYPTO_malloc", "ssl3_setup_read_buffer", "state_machine"], "openssl", "record buffers, read"),
        (["CRYPTO_malloc", "ssl3_setup_write_buffer", "state_machine"], "openssl", "record buffers, write"),
        (["CRYPTO_zalloc", "SSL_new", "openssl_session_new"], "openssl", "connection structure"),
        (["EVP_MD_CTX_new", "ssl3_digest_cached_records", "tls13_change_cipher_state"], "openssl", MESSAGES),
        (["EVP_CIPHER_CTX_new", "tls13_change_cipher_state"], "openssl", "keys and cipher contexts"),
        (["CRYPTO_zalloc", "CRYPTO_THREAD_lock_new", "BIO_new", "session_new"], "openssl", "transport"),
        (["CRYPTO_THREAD_lock_new", "SSL_new", "session_new"], "openssl", "connection structure"),
        (["ssl3_setup_write_buffer", "ssl3_accept"], "libressl", "record buffers, write"),
        (["bn_expand2", "RSA_eay_public_decrypt", "ssl3_get_server_key_exchange"], "libressl", "peer certificates"),
        (["BIO_new", "ssl_init_wbio_buffer", "ssl3_accept"], "libressl", MESSAGES),
        (["tls13_legacy_connect"], "libressl", OTHER),
        (["SSL_new_by_another_name"], "openssl", OTHER),
        (["tls_setup_read_buffer"], "rustls", OTHER),
        (["f::VecInput::read", "rustls::caller_buffers::Buffers::fill", "handshake"], "rustls", "caller's buffers"),
        (["rustls::caller_buffers::Buffers::keep", "handshake"], "rustls", "caller's buffers"),
        (["rustls::conn::send::Encrypting::encrypt_records", "handshake"], "rustls", "caller's buffers"),
        (["rustls::unbuffered::append", "rustls::unbuffered::step", "handshake"], "rustls", "caller's buffers"),
        (["rustls::caller_buffers::Buffers::parts"], "rustls", OTHER),
        (["rustls::msgs::deframer::MessageDeframer::prepare_read"], "rustls", "record buffers, read"),
        (["record_buffer_new", "session_new", "server_session_new"], "bearssl", "caller's buffers"),
        (["validator_new", "session_new", "client_session_new"], "bearssl", "peer certificates"),
        (["mbedtls_ssl_setup", "client_session_new"], "mbedtls", "record buffers, read"),
        (["ssl_handshake_init", "mbedtls_ssl_setup", "session_new"], "mbedtls", "handshake messages and transcript"),
        (["wolfSSL_Malloc", "SetKeys", "SetKeysSide", "wolfSSL_connect"], "wolfssl", "keys and cipher contexts"),
        (["tls_setup_read_buffer"], "nobody's", OTHER),
        (["tls_setup_read_buffer", "server_context_new"], "openssl", CONTEXT),
    ],
)
def test_known_stacks(functions, family, bucket):
    assert find_bucket(stack(*functions), family) == bucket


def test_a_family_is_the_name_without_variants_and_version():
    stacks = "openssl@3.5.5", "rustls+aws-lc@0.23.46", "null@c"
    assert [bucket_rules.family_of(one) for one in stacks] == ["openssl", "rustls", "null"]


def test_rules_are_of_families_of_stacks():
    assert set(bucket_rules.families()) <= {bucket_rules.family_of(name) for name in toml_tables.read_tables("stacks")}


def every_rule() -> list[definitions.BucketRule]:
    return [one for rules in bucket_rules.read_tables().rules.values() for one in rules]


def sources_of(family: str) -> list[Path]:
    """Where the sources of a family's stacks lie: what was fetched, and what was unpacked to be built."""
    own = {name: stack for name, stack in definitions.stacks().items() if bucket_rules.family_of(name) == family}
    fetched = [sources.source_tree(stack.source, ROOT / "build/sources") for stack in own.values() if stack.source]
    return [*dict.fromkeys(fetched), *(ROOT / "build/stacks" / name / "tree" for name in own)]


def test_no_figure_of_a_measurement_stands_in_a_reason():
    for one in every_rule():
        assert not re.search(r"\d[\d,]* ?(B|KiB|bytes?|times)\b", one.why), one.why
        assert re.fullmatch(r"([A-Z]|rustls|s2n|wolfSSL).*\.", one.why), f"a sentence: {one.why}"


@pytest.mark.skipif(not shutil.which("cargo"), reason="no cargo, so no sources")
@pytest.mark.parametrize("one", every_rule(), ids=lambda one: one.source[:40])
def test_the_source_of_a_reason_has_what_it_names(one):
    """Where the sources lie on this machine: every file is there, with every function that is named beside it."""
    family = next(name for name, rules in bucket_rules.read_tables().rules.items() if one in rules)
    folders = [ROOT, *sources_of(family)]
    registries = (ROOT / "build/cargo/registry", Path.home() / ".cargo/registry")
    crates = {path.name: path for root in registries for path in root.glob("src/*/*-[0-9]*")}
    for part in one.source.split("; "):
        file, _, named = part.partition(": ")
        package, _, inside = file.split(" and ")[0].partition("/")
        versions = ("rustls-0.23.46", "rustls-0.24.0-dev.2", "aws-lc-rs-1.19.0")
        packed = [crates[name] / inside for name in versions if name in crates and name.startswith(f"{package}-")]
        found = [path for path in (*packed, *(folder / file for folder in folders)) if path.is_file()]
        if not found:
            pytest.skip(f"no source of {file}")
        words = re.findall(r"\w+", named.split(" (")[0])
        assert any(all(word in text for word in words) for text in map(Path.read_text, found)), f"{file}: {words}"


@pytest.mark.parametrize(
    ("tables", "where"),
    [
        pytest.param({"buckets": []}, "[buckets] ", id="a list of buckets"),
        pytest.param({"buckets": {"b": 1}}, "[buckets] ", id="a number for a bucket"),
        pytest.param({"buckets": {"b": ""}, "x": {}}, "[[x]] ", id="one rule"),
        pytest.param({"buckets": {"b": ""}, "x": [1]}, "[[x]], rule 1: ", id="a number for a rule"),
        pytest.param(
            {"buckets": {"b": ""}, "x": [RULE | {"by": ["f"], "wihtin": ["f"]}]},
            "[[x]], rule 1: wihtin: ",
            id="an unknown key",
        ),
        pytest.param({"buckets": {"b": ""}, "x": [RULE | {"by": "f"}]}, "[[x]], rule 1: by: ", id="no list"),
        pytest.param(
            {"buckets": {"b": ""}, "x": [{"bucket": "b", "by": ["f"]}]}, "[[x]], rule 1: why: ", id="no reason"
        ),
        pytest.param({"buckets": {"b": ""}, "x": [RULE]}, "[[x]], rule 1: by and within ", id="no pattern"),
        pytest.param(
            {"buckets": {"a": ""}, "x": [RULE | {"by": ["f"]}]}, "[[x]], rule 1: unknown bucket b", id="no bucket"
        ),
        pytest.param(
            {"buckets": {"b": ""}, "x": [RULE | {"by": ["f"]}, RULE | {"by": ["(f"]}]},
            "[[x]], rule 2: by.0: '(f' ",
            id="no regular expression",
        ),
    ],
)
def test_what_a_table_may_not_say_is_a_sentence_that_names_the_rule(tables, where, snapshot):
    with pytest.raises(ValueError) as refused:
        definitions.parse_buckets(tables)
    sentence = str(refused.value)
    assert sentence.startswith(f"memtest/buckets.toml: {where}")
    with pytest.raises(re.error) as unsound:
        re.compile("(f")
    assert sentence.replace(str(unsound.value), "WORDS OF PYTHON") == snapshot


def test_the_file_is_checked_with_the_others(tmp_path, monkeypatch, snapshot):
    (tmp_path / "buckets.toml").write_text("[[openssl]]\nbucket = 1\n")
    shutil.copy(toml_tables.DEFINITIONS / "stall_points.toml", tmp_path)  # campaigns name points
    monkeypatch.setattr(toml_tables, "DEFINITIONS", tmp_path)
    with pytest.raises(UserError, match=r"memtest/buckets\.toml: \[\[openssl\]\], rule 1: bucket: ") as refused:
        definitions.check_definitions()
    assert str(refused.value) == snapshot
