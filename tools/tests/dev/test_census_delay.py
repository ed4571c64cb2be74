"""The delay of an echo server, without and with censuses: short turns, no figure of time."""

import pytest

import census_delay
from tlsmem.base.errors import UserError

SESSIONS = 6


@pytest.fixture
def short_turns(monkeypatch):
    monkeypatch.setattr(census_delay, "TURNS", 2)
    monkeypatch.setattr(census_delay, "TURN_S", 0.1)


@pytest.mark.thorough
@pytest.mark.usefixtures("short_turns")
def test_answers_are_timed_in_turns_without_and_with_censuses():
    without, beside = census_delay.measure_delay(SESSIONS)
    assert without.censuses == 0 and beside.censuses >= census_delay.TURNS
    for one in (without, beside):
        assert len(one.times) > 0 and 0 < one.percentile_us(50) <= one.percentile_us(99)


@pytest.mark.usefixtures("short_turns")
def test_a_wrong_count_beside_the_server_is_said(monkeypatch):
    take = census_delay.take_census
    monkeypatch.setattr(census_delay, "take_census", lambda _: take([1 << 22]))
    with pytest.raises(UserError):
        census_delay.measure_delay(SESSIONS)
