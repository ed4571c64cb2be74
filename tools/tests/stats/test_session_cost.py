"""The arithmetic of cost, on straight lines and hand-made whole numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import synthetic
from tlsmem.stats import memory_model, session_cost
from tlsmem.stats.session_cost import KIB, MIB, Quotient

OPENSSL, SUITE = "openssl@3.5.5", "tls13-rsa-aes256"


def heap_pair(extra: int = 0):
    return (
        synthetic.record(OPENSSL, SUITE, 100, "heap"),
        synthetic.record(OPENSSL, SUITE, 1000, "heap", extra),
    )


def test_live_heap_of_a_session_is_a_whole_number_of_bytes_and_blocks():
    cost = session_cost.live_cost(*heap_pair(), "client", "established")
    assert (cost.bytes, str(cost.bytes), str(cost.blocks)) == (Quotient(64_000 * 450, 450), "64,000", "240")


def test_a_pair_is_a_client_and_a_server():
    assert str(session_cost.live_cost(*heap_pair(), "total", "established").bytes) == "116,000"


def test_what_all_sessions_share_costs_a_session_nothing():
    assert str(session_cost.live_cost(*heap_pair(), "client_context", "established").bytes) == "0"


def test_a_planted_remainder_shows():
    cost = session_cost.live_cost(*heap_pair(extra=12), "client", "established")
    assert (cost.bytes.integer_part, cost.bytes.remainder, str(cost.bytes)) == (64_000, 12, "64,000 + 12/450")


def test_a_quotient_is_taken_towards_nought():
    assert str(Quotient(-5, 450)) == "0 - 5/450"
    assert str(Quotient(-455, 450)) == "-1 - 5/450"


@given(st.integers(-(10**12), 10**12), st.integers(1, 10**6))
def test_a_quotient_loses_nothing(amount, sessions):
    quotient = Quotient(amount, sessions)
    assert quotient.integer_part * sessions + quotient.remainder == amount
    assert abs(quotient.remainder) < sessions


def test_the_peak_names_its_phase_and_roles_have_their_own():
    client, server = (session_cost.peak_cost(*heap_pair(), role) for role in ("client", "server"))
    assert (client.phase, str(client.bytes)) == ("client 1", "75,000")
    assert (server.phase, str(server.bytes)) == ("server 1", "82,000")


def with_server_peak(run, phase_name, peak):
    """The run with another peak of the server's live heap in one phase."""

    def moment(phase):
        server = phase.heap.server.model_copy(update={"peak_bytes": peak})
        return phase.model_copy(update={"heap": phase.heap.model_copy(update={"server": server})})

    phases = [moment(phase) if phase.phase == phase_name else phase for phase in run.phases]
    return run.model_copy(update={"phases": phases})


def test_a_peak_inside_a_phase_counts():
    runs = [with_server_peak(run, "server 2", run.sessions // 2 * 90_000) for run in heap_pair()]
    cost = session_cost.peak_cost(*runs, "server")
    assert (cost.phase, str(cost.bytes)) == ("server 2", "90,000")


def test_a_peak_that_is_paid_once_is_no_cost_of_a_session():
    runs = [with_server_peak(run, "closed", 10**9) for run in heap_pair()]
    cost = session_cost.peak_cost(*runs, "server")
    assert (cost.phase, str(cost.bytes)) == ("server 1", "82,000")


@given(
    slope=st.integers(1, 200_000),
    intercept=st.integers(0, 10**8),
    counts=st.lists(st.integers(1, 500_000).map(lambda pairs: 2 * pairs), min_size=2, max_size=8, unique=True),
)
def test_any_straight_line_is_recovered(slope, intercept, counts):
    line = session_cost.fit_line({n: intercept + slope * n for n in sorted(counts)})
    assert line.slope == pytest.approx(slope, rel=1e-9)
    assert line.intercept == pytest.approx(intercept, rel=1e-9, abs=0.1)
    assert all(step == pytest.approx(slope) for step in line.increments)
    assert line.residual == pytest.approx(0, abs=0.1)


def test_a_bent_line_shows_where():
    line = session_cost.fit_line({0: 0.0, 100: 1000.0, 200: 2000.0, 300: 6000.0})
    assert line.increments == (10.0, 10.0, 40.0)
    assert line.residual == pytest.approx(-1200)  # slope 19, intercept -600: at 200 the line has 3,200
    assert line.residual_share == pytest.approx(-0.6)


def test_two_points_are_a_quotient_and_one_is_no_slope():
    assert session_cost.fit_line({100: 1000.0, 200: 3000.0}).is_quotient
    assert not session_cost.fit_line({100: 1000.0, 200: 3000.0, 300: 5000.0}).is_quotient
    assert session_cost.fit_line({10_000: 1e9}) is None


def repeats(*, factor: int):
    """The second repeat's slope is `factor` bytes per session steeper."""
    for n in (100, 200, 300):
        for repeat in (1, 2, 3):
            rise = factor if repeat == 2 else 0
            phases = [synthetic.phase("contexts", synthetic.SHAPES[OPENSSL], 0, "rss", 0)]
            phases[0]["peak_rss_bytes"] = 5000 + (1000 + rise) * n
            yield synthetic.record(OPENSSL, SUITE, n, repeat=repeat, phases=phases)


def test_repeats_count_by_their_median_and_their_slopes_by_their_spread():
    runs = list(repeats(factor=20))
    assert session_cost.medians(runs, session_cost.peak_rss) == {100: 105_000, 200: 205_000, 300: 305_000}
    assert session_cost.slope_spread(runs, session_cost.peak_rss) == pytest.approx(0.02)


def test_runs_made_once_have_no_spread():
    assert (
        session_cost.slope_spread([run for run in repeats(factor=0) if run.repeat == 1], session_cost.peak_rss) is None
    )


def test_c10k_is_measured_or_from_the_line_or_unknown():
    assert session_cost.c10k({100: 1.0, 10_000: 704_962_560.0}) == (704_962_560.0, True)
    assert session_cost.c10k({1000: 11 * MIB, 2000: 21 * MIB, 3000: 31 * MIB}) == (pytest.approx(101 * MIB), False)
    assert session_cost.c10k({1000: 11 * MIB}) is None


def test_the_published_132_mib_are_128_point_7():
    assert pytest.approx(128.7, abs=0.05) == 131_816 * KIB / MIB


def test_the_law_predicts_a_window_that_it_has_not_seen():
    def memory(sessions, window):
        return 8_000_000 + 15_200 * sessions + 29_500 * window

    points = [(n, w, memory(n, w)) for n, w in ((1000, 1), (10_000, 1), (1000, 500), (10_000, 5000))]
    found = memory_model.fit_memory_model(points)
    assert (found.kept, found.handshake) == (pytest.approx(15_200), pytest.approx(29_500))
    assert found.bytes_at(10_000, 100) == pytest.approx(memory(10_000, 100))


def test_full_lockstep_alone_has_no_law():
    assert memory_model.fit_memory_model([(n, n // 2, 1000.0 * n) for n in (100, 1000, 5000, 10_000)]) is None


def test_the_law_is_of_the_handshakes_not_of_what_comes_after():
    run = synthetic.record(OPENSSL, SUITE, 100, "heap", extra=10**9)
    late = [
        phase.model_copy(update={"heap": synthetic.record(OPENSSL, SUITE, 2, "heap").phases[0].heap})
        if phase.phase not in ("reply",)
        else phase
        for phase in run.phases
    ]
    assert memory_model.handshake_peak_heap(run.model_copy(update={"phases": late}), "client") == 0
