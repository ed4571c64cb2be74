"""The tables of client certificates: what they add, until when, for each intermediate, kind of key and client."""

import pytest

from tests.support import synthetic
from tests.support.chained import recorded
from tlsmem.config.certificates import chain_sizes, key_kind
from tlsmem.stats.selection import Selection, select
from tlsmem.tables import catalogue
from tlsmem.tables.table import Table
from tlsmem.topics.chains.table import chain_table, client_table, key_table, newest_of_each_stack

OPENSSL, RUSTLS, BORING = "openssl@3.5.5", "rustls+aws-lc@0.23.46", "boringssl@5.4.0"
SUITE = "tls13-rsa-aes256"


@pytest.fixture
def selection() -> Selection:
    """OpenSSL holds 10,000 bytes for a client's certificate and 5,000 for each intermediate more; rustls keeps 96 bytes
    for ever; BoringSSL drops them where it is asked to. OpenSSL 3.5.5 has no such option."""
    runs = [one for stack in (OPENSSL, RUSTLS, BORING) for one in recorded(stack, SUITE, {})]
    runs += recorded(OPENSSL, f"{SUITE}-mutual", {"server": 10_000})
    runs += recorded(RUSTLS, f"{SUITE}-mutual", {"server": 2_000}, kept=96)
    runs += recorded(BORING, f"{SUITE}-mutual", {"server": 9_000})
    runs += recorded(BORING, f"{SUITE}-mutual+drop-peer-chain", {})
    for count in 0, 4:
        runs += recorded(OPENSSL, f"{SUITE}-depth{count}", {"client": 5_200 * (1 + count)})
        runs += recorded(OPENSSL, f"{SUITE}-depth{count}-mutual", {"server": 5_000 * (1 + count)})
    refused = synthetic.failed(OPENSSL, f"{SUITE}-mutual+drop-peer-chain", 40, REFUSAL, "unsupported")
    runs.append(refused.model_copy(update={"roles": "split"}))
    return select(runs)


REFUSAL = "OpenSSL 3.5.5: options=drop-peer-chain: has no option for it (TLSv1.3, TLS_AES_256_GCM_SHA384, X25519)"


def rows(table: Table) -> dict[tuple[str, str], dict[str, str]]:
    """The texts of each row, by stack and option."""
    keys = [column.key for column in table.columns]
    found = [dict(zip(keys, [cell.text for cell in row], strict=True)) for row in table.rows]
    return {(row["stack"], row["options"]): row for row in found}


def test_a_client_certificate_costs_what_is_added_to_a_server_alone(selection):
    found = rows(chain_table(selection))
    assert list(found) == [
        (RUSTLS, "default"), (BORING, "default"), (OPENSSL, "default"), (BORING, "drop-peer-chain"),
    ]  # fmt: skip
    openssl = found[OPENSSL, "default"]
    assert (openssl["server_only"], openssl["added"], openssl["added_used"]) == ("52,000", "10,000", "10,000")
    assert openssl["added_peak"] == "0"  # which is before the client's certificate comes
    assert openssl["added_rss"] == "10,000"


def test_until_when_it_is_held_is_said(selection):
    found = rows(chain_table(selection))
    until = {key: row["until"] for key, row in found.items()}
    assert until[OPENSSL, "default"] == "the session is closed"
    assert until[RUSTLS, "default"] == "for ever"
    assert until[BORING, "drop-peer-chain"] == "the handshake ends"
    assert found[BORING, "drop-peer-chain"]["added"] == "0"


def test_an_intermediate_costs_the_slope_from_none_to_four(selection):
    openssl = rows(chain_table(selection))[OPENSSL, "default"]
    sent = chain_sizes("rsa-2048-depth4", "client")
    assert len(sent) == 5 and sent[1:] == (1001, 1001, 1001, 991)
    assert openssl["per_client_intermediate"] == f"5,000 ({5_000 * 4 / sum(sent[1:]):.1f})"
    assert openssl["per_server_intermediate"] == f"5,200 ({5_200 * 4 / sum(sent[1:]):.1f})"
    assert rows(chain_table(selection))[RUSTLS, "default"]["per_client_intermediate"].startswith("–")


def test_a_stack_without_the_option_has_a_sentence_and_no_row(selection):
    assert chain_table(selection).without == [
        f"{OPENSSL}: TLSv1.3 with drop-peer-chain: OpenSSL 3.5.5: options=drop-peer-chain: has no option for it"
    ]


def test_kinds_of_keys_stand_side_by_side_with_bytes_for_each_byte_sent():
    runs = [*recorded(OPENSSL, SUITE, {}), *recorded(OPENSSL, f"{SUITE}-mutual", {"server": 4_006})]
    runs += [
        *recorded(OPENSSL, "tls13-ecdsa-aes256", {}),
        *recorded(OPENSSL, "tls13-ecdsa-aes256-mutual", {"server": 606}),
    ]
    (row,) = rows(key_table(select(runs))).values()
    assert sum(chain_sizes("rsa-2048", "client")) == 2003 and sum(chain_sizes("ecdsa-p256", "client")) == 1212
    assert (row["RSA-2048"], row["P-256"], row["Ed25519"].strip(" ¹")) == ("4,006 (2.0)", "606 (0.5)", "–")


def test_what_equal_chains_share_is_what_clients_with_their_own_cost_more():
    runs = recorded(OPENSSL, "tls13-ecdsa-aes256-mutual-same", {"server": 700})
    runs += recorded(OPENSSL, "tls13-ecdsa-aes256-mutual-each", {"server": 1_900})
    (row,) = rows(client_table(select(runs))).values()
    assert (row["same"], row["each"], row["unshared"], row["remembered"]) == ("52,700", "53,900", "1,200", "0")


@pytest.mark.parametrize(
    ("certs", "kind"),
    [
        ("rsa-2048", "RSA-2048"),
        ("rsa-2048-depth4", "RSA-2048"),
        ("ecdsa-p256-clients", "P-256"),
        ("ed25519", "Ed25519"),
    ],
)
def test_a_directory_s_name_tells_the_kind_of_its_keys(certs, kind):
    assert key_kind(certs) == kind


@pytest.mark.parametrize("certs", ["rsa-4096-3072-2048", "rsa-2048-large-client", "none"])
def test_a_directory_of_several_kinds_is_of_none(certs):
    assert key_kind(certs) is None


def test_one_number_of_sessions_is_too_few_and_says_so():
    """With N=2, a fifth of N is 2 as well."""
    runs = [*recorded(OPENSSL, SUITE, {}), *recorded(OPENSSL, f"{SUITE}-mutual", {"server": 10_000})]
    few = min(run.sessions for run in runs)
    words = rf"has no rows: {OPENSSL}: TLSv1.3: heap metered only at N = {few}, and a slope needs two"
    with pytest.raises(ValueError, match=words):
        catalogue.build(select(run for run in runs if run.sessions == few), ["chains"])


def test_of_several_recordings_each_stack_is_the_first_that_has_it(selection):
    runs = recorded(RUSTLS, SUITE, {}) + recorded(RUSTLS, f"{SUITE}-mutual", {"server": 1_000})
    found = {row.stack: row.added() for row in newest_of_each_stack([select(runs), selection])}
    assert (found[RUSTLS], found[OPENSSL]) == (1_000, 10_000)
