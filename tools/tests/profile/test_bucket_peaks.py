"""At the true peak, which lies within a phase, as recorded heaptrack profiles have it."""

import pytest

from tlsmem.base.paths import ROOT
from tlsmem.profile import open_profile
from tlsmem.profile.buckets.rules import OTHER
from tlsmem.profile.buckets.sums import BucketSums
from tlsmem.profile.heap_profile import END, PEAK, sum_live

PROFILES = sorted((ROOT / "data").glob("*/profiles/*.heaptrack.zst"))
LEAST = 0.97


@pytest.fixture(scope="module", params=PROFILES, ids=lambda file: file.name)
def sums(request) -> BucketSums:
    return BucketSums(open_profile.open_profile(request.param))


def test_both_stacks_are_recorded():
    assert {"openssl", "rustls+aws-lc"} <= {file.name.partition("@")[0] for file in PROFILES}


@pytest.mark.parametrize("moment", [PEAK, "established"])
@pytest.mark.parametrize("role", ["client", "server"])
def test_at_least_97_percent_have_a_bucket(sums, moment, role):
    held, whole = sums.live_by_bucket(moment, role), sums.live_total(moment, role).bytes
    assert sum(one.bytes for one in held.values()) == whole > 0
    assert whole - held.get(OTHER, sum_live({})).bytes >= LEAST * whole


def test_a_recorded_profile_is_whole_and_named(sums):
    profile = sums.profile
    assert not profile.torn and not profile.warnings
    assert list(profile.moments)[-2:] == [PEAK, END] and profile.sessions_of_role == profile.run.sessions // 2
    assert all(sum_live(moment.live).bytes == moment.bytes for moment in profile.moments.values())
