"""Figures by place, and whether two differ: counts to the byte, RSS beyond its repeats, times by an interval."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import planted, synthetic, synthetic_timed
from tlsmem.compare.figure_places import Place, describe_owner, place_order, readable_phase
from tlsmem.compare.figures import figures_by_place
from tlsmem.schema.records import RecordLine
from tlsmem.stats.change import Change, Figure, compare_figures

SUITE = planted.SUITE


def place(role: str, phase: str, meter: str, sessions: int | None = None) -> Place:
    return Place(SUITE, role, phase, meter, sessions)


def test_live_heap_is_a_whole_number_of_each_role_and_phase():
    found = figures_by_place(planted.counted())
    assert found[place("server", "established", "heap")].values == (Fraction(14_116),)
    assert found[place("server", "peak", "heap")].at == "sessions"
    assert found[place("client", "created", "blocks")].values == (40,)
    assert found[place("pair", "idle", "heap")].values == (28_216,)
    assert found[place("client", "closed", "heap")].values == (0,)
    assert found[place("client", "closed", "allocations")].values == (40,)
    assert found[place("client", "closed", "allocated")].values == (14_100,)
    assert all((one.exact and not one.noise) == (at.meter != "allocated") for at, one in found.items())


def test_of_one_n_there_is_a_quotient_and_it_says_so(snapshot):
    one = [run for run in planted.counted() if run.meter == "heap"][1:]
    found = figures_by_place(one)[place("server", "established", "heap")]
    assert (found.values, found.quotient) == ((14_116,), 200)
    assert found.note == snapshot
    assert compare_figures(found, found).note == found.note


def test_a_slope_is_not_compared_with_a_quotient():
    slope = Figure((Fraction(10),), True, "B")
    alone = slope._replace(quotient=200)
    assert compare_figures(slope, alone).verdict == compare_figures(alone, slope).verdict == "not known"
    assert compare_figures(alone, alone._replace(quotient=20)).verdict == "not known"
    assert compare_figures(alone, alone).verdict == "no change"


def test_rss_has_a_slope_of_each_repeat_and_peaks_at_each_n():
    found = figures_by_place(planted.resident((1.0, 1.01, 1.02)))
    slopes = found[place("pair", "established", "rss")].values
    assert len(slopes) == 3
    assert slopes[2] == pytest.approx(1.02 * slopes[0])
    assert len(found[place("process", "peak", "peak-rss", 5_000)].values) == 3
    alone = figures_by_place(planted.resident((1.0,), (100,)))
    assert alone[place("pair", "peak", "rss")].quotient == 100


def test_the_roles_of_a_split_run_have_slopes_of_their_own():
    found = figures_by_place(synthetic.campaign([planted.STACK], [SUITE], roles="split"))
    assert {one.role for one in found} == {"client", "server"}


def test_times_are_of_one_thread_and_better_when_more():
    found = figures_by_place(synthetic_timed.campaign([planted.STACK], [SUITE]))
    figure = found[place("server", "handshake", "handshakes")]
    assert (figure.values[0], figure.more_is_better, figure.repeats) == (2_000.0, True, (1, 2, 3, 4, 5))
    threaded = figures_by_place(synthetic_timed.campaign([planted.STACK], [SUITE], threads=[2]))
    assert place("server", "handshake, 2 threads", "handshakes") in threaded
    sent = figures_by_place(synthetic_timed.campaign([planted.STACK], [SUITE], "throughput"))
    assert {one.meter: figure.values[0] for one, figure in sent.items()} == {"send": 4_000.0, "receive": 5_000.0}


def test_figures_are_of_one_stack_in_one_setting(snapshot):
    with pytest.raises(ValueError) as two_stacks:
        figures_by_place(synthetic.campaign([planted.STACK, "boringssl@5.4.0"], [SUITE]))
    with pytest.raises(ValueError) as two_settings:
        figures_by_place([*synthetic.campaign([planted.STACK], [SUITE]), planted.run("rss", 100, window=10)])
    assert [str(two_stacks.value), str(two_settings.value)] == snapshot


def test_failures_are_no_figures():
    assert figures_by_place([synthetic.failed(planted.STACK, SUITE, 100, "crashed")]) == {}


def exact(value: int | str, noise: int = 0) -> Figure:
    return Figure((Fraction(value),), True, "B", noise=Fraction(noise))


def measured(*values: float) -> Figure:
    return Figure(values, False, "B")


def rates(*values: float) -> Figure:
    return Figure(values, False, "handshakes/s", True, repeats=tuple(range(len(values))))


@given(st.integers(0, 10**6), st.integers(-64, 64))
def test_one_byte_of_what_is_counted_is_a_change(old: int, more: int):
    found = compare_figures(exact(old + 64), exact(old + 64 + more))
    assert found.changed == (more != 0)
    assert found.better == (None if not more else more < 0)
    assert found.direction == ("more" if more > 0 else "less" if more else "as much")


def test_less_than_a_byte_of_sessions_that_are_not_alike_is_none(snapshot):
    old, new = exact("8399/90", noise=1), exact("8400/90", noise=1)
    assert compare_figures(old, new).verdict == "no change"
    assert compare_figures(old, new).note == snapshot
    assert compare_figures(old, exact("8490/90", noise=1)).changed


def test_counts_that_do_not_repeat_differ_beyond_their_spread():
    uneven = Figure((Fraction(100), Fraction(102), Fraction(103)), False, "blocks", noise=Fraction(1))
    assert compare_figures(uneven, exact(104, noise=1)).verdict == "no change"
    assert compare_figures(uneven, exact(106, noise=1)).changed


@pytest.mark.parametrize("certs", ["ecdsa-p256", "rsa-2048"])
def test_signatures_of_ecdsa_make_counts_uneven(certs: str):
    argv = ["build/harness/x", "memory", f"certs=memtest/certs/{certs}"]
    runs = [planted.run("heap", sessions, argv=argv) for sessions in planted.COUNTS]
    assert figures_by_place(runs)[place("server", "established", "heap")].noise == (certs != "rsa-2048")


def test_rss_differs_beyond_the_spread_of_repeats_and_measured_once_beyond_three_percent():
    assert compare_figures(measured(100, 101, 102), measured(102, 103, 103.1)).verdict == "no change"
    found = compare_figures(measured(100, 101, 102), measured(104, 105, 106))
    assert (found.changed, found.better, found.amount) == (True, False, 4)
    assert compare_figures(measured(100), measured(102.9)).verdict == "no change"
    assert compare_figures(measured(100), measured(103.1)).changed


@pytest.mark.thorough
def test_times_differ_where_the_interval_of_the_factor_has_no_one():
    old = rates(1000, 1002, 998, 1004, 996)
    faster = compare_figures(old, rates(*(1.05 * one for one in old.values)))
    assert (faster.verdict, faster.better) == ("changed", True)
    assert faster.low == pytest.approx(faster.high) == pytest.approx(1.05)
    assert compare_figures(old, rates(*(0.95 * one for one in old.values))).better is False
    assert compare_figures(old, rates(1004, 996, 1003, 997, 1001)).verdict == "no change"
    assert compare_figures(rates(1000, 1000), rates(2000, 2000)).verdict == "not known"


def test_of_few_times_it_is_said_how_often_chance_alone_makes_a_change():
    of_three, of_six = (compare_figures(rates(*[1000.0] * times), rates(*[1050.0] * times)) for times in (3, 6))
    assert of_three.changed and "in 1 of 4 comparisons" in of_three.note
    assert of_six.changed and of_six.note is None


def test_from_nothing_there_is_no_share():
    found: Change = compare_figures(exact(0), exact(16))
    assert (found.share, found.amount, found.changed) == (None, 16, True)


def test_places_are_said_as_pages_say_them_and_ordered_as_a_run_goes():
    assert describe_owner("server") == "server session"
    assert readable_phase("reply") == "after 1 KiB each way"
    phases = ["closed", "idle", "peak", "established", "created", "server 1"]
    places = [place("client", phase, "heap") for phase in phases]
    assert [one.phase for one in sorted(places, key=place_order)][:2] == ["created", "peak"]
    assert [one.phase for one in sorted(places, key=place_order)][-2:] == ["idle", "closed"]


def test_sites_runs_stand_in_where_there_are_no_heap_runs():
    alone: list[RecordLine] = [run for run in planted.counted() if run.meter == "sites"]
    assert figures_by_place(alone)[place("server", "idle", "heap")].values == (14_116,)
