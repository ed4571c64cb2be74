"""Predictions of live runs: predicted before, compared only with runs that began later."""

import pytest

from tlsmem.base.errors import UserError
from tlsmem.base.paths import ROOT
from tlsmem.plan import prediction_answer, predictions
from tlsmem.plan.live_model import fit_live
from tlsmem.plan.server_memory import measured_rss
from tlsmem.schema.live_records import append_live, load_live_file
from tlsmem.schema.recording_files import is_recording

NGINX = ROOT / "data/2026-11-24-amd-epyc-p0457-live/live/nginx.jsonl.zst"


@pytest.fixture(scope="module")
def predicted():
    return predictions.predict("nginx", ["openssl@3.5.5"], [1_000], [1, 100, "all"], (NGINX.parents[1],))


def test_a_prediction_is_the_sum_of_what_a_plan_has(predicted):
    """By hand: 16,499,331 B of process, 2,100 entries of 435.8 B, 1,000 sessions of 21,301 B with 921 B of nginx's
    own, and handshakes of 30,009 B beyond the 20 that the process has had."""
    by_hand = [
        16_499_331 + 2_100 * 435.8 + 1_000 * (21_301 + 921) + (window - 20) * 30_009 for window in (1, 100, 1_000)
    ]
    sizes = [one.rss_bytes for one in predicted if one.state == "in-use"]
    assert sizes == pytest.approx(by_hand, rel=0.001)
    assert {one.window for one in predicted} == {1, 100, 1_000}


def test_what_is_written_is_read_again_and_a_broken_line_is_one_sentence(predicted, tmp_path):
    file = tmp_path / "new/predictions.jsonl"
    predictions.append(file, predicted[:2])
    predictions.append(file, predicted[2:])
    assert predictions.load(file) == predicted
    assert predictions.load(tmp_path / "none") == []
    file.write_text(file.read_text() + "{}\n")
    with pytest.raises(UserError, match=rf"^{file}: line {len(predicted) + 1}: ") as error:
        predictions.load(file)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("started_at", "count"), [("2026-01-01T00:00:00Z", 0), ("2099-01-01T00:00:00Z", 1)])
def test_only_a_run_that_began_later_is_compared(predicted, started_at, count, tmp_path):
    (run,) = (
        one
        for one in load_live_file(NGINX)
        if (one.transport, one.meter, one.connections, one.window, one.hollow) == ("tls", "rss", 1_000, 100, False)
    )
    append_live(tmp_path, run.model_copy(update={"stack": "openssl@3.5.5", "started_at": started_at}))
    (mine,) = (one for one in predicted if one.window == 100 and one.state == "in-use")
    outcomes = [*predictions.compare([mine], [tmp_path])]
    assert len(outcomes) == count
    assert all(one.error == mine.rss_bytes / measured_rss(run, "in-use") - 1 for one in outcomes)


def test_a_server_without_live_runs_cannot_be_predicted():
    with pytest.raises(ValueError, match=r"^--as envoy: no live runs of it on boringssl@5.4.0 are recorded") as error:
        predictions.predict("envoy", ["boringssl@5.4.0"], [1_000], [100], (NGINX.parents[1],))
    assert "\n" not in str(error.value)


def test_a_library_without_a_session_of_the_harness_is_predicted_from_live_runs_alone(tmp_path):
    for run in load_live_file(NGINX):
        if run.window == 100 and not run.hollow:
            append_live(tmp_path, run.model_copy(update={"stack": "openssl+clang@3.2.0"}))
    (first, _) = predictions.predict("nginx", ["openssl+clang@3.2.0"], [5_000], [100], (tmp_path,))
    assert first.rss_bytes > 5_000 * 14_000


def test_predictions_do_not_make_data_a_recording():
    """`show slides data` draws all recordings in it."""
    assert predictions.FILE.exists() and not is_recording(ROOT / "data")


def test_handshakes_that_nobody_recorded_are_not_predicted(tmp_path):
    """Runs with 100 at a time leave nothing of them: so with more, it is not known what they leave."""
    for run in load_live_file(NGINX):
        if run.window == 100 and run.connections <= 3_000 and not run.hollow:
            phases = [
                phase.model_copy(
                    update={
                        "server": phase.server.model_copy(update={"rss_bytes": 10_000_000 + 20_000 * phase.connections})
                    }
                )
                for phase in run.phases
            ]
            append_live(tmp_path, run.model_copy(update={"server": "redis", "phases": phases}))
    found = predictions.predict("redis", [None], [1_000, 3_000], [1, 100, "all"], (tmp_path,))
    assert {one.window for one in found} == {1, 100}
    assert {one.rss_bytes for one in found if one.connections == 3_000} == {10_000_000 + 20_000 * 3_000}
    fit = fit_live("redis", None, (tmp_path,))
    assert not fit._replace(handshake={"at-rest": 1.0, "in-use": 0.0}).knows(3_000)  # of one state is not of both
    assert fit._replace(handshake={"at-rest": 1.0, "in-use": 1.0}).knows(3_000) and fit.knows(100)
    notes = prediction_answer.answer_predict(found, 6, is_written=False).notes
    assert notes[-1].startswith("Left out: 2 runs; what more concurrent handshakes leave is not recorded")
    with pytest.raises(ValueError, match=r"^--as redis: what more concurrent handshakes leave is not recorded"):
        predictions.predict("redis", [None], [1_000], ["all"], (tmp_path,))
