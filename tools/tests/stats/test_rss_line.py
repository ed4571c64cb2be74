"""Lines through RSS and C10K figures are numbers, or Missing with the reason."""

import pytest

from tests.support import synthetic
from tlsmem.schema.records import RecordLine
from tlsmem.stats import live_heap
from tlsmem.stats.bootstrap import Interval
from tlsmem.stats.missing import Missing
from tlsmem.stats.peak_figure import C10kFigure, find_c10k
from tlsmem.stats.rss_line import MEASURED_ONCE, NO_INTERVAL, QUOTIENT, RssLine, fit_rss
from tlsmem.stats.selection import select
from tlsmem.stats.series import Series
from tlsmem.stats.session_cost import MIB

STACK, SUITE = "openssl@3.5.5", "tls13-rsa-aes256"
CLIENT = 64_000 * 1.1  # bytes of RSS that an established client session adds


def series(records: list[RecordLine]) -> Series:
    """Of the process that has the clients."""
    selection = select(records)
    setting = selection.settings[0]
    return selection.series(STACK, setting, setting.processes["client"])


def clients(counts=(100, 1000, 2000), factors=(1.0,)) -> Series:
    runs = synthetic.campaign([STACK], [SUITE], counts, roles="split")
    return series([synthetic.scaled(run, factor, at) for at, factor in enumerate(factors, 1) for run in runs])


def line(found: Series, phase: str | None = "established") -> RssLine:
    fitted = fit_rss(found, phase)
    assert isinstance(fitted, RssLine)
    return fitted


def test_a_slope_is_per_session_of_a_process_of_one_role():
    found = line(clients())
    assert found.slope == pytest.approx(CLIENT, abs=5)
    assert found.increments == pytest.approx((CLIENT, CLIENT), abs=10)
    assert not isinstance(found.residual, Missing) and abs(found.residual.bytes) < 4096


def test_two_points_are_a_quotient_without_a_residual():
    found = line(clients((100, 1000)))
    assert found.is_quotient and found.residual is QUOTIENT


def test_repeats_that_are_alike_have_no_interval_and_lie_in_one_point():
    found = line(clients(factors=(1.0, 1.0)))
    assert (found.spread, found.interval) == (0.0, NO_INTERVAL)
    assert found.interval_or_point == Interval(found.slope, found.slope)


def test_what_was_measured_once_has_neither_interval_nor_point():
    found = line(clients())
    assert (found.spread, found.interval_or_point) == (MEASURED_ONCE, NO_INTERVAL)


def test_repeats_that_differ_have_an_interval_around_the_slope():
    found = line(clients(factors=(0.99, 1.0, 1.01)))
    assert isinstance(found.interval, Interval) and found.interval_or_point is found.interval
    assert found.interval.low < found.slope < found.interval.high
    assert found.spread == pytest.approx(0.02, rel=0.01)


def test_one_n_has_no_line_and_no_c10k_figure():
    few = clients((100,))
    assert fit_rss(few, None) == Missing("only N = 100, and a slope needs two")
    assert find_c10k(few) == Missing("N = 100 only, not enough for a line")


def test_a_session_without_its_peer_has_no_reply():
    kept = series(synthetic.campaign([STACK], [SUITE], roles="keep-client"))
    assert fit_rss(kept, "reply") is live_heap.NO_PAYLOAD


def c10k(found: Series) -> C10kFigure:
    figure = find_c10k(found)
    assert isinstance(figure, C10kFigure)
    return figure


def test_a_c10k_figure_is_of_the_sessions_in_the_process():
    """20,000 sessions of split runs are 10,000 clients."""
    measured, fitted = c10k(clients((100, 1000, 20_000))), c10k(clients())
    assert (measured.is_measured, fitted.is_measured, fitted.most_sessions) == (True, False, 1000)
    assert measured.bytes == pytest.approx(9 * MIB + 75_000 * 1.1 * 10_000, rel=1e-4)
    assert fitted.bytes == pytest.approx(measured.bytes, rel=1e-3)


def test_a_c10k_figure_from_a_line_that_bends_is_in_doubt():
    runs = synthetic.campaign([STACK], [SUITE], (100, 1000, 2000), roles="split")
    bent = series([synthetic.scaled(run, 1.5 if run.sessions == 2000 else 1.0, 1) for run in runs])
    assert (c10k(bent).doubt, c10k(clients()).doubt) == ("bends", None)
