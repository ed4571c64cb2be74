"""The memory model of runs whose memory is known: its terms, and its errors where a run keeps to another law."""

import pytest

from tests.support import synthetic
from tlsmem.schema.records import RecordLine
from tlsmem.stats import memory_model
from tlsmem.stats.memory_model import ModelError, fit_and_check
from tlsmem.stats.missing import Missing
from tlsmem.stats.session_cost import MIB

STACK, SUITE = "openssl@3.5.5", "tls13-rsa-aes256"
FIXED, KEPT, HANDSHAKE = 8 * MIB, 20_000, 30_000


def run(sessions: int, window: int | str, share: float = 1) -> RecordLine:
    """The peak is this share of the law's."""
    pairs = sessions // 2 if window == "all" else window
    peak = round(share * (FIXED + sessions * KEPT + pairs * HANDSHAKE))
    made = synthetic.record(STACK, SUITE, sessions, window=window)
    phases = [phase.model_copy(update={"peak_rss_bytes": peak}) for phase in made.phases]
    return made.model_copy(update={"phases": phases})


def runs(**shares: float) -> list[RecordLine]:
    """w100=1.1: with 100 pairs at once the peak of the larger N is 10 % above the law's."""
    windows = (1, 10, 100, 200, "all")
    return [
        run(sessions, window, shares.get(f"w{window}", 1) if sessions == 2000 else 1)
        for sessions in (200, 2000)
        for window in windows
    ]


def test_the_terms_are_those_of_the_runs():
    found = fit_and_check(runs(), "RSS")
    assert found.model.fixed == pytest.approx(FIXED)
    assert (found.model.kept, found.model.handshake) == (pytest.approx(KEPT), pytest.approx(HANDSHAKE))
    assert found.error.rounded_share == found.narrow_error.rounded_share == 0


def test_the_largest_error_between_the_windows_of_the_fit_is_named():
    error = fit_and_check(runs(w100=1 / 1.1, w200=1.01), "RSS").error
    assert (error.rounded_share, error.sessions, error.window) == (pytest.approx(0.1), 2000, 100)


def test_windows_below_one_part_in_a_hundred_are_checked_apart():
    """Of 1,000 pairs 1 is fewer; of the heap, where the model is claimed for any window, it is in the fit."""
    found = fit_and_check(runs(w1=0.5), "RSS")
    assert found.error.rounded_share == 0
    assert found.narrow_error == ModelError(pytest.approx(1), 2000, 1)
    fitted, _, narrower = memory_model.split_fit_and_check([one.model_copy(update={"meter": "heap"}) for one in runs()])
    assert {one.window for one in fitted} == {1, "all"} and narrower == []


def test_without_two_windows_there_is_no_model():
    assert isinstance(fit_and_check([run(sessions, "all") for sessions in (200, 2000)], "RSS"), Missing)
    assert isinstance(fit_and_check(runs(), "live heap"), Missing)


def test_an_error_of_nothing_has_no_sign():
    assert repr(ModelError(-1e-12, 100, 10).rounded_share) == "0.0"
