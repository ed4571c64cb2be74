"""What a soak says of waves that leave something, and of those that leave nothing."""

import pytest

from tests.support.synthetic_churn import churn
from tlsmem.topics.churn.waves import find_churn, find_growth

MIB = 1 << 20
LEVEL, STEEP = [MIB] * 20, [MIB + 4096 * wave for wave in range(20)]


@pytest.mark.parametrize(
    ("stack", "each", "resident", "said"),
    [
        ("null@c", 0, LEVEL, None),
        ("null@c", 64, LEVEL, "null@c, waves, server: live heap is growing, by 64.0 B a wave"),
        ("null@c", 0, STEEP, "null@c, waves, server: RSS is growing, by 4,096.0 B a wave"),
        ("openssl@3.5.5", 0, STEEP, None),
    ],
    ids=["flat", "leak", "resident", "a library's"],
)
def test_live_heap_must_be_flat_and_rss_that_of_the_harness(stack, each, resident, said):
    left = [each * wave for wave in range(20)]
    runs = [churn(left, resident, meter, stack=stack) for meter in ("rss", "heap")]
    assert find_growth(find_churn(runs)) == said
