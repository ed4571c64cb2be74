"""What many sessions need, from two runs whose memory is known."""

import pytest

from tests.support import synthetic
from tlsmem.schema.records import RecordLine
from tlsmem.stats.missing import Missing
from tlsmem.topics.million.forecast import check_forecast, forecast_sessions

FIXED, EACH, WIRE = 5_000_000, 7_700, 40_000


def run(sessions: int, more: int = 0) -> RecordLine:
    """So many sessions of a role stay; the process has `more` bytes than the line says."""
    made = synthetic.record("openssl@3.5.5", "tls13-rsa-aes256", 2 * sessions, window=100)
    peak = FIXED + EACH * sessions + more - WIRE
    phases = [one.model_copy(update={"peak_rss_bytes": peak, "wire_bytes": WIRE}) for one in made.phases]
    return made.model_copy(update={"phases": phases})


def test_the_line_is_that_of_both_runs():
    forecast = forecast_sessions(run(1000), run(2000))
    assert forecast == pytest.approx((FIXED, EACH))
    assert forecast.bytes_at(1_000_000) == pytest.approx(FIXED + EACH * 1_000_000)


def test_the_largest_number_that_fits_needs_no_more_than_there_is_room():
    forecast = forecast_sessions(run(1000), run(2000))
    room = FIXED + EACH * 5000 + EACH - 1
    assert forecast.largest_fitting(room) == 5000
    assert forecast.largest_fitting(FIXED - 1) == 0


def test_a_large_run_is_held_against_the_two_smallest_of_ten_windows():
    """One of fewer windows predicts nothing, and one between the smallest and the largest neither."""
    check = check_forecast([run(100, more=9_000_000), run(4000, more=77), run(100_000), run(1000), run(2000)], 100)
    assert (check.sessions, check.difference) == (100_000, pytest.approx(0))


def test_the_difference_has_a_sign():
    more = check_forecast([run(1000), run(2000), run(100_000, more=round(0.02 * (FIXED + EACH * 100_000)))], 100)
    assert more.difference == pytest.approx(0.02)


def test_two_runs_predict_and_check_nothing():
    assert isinstance(check_forecast([run(1000), run(2000), run(2000)], 100), Missing)
