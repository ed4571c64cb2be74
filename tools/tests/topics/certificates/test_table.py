"""What a certificate costs, by the committed recordings: known figures, kinds that add up, and what cannot be told."""

import subprocess
from fractions import Fraction
from itertools import combinations

import pytest
from matplotlib import pyplot, rc_context

from tests.support.colour_vision import LEAST, difference, find_alike
from tests.support.pictured import LEGIBLE, overlaps, smallest_text, title_of
from tlsmem.base.errors import UserError
from tlsmem.base.paths import ROOT
from tlsmem.plots.picture import STYLE
from tlsmem.schema import recording_files
from tlsmem.stats import selection
from tlsmem.stats.missing import Missing
from tlsmem.store import read_runs
from tlsmem.tables.recording_contents import select
from tlsmem.topics.certificates import kinds as certificate_kinds
from tlsmem.topics.certificates import picture
from tlsmem.topics.certificates import table as certificates
from tlsmem.topics.certificates.kinds import KINDS, OTHER, kind_of_path, rules_of_family
from tlsmem.topics.certificates.table import (
    CLIENT_CHAIN,
    NAME,
    NO_CALL_STACKS,
    NO_NAMES,
    TRUST_STORE,
    find_certificates,
)

CHAINS, CONTEXTS = (ROOT / f"data/2026-11-24-amd-epyc-p0457-{name}" for name in ("chains", "contexts"))
OPENSSL, MBEDTLS, RUSTLS, SHIPPED, GO = (
    "openssl@3.6.3", "mbedtls@3.6.6", "rustls+ring@0.23.46", "openssl@system", "go@1.27.4",
)  # fmt: skip
WOLFSSL = "wolfssl+server@5.9.4"
SUITES = [
    f"tls1{minor}-rsa-aes256{depth}{auth}" for minor in "23" for depth in ("", "-depth0") for auth in ("", "-mutual")
]
EVERYTHING = dict.fromkeys(selection.ASPECTS)


def read(folder, stack):
    return read_runs.load(recording_files.find_stack(folder, stack))


@pytest.fixture(scope="module")
def records():
    found = [run for stack in (OPENSSL, MBEDTLS, RUSTLS, SHIPPED, GO) for run in read(CHAINS, stack)]
    found = [run for run in found if run.suite in SUITES]
    return found + [run for stack in (OPENSSL, MBEDTLS, RUSTLS, SHIPPED) for run in read(CONTEXTS, stack)]


@pytest.fixture(scope="module")
def contents(records):
    return select(records, EVERYTHING)


@pytest.fixture(scope="module")
def costs(contents):
    return {(one.place, one.stack): one for one in find_certificates(contents.memory, contents.others)}


def test_a_server_that_keeps_the_clients_own_certificate_alone_pays_all_for_it():
    memory = select([run for run in read(CHAINS, WOLFSSL) if run.suite in SUITES], EVERYTHING).memory
    (cost,) = find_certificates(memory, [])
    assert (cost.bytes, cost.der_bytes, cost.kept) == (17_139, 1_014, certificates.LEAF)
    assert cost.kind("key") == 12_183
    unknown = select([run for run in memory.records if "depth0" not in run.suite], EVERYTHING).memory
    (half,) = find_certificates(unknown, [])
    assert (half.bytes, half.kept) == (cost.bytes / 2, certificates.BOTH)


@pytest.mark.thorough
def test_the_kinds_of_a_certificate_add_up_to_it(costs):
    divided = [one for one in costs.values() if not isinstance(one.kinds, Missing)]
    assert len(divided) == 9
    for one in divided:
        assert sum(one.kinds.values()) == one.bytes
        assert tuple(one.kinds) == KINDS


@pytest.mark.thorough
def test_call_stacks_tell_all_that_the_heap_meter_does(costs):
    for one in costs.values():
        if not isinstance(one.sites, Missing) and (one.place, one.stack) != (NAME, RUSTLS):
            assert sum(one.sites.values()) == one.bytes
    # The table of names grows as a whole, and the call stacks are those of one name.
    assert 0 < costs[NAME, RUSTLS].bytes - sum(costs[NAME, RUSTLS].sites.values()) < 100


@pytest.mark.parametrize(
    ("place", "stack", "size", "kinds"),
    [
        (CLIENT_CHAIN, OPENSSL, Fraction(10_843, 2), {"key": 2_070, "name": 1_136, "extensions": 599, OTHER: 0}),
        (CLIENT_CHAIN, MBEDTLS, Fraction(5_283, 2), {"encoding": Fraction(2_003, 2), "name": 128, "extensions": 0}),
        (TRUST_STORE, OPENSSL, Fraction(648_062, 140), {OTHER: 0}),
        (TRUST_STORE, RUSTLS, Fraction(81_973, 140), {"encoding": 0, "private key": 0, OTHER: 0}),
        (NAME, OPENSSL, 24_583, {"encoding": 1_899, "private key": 1_864, OTHER: 0}),
    ],
)
def test_known_answers(costs, place, stack, size, kinds):
    found = costs[place, stack]
    assert found.bytes == size
    assert {name: found.kind(name) for name in kinds} == kinds


def test_what_mbedtls_and_rustls_keep_of_an_encoding_is_as_long_as_it(costs):
    for place in (CLIENT_CHAIN, TRUST_STORE, NAME):
        assert costs[place, MBEDTLS].kind("encoding") == costs[place, MBEDTLS].der_bytes
    assert costs[CLIENT_CHAIN, RUSTLS].kind("encoding") == costs[CLIENT_CHAIN, RUSTLS].der_bytes


def test_a_stack_without_call_stacks_or_names_has_a_total_alone(costs):
    assert costs[CLIENT_CHAIN, GO].kind("key") == Missing(NO_CALL_STACKS)
    assert 6_000 < costs[CLIENT_CHAIN, GO].bytes < 6_500
    for place in (CLIENT_CHAIN, TRUST_STORE, NAME):
        assert costs[place, SHIPPED].kind(OTHER) == Missing(NO_NAMES)
        assert costs[place, SHIPPED].bytes > 4_000


@pytest.fixture
def drawing(costs):
    with rc_context(STYLE):
        yield picture.figure(list(costs.values()))
    pyplot.close("all")


def test_a_bar_is_a_certificate_and_its_parts_are_the_kinds(drawing, costs):
    (axes,) = drawing.axes
    ends: dict[float, float] = {}
    for bar in axes.patches:
        assert bar.get_x() == pytest.approx(ends.get(bar.get_y(), 0.0))
        ends[bar.get_y()] = bar.get_x() + bar.get_width()
    shown = picture.select_costs(list(costs.values()))
    assert [one.stack for one in shown] == [
        RUSTLS,
        MBEDTLS,
        OPENSSL,
        GO,
        RUSTLS,
        MBEDTLS,
        OPENSSL,
        RUSTLS,
        MBEDTLS,
        OPENSSL,
    ]
    assert [ends[place] for place in sorted(ends)] == pytest.approx([float(one.bytes) for one in shown])
    assert "6,240 B (6.2×), no call stacks" in [text.get_text() for text in axes.texts]
    assert " ".join(title_of(drawing).split()) == (
        "A certificate that is kept costs 1.1 times its encoding in rustls 0.23.46 (ring) and 6.2 times in Go "
        "crypto/tls 1.27.4"
    )


@pytest.mark.thorough
def test_no_text_lies_over_another_and_everybody_tells_kinds_apart(drawing):
    drawing.canvas.draw()
    assert find_alike(drawing) == []
    assert overlaps(drawing) == []
    assert smallest_text(drawing) >= LEGIBLE
    assert {look.bucket for look in picture.KIND_STYLES} == set(KINDS)
    for one, other in combinations(picture.KIND_STYLES, 2):
        assert one.hatch != other.hatch or difference(one.colour, other.colour) > LEAST, (one.bucket, other.bucket)


def test_without_certificates_there_is_no_picture():
    with pytest.raises(ValueError, match="no certificate was measured"):
        picture.figure([])


@pytest.mark.thorough
def test_openssls_own_memory_hooks_count_the_same_by_kind():
    """A program without the heap meter parses and verifies the chain 1,000 times, and then names and keys alone."""
    told = subprocess.check_output(["openssl", "version"], text=True)
    if not told.startswith("OpenSSL 3.0."):
        pytest.skip(f"the system has {told.strip()}, and the recording 3.0.22")
    subprocess.run(["make", "-s", "build/tests/one_certificate"], cwd=ROOT, check=True)
    files = [ROOT / f"memtest/certs/rsa-2048/client-{name}.pem" for name in ("chain", "root")]
    lines = subprocess.check_output([ROOT / "build/tests/one_certificate", *files], text=True).splitlines()
    counted = {name: int(size) for name, size in map(str.split, lines)}
    memory = select([run for run in read(CHAINS, "openssl@3.0.22") if run.suite in SUITES], EVERYTHING).memory
    (cost,) = find_certificates(memory, [])
    assert counted == {"chain": 2 * cost.bytes, "names": 2 * cost.kind("name"), "keys": 2 * cost.kind("key")}


def test_bytes_that_no_rule_takes_are_other(costs, monkeypatch):
    one = costs[CLIENT_CHAIN, OPENSSL]
    monkeypatch.setattr(certificates, "rules_of_family", lambda family: [])
    found = certificates.sum_by_site(next(run for run in one.runs if run.has_sites), "server", "established")
    assert {kind for kind, _ in found} == {OTHER}


@pytest.mark.thorough
def test_the_table_has_a_row_a_place_and_stack_and_is_made_when_asked_for(contents):
    (table,) = contents.tables(["certificates"], None)
    assert [(row[0].text, row[1].text) for row in table.rows][:2] == [(CLIENT_CHAIN, RUSTLS), (CLIENT_CHAIN, MBEDTLS)]
    assert len(table.rows) == 13
    assert "certificates" not in {one.name for one in contents.tables(None, None)}
    (sites,) = contents.tables(["certificate-sites"], None)
    row = next(row for row in sites.rows if row[1].text == OPENSSL and row[2].text == "encoding")
    assert [cell.text for cell in row] == [CLIENT_CHAIN, OPENSSL, "encoding", "ossl_asn1_enc_save", "721.5"]


def test_a_suite_that_is_no_more_has_no_rows(contents, monkeypatch):
    monkeypatch.setattr(certificates, "suites", dict)
    assert find_certificates(None, contents.others) == []


def test_a_recording_without_either_scenario_is_told_what_is_needed(records):
    alone = select([run for run in records if run.suite == "tls13-rsa-aes256"], EVERYTHING)
    with pytest.raises(
        ValueError, match=r"table certificates has no rows: it needs .*tls-memtest measure certificates"
    ):
        alone.tables(["certificates"], None)


D2I = "asn1_item_embed_d2i < asn1_template_noexp_d2i < asn1_template_ex_d2i < "
PRIMITIVE = "asn1_ex_c2i < asn1_d2i_ex_primitive < "
END = "asn1_item_embed_d2i < asn1_item_ex_d2i_intern < ASN1_item_d2i < d2i_X509 < tls_process_client_certificate"


@pytest.mark.parametrize(
    ("family", "path", "kind"),
    [
        ("openssl", f"ossl_asn1_enc_save < {D2I}{END}", "encoding"),
        ("openssl", f"ossl_c2i_ASN1_BIT_STRING < {PRIMITIVE}{D2I}{END}", "encoding"),
        ("openssl", f"c2i_ASN1_BIT_STRING < {PRIMITIVE}{3 * D2I}{END}", "key"),
        ("openssl", f"BUF_MEM_grow < x509_name_ex_d2i < {2 * D2I}{END}", "name"),
        ("openssl", f"ASN1_STRING_set < {PRIMITIVE}{3 * D2I}{END}", "extensions"),
        ("openssl", f"asn1_item_embed_new < ossl_asn1_item_ex_new_intern < {2 * D2I}{END}", "extensions"),
        ("openssl", f"asn1_item_embed_new < ASN1_item_ex_new < {END}", "structure"),
        (
            "openssl",
            "asn1_item_embed_new < ASN1_item_new_ex < X509_new_ex < tls_process_client_certificate",
            "structure",
        ),
        (
            "openssl",
            "ASN1_STRING_set < X509V3_EXT_d2i < ossl_x509v3_cache_extensions < X509_check_purpose",
            "extensions",
        ),
        ("openssl", "bn_expand2 < d2i_RSAPrivateKey < SSL_CTX_use_PrivateKey_file < name_add", "private key"),
        ("openssl", "lh_new < SSL_CTX_new < context_new < name_add", "context"),
        ("openssl", "sha384_newctx < ssl3_digest_cached_records < state_machine", OTHER),
        ("rustls", "rustls_pki_types::BytesInner::into_owned < CertificateDer::into_owned", "encoding"),
        ("gnutls", "_asn1_add_single_node < gnutls_x509_crt_init", "structure"),
        ("go", "anything", OTHER),
    ],
)
def test_the_kind_of_a_call_stack(family, path, kind):
    assert kind_of_path(rules_of_family(family), path, []) == kind


def test_a_rule_of_a_place_takes_nothing_elsewhere():
    rules, path = rules_of_family("rustls"), "rustls_pki_types::TrustAnchor::to_owned < rustls::RootCertStore::add"
    assert [kind_of_path(rules, path, [place]) for place in ("lib.rs:526", "lib.rs:527", "lib.rs:528")] == [
        "name", "key", "structure",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('kind = "nme"', "[a]: kind: "),
        ('kind = "name"\npath = ["("]', "'(' is no regular expression"),
        ('kind = "name"\npath = []', "[a]: path: "),
        ('kind = "name"\nfamilys = ["openssl"]', "familys"),
    ],
)
def test_a_wrong_rule_ends_with_a_sentence(tmp_path, monkeypatch, line, says):
    rest = {"families": '["openssl"]', "path": '["d2i"]', "why": '"Because."', "source": '"a.c"'}
    text = line + "".join(f"\n{key} = {value}" for key, value in rest.items() if f"{key} =" not in line)
    (tmp_path / "certificates.toml").write_text(f"[a]\n{text}\n")
    monkeypatch.setattr(certificate_kinds, "DEFINITIONS", tmp_path)
    with pytest.raises(UserError) as ended:
        rules_of_family("openssl")
    assert says in str(ended.value) and "certificates.toml" in str(ended.value)
