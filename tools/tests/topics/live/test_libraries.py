"""One server on several libraries: live heap beside the harness's session, and the rest is the server's own."""

import pytest

from tests.support import synthetic
from tests.support.in_use import BORING, OPENSSL, recorded
from tests.support.live import live_record
from tlsmem.schema.live_records import USUAL, LiveVariant
from tlsmem.store import recordings
from tlsmem.topics.live.libraries import library_table, list_rows
from tlsmem.topics.live.prediction import predict

PHASES = ("started", "established", "idle", "closed")
PLAIN = 512
RECORDED = {
    OPENSSL: recorded(OPENSSL, "+low-memory+tickets-library", 1_000),
    BORING: recorded(BORING, "+tickets-library", 2_000),
}
SESSIONS = {OPENSSL: 52_000 + 1_000, BORING: 19_000 + 2_000}  # of a server, by tests.support.synthetic, and in use


@pytest.fixture
def among(tmp_path):
    """Recordings of both stacks as nginx runs them: OpenSSL releases its buffers, BoringSSL has its defaults."""
    recordings.load_stack.cache_clear()
    runs = [one for recording in RECORDED.values() for one in recording]
    return [synthetic.write(tmp_path / "recording", [run.model_copy(update={"window": 100}) for run in runs])]


def runs(stack, heap_each, transport="tls", **more):
    return [
        live_record(count, meter, transport, phases=PHASES, heap_each=heap_each, stack=stack, window=1, **more)
        for count in (1000, 3000)
        for meter in ("heap", "rss")
    ]


def both(heap_each=20_000):
    return [one for stack in (OPENSSL, BORING) for one in (*runs(stack, PLAIN, "plain"), *runs(stack, heap_each))]


def test_each_library_is_held_against_its_own_session_with_the_servers_options(among):
    rows = [one for one in list_rows(both(), among) if one.state == "idle"]
    assert [(one.series.stack, one.configuration.options) for one in rows] == [
        (BORING, "default"),
        (OPENSSL, "low-memory"),
    ]
    boring, openssl = rows
    assert (openssl.session, boring.session) == (SESSIONS[OPENSSL], SESSIONS[BORING])
    assert openssl.own == pytest.approx(20_000 - openssl.session)
    assert openssl.plain_live == PLAIN


def test_the_prediction_is_of_the_stack_that_the_server_was_built_on(among):
    found = {(one.series.stack, one.state, one.quantity): one for one in predict(both(), among).rows}
    difference = (
        found[BORING, "idle", "live heap"].predicted_bytes - found[OPENSSL, "idle", "live heap"].predicted_bytes
    )
    assert difference == SESSIONS[BORING] - SESSIONS[OPENSSL]


def test_a_session_that_is_not_recorded_is_missing_with_the_command(among):
    table = library_table(runs("awslc@5.12.0", 5_000), among)
    (note,) = {cell.note for row in table.rows for cell in row if cell.note and "plain" not in cell.note}
    assert note.startswith("no session of awslc@5.12.0 in tls13-rsa-aes256+tickets-library is recorded; to record it ")
    assert note.endswith("measure deployed-config --stacks awslc@5.12.0 --suites tls13-rsa-aes256 --out RECORDING")


def test_servers_as_they_are_packaged_have_no_row(among):
    assert library_table(runs(None, 20_000), among).rows == []


@pytest.mark.parametrize(
    ("variant", "cipher", "suite"),
    [
        (LiveVariant("TLSv1.2"), "ECDHE-RSA-AES128-GCM-SHA256", "tls12-rsa-aes128"),
        (LiveVariant("TLSv1.2", mutual=True), "ECDHE-RSA-AES256-GCM-SHA384", "tls12-rsa-aes256-mutual"),
        (LiveVariant(mutual=True), "TLS_AES_256_GCM_SHA384", "tls13-rsa-aes256-mutual"),
        (LiveVariant(mutual=True), "TLS_AES_128_GCM_SHA256", "tls13-rsa-aes128-mutual"),
    ],
)
def test_connections_are_held_against_sessions_of_their_own_kind(variant, cipher, suite, among):
    records = [*both(), *runs(OPENSSL, 33_000, variant=variant, cipher=cipher)]
    rows = [one for one in list_rows(records, among) if one.state == "idle"]
    *_, varied = [one for one in rows if one.series.variant == variant]
    assert f" in {suite}+low-memory+tickets-library is recorded" in varied.session.reason
    assert (varied.live, varied.plain_live) == (33_000, PLAIN)
    usual = [one for one in rows if one.series.variant == USUAL]
    assert [one.live for one in usual] == [20_000, 20_000]


def test_resumed_connections_are_held_against_no_session(among):
    """The harness resumes with a number of tickets of its own only: the command for the library's would fail."""
    records = runs(OPENSSL, 33_000, variant=LiveVariant(resumed=True), cipher="TLS_AES_256_GCM_SHA384")
    (note,) = {one.session.reason for one in list_rows(records, among)}
    assert note.endswith(": not compared") and "measure" not in note


def test_plans_and_predictions_are_of_the_usual_connections_alone(among):
    varied = runs(OPENSSL, 33_000, variant=LiveVariant(mutual=True))
    assert predict([*both(), *varied], among).rows == predict(both(), among).rows


def test_the_kind_of_connection_is_a_column_where_there_are_several(among):
    records = [*both(), *runs(OPENSSL, 33_000, variant=LiveVariant(mutual=True))]
    table = library_table(records, among)
    at = [column.key for column in table.columns].index("variant")
    assert {row[at].text for row in table.rows} == {"TLSv1.3", "TLSv1.3, mutual"}
