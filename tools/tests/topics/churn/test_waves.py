"""Verdicts over waves: of numbers whose slope is known, and of runs whose waves are."""

import random

import pytest

from tests.support.synthetic_churn import PAIRS, SESSION_BYTES, churn
from tlsmem.base import memo
from tlsmem.stats.missing import Missing
from tlsmem.topics.churn.waves import CONFIDENCE, find_churn, find_trend, fit_slope, skipped_waves, staying_pairs

MIB = 1 << 20
NOISE = [0, 3, -2, 5, -4, 1, 2, -3, 4, -1, 0, 2, -5, 3, -2, 1]
FLAT = [0] * 20
LEAK = [64 * wave for wave in range(20)]


@pytest.mark.parametrize(
    ("values", "tolerance", "slope", "verdict"),
    [
        (FLAT, 1, 0, "flat"),
        (LEAK, 1, 64, "growing"),
        ([7 - 64 * wave for wave in range(20)], 1, -64, "shrinking"),
        ([1000, 200, 30, 4, *[0] * 16], 1, 0, "flat"),  # what the first quarter does decides nothing
        ([*FLAT[:19], 10**6], 1, 0, "flat"),  # nor does one odd wave
        ([*[0] * 4, *NOISE], 1, 0, "flat"),  # noise about nothing
        ([*[0] * 4, *[1000 * one for one in NOISE]], 1, 0, "not decided"),  # noise in which 1 B a wave is lost
        ([wave * 3 for wave in range(20)], 10, 3, "flat"),  # growth within the tolerance
    ],
    ids=["flat", "leak", "shrinking", "warm-up", "odd wave", "noise", "much noise", "tolerance"],
)
def test_the_interval_of_the_slope_decides(values, tolerance, slope, verdict):
    found = find_trend(values, tolerance)
    assert (found.verdict, found.waves) == (verdict, len(values) - skipped_waves(len(values)))
    assert abs(found.slope - slope) <= (200 if verdict == "not decided" else 0.5)


@pytest.mark.parametrize("waves", [4, 5, 12, 75])
def test_a_slope_that_was_kept_has_the_same_bits(waves, tmp_path, monkeypatch):
    monkeypatch.setattr(memo, "FILE", tmp_path / "results.sqlite")
    memo.open_results.cache_clear()
    values = [random.Random(waves).randrange(10**9) for _ in range(waves)]
    import scipy.stats  # a second of each worker that collects this file

    found = scipy.stats.theilslopes(values, alpha=CONFIDENCE)
    assert fit_slope(values) == (found.slope, found.low_slope, found.high_slope)
    monkeypatch.setattr(scipy.stats, "theilslopes", None)
    assert fit_slope(values) == (found.slope, found.low_slope, found.high_slope)
    memo.open_results.cache_clear()


def test_a_few_waves_decide_nothing():
    assert find_trend(LEAK[:7], 1) == Missing("7 waves: a verdict needs 8")
    assert find_trend(LEAK[:8], 1).slope == 64
    assert [skipped_waves(waves) for waves in (8, 16, 20, 100, 1000)] == [4, 4, 5, 25, 250]


def test_each_pattern_leaves_as_many_sessions_open_as_the_harness_does():
    assert [staying_pairs("waves", 200, wave) for wave in (1, 9)] == [0, 0]
    assert [staying_pairs("sawtooth", 200, wave) for wave in (1, 2, 3, 9)] == [2, 4, 6, 6]
    assert [staying_pairs("lifetimes", 200, wave) for wave in (1, 9)] == [150, 150]


def server(*runs):
    """What is found of the server in these runs."""
    return next(one for one in find_churn(runs) if one.role == "server")


def test_live_heap_is_judged_to_the_byte_and_rss_by_its_tolerance():
    resident = [20 * MIB + wave * 4096 for wave in range(20)]
    sound, leaking = (server(churn(left, resident, "rss"), churn(left, resident, "heap")) for left in (FLAT, LEAK))
    assert (sound.heap_trend.verdict, leaking.heap_trend.verdict) == ("flat", "growing")
    assert leaking.heap_trend.slope == 64 and (leaking.left_bytes(0), leaking.left_bytes(-1)) == (0, 19 * 64)
    assert sound.session_bytes == SESSION_BYTES
    assert (sound.rss_trend.slope, sound.rss_trend.verdict) == (4096, "flat")  # 0.02 % of 20 MiB a wave
    steep = server(churn(FLAT, [20 * MIB + wave * 16384 for wave in range(20)], "rss"))
    assert (steep.rss_trend.slope, steep.rss_trend.verdict) == (16384, "growing")
    assert isinstance(steep.heap_trend, Missing)


def test_resident_bytes_are_held_against_live_ones_of_the_same_wave():
    found = server(*(churn(FLAT, [20 * MIB] * 20, meter) for meter in ("rss", "heap")))
    assert found.fragmentation("open", -1) == 20 * MIB / (PAIRS * SESSION_BYTES)
    assert found.fragmentation("closed", -1) == Missing("no session is open")
    assert found.peak_rss_bytes == (1 << 20) + 20 * MIB + 4096


def test_other_allocators_have_the_live_heap_of_the_systems_run():
    runs = [churn(LEAK, [MIB] * 20, "rss", allocator="jemalloc"), churn(LEAK, [2 * MIB] * 20, "heap")]
    names = {one.allocator: one for one in find_churn(runs) if one.role == "server"}
    assert names["jemalloc"].heap_trend.slope == 64 and names["jemalloc"].rss_after("open")[-1] == MIB


def test_stragglers_are_not_what_a_wave_left():
    left = [staying_pairs("sawtooth", PAIRS, wave) * SESSION_BYTES + 64 * (wave > 1) for wave in range(1, 21)]
    found = server(churn(left, [MIB] * 20, "heap", pattern="sawtooth"))
    assert (found.session_bytes, found.left_bytes(0), found.left_bytes(-1)) == (SESSION_BYTES, 0, 64)


def test_what_moves_from_the_context_to_a_session_is_no_growth():
    run = churn(LEAK, [MIB] * 20, "heap")
    phases = [one.model_dump() for one in run.phases]
    for one in phases:
        if one["process"] == "server":
            moved = 64 * (one["wave"] - 1) if one["phase"] == "closed" else 0
            one["heap"]["server_context"]["live_bytes"] = 10**6 - moved
    changed = churn(LEAK, [MIB] * 20, "heap", phases=phases)
    assert (server(run).heap_trend.verdict, server(changed).heap_trend.verdict) == ("growing", "flat")


def test_a_slope_of_nothing_has_no_sign(monkeypatch):
    monkeypatch.setattr(memo, "recall", lambda *_: (-0.0, -1.0, -0.0))
    assert repr(fit_slope([1, 2])) == "(0.0, -1.0, 0.0)"
