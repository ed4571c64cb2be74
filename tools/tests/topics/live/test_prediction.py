"""What the memory model predicts of a real server: its own plain connection, and a session of its library."""

import pytest

from tests.support import live, synthetic
from tests.support.in_use import OPENSSL, SUITE, recorded
from tests.support.live import live_record
from tlsmem.stats.live_costs import group_live
from tlsmem.store import recordings
from tlsmem.topics.live import prediction as live_prediction
from tlsmem.topics.live.prediction import predict, prediction_table

PHASES = ("started", "established", "idle", "closed")


@pytest.fixture
def among(tmp_path, monkeypatch):
    """A recording of what the server is said to run on."""
    monkeypatch.setitem(live_prediction.STACKS, "nginx", (OPENSSL, SUITE))
    recordings.load_stack.cache_clear()
    runs = recorded(OPENSSL, "+low-memory+tickets-library", 1_000)
    return [synthetic.write(tmp_path / "recording", [run.model_copy(update={"window": 100}) for run in runs])]


def runs(heap_each, malloc=False):
    """Plain connections of 512 B, and over TLS one handshake at a time."""
    plain = [
        live_record(count, meter, "plain", phases=PHASES, heap_each=512, malloc=malloc)
        for count in (1000, 3000)
        for meter in ("heap", "rss")
    ]
    over_tls = [
        live_record(count, meter, window=1, phases=PHASES, heap_each=heap_each, malloc=malloc)
        for count in (1000, 3000)
        for meter in ("heap", "rss")
    ]
    return plain + over_tls


def test_live_heap_is_the_plain_connection_and_a_session_and_the_rest_is_the_servers_own(among):
    first = {(row.state, row.quantity): row for row in predict(runs(20_000), among).rows}
    session = first["idle", "live heap"].predicted_bytes - 512
    found = {(row.state, row.quantity): row for row in predict(runs(int(session) + 512 + 94), among).rows}
    assert found["idle", "live heap"].own_bytes == pytest.approx(94)
    assert found["idle", "RSS"].own_bytes == pytest.approx(94)
    assert found["idle", "RSS"].measured_bytes == pytest.approx(live.RSS)


def test_what_differs_by_more_than_the_tolerance_has_a_note_that_names_bytes(among):
    table = prediction_table(runs(20_000), among)
    (cell,) = [row[-1] for row in table.rows if row[2].text == "idle" and row[3].text == "live heap"]
    assert "are live heap of the server's own; +0.0 % without them" in str(cell.note)


def test_of_rss_what_differs_is_named_without_a_remainder(among):
    """Both series have the same RSS, so the session's RSS in the harness is missing from the measurement."""
    (row,) = [
        row for row in predict(runs(20_000, malloc=True), among).rows if (row.state, row.quantity) == ("idle", "RSS")
    ]
    assert row.written_bytes == pytest.approx(0)
    assert row.named_bytes == pytest.approx(row.measured_bytes - row.predicted_bytes)
    assert row.unexplained == pytest.approx(0)


def test_what_a_handshake_retains_in_the_harness_is_no_difference(among):
    found = predict(runs(20_000, malloc=True), among)
    plain, over_tls = group_live(runs(20_000, malloc=True))
    row, model = found.rows[1], found.models[0]
    without, retained = (
        live_prediction.name_parts(row, over_tls, plain, "established", model, size) for size in (0.0, 1000.0)
    )
    assert without.free_bytes - retained.free_bytes == pytest.approx(1000)


def test_without_plain_connections_nothing_is_predicted(among):
    found = predict([one for one in runs(20_000) if one.transport == "tls"], among)
    assert (found.rows, found.missing) == ([], ["nginx: its plain connections were not measured"])


def test_a_server_without_a_known_stack_is_a_sentence(among):
    found = predict([one.model_copy(update={"server": "apache"}) for one in runs(20_000)], among)
    assert (found.rows, found.missing) == ([], ["apache: predictions are of nginx, haproxy, go, rustls"])


def test_a_collected_runtime_is_predicted_in_that_state_alone():
    assert set(live_prediction.COLLECTED) == {"collected"}
