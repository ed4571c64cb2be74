"""Whether transfers fit into memory: they are refused before any run, not killed by the kernel in one."""

import sys

from tlsmem.config import timed_rounds
from tlsmem.config.campaigns import AnyCampaign
from tlsmem.config.timed_matrix import thread_counts
from tlsmem.run.available_memory import available_bytes

COPIES = 4  # of a round, in each thread: what is sent, what is received, the wire, and its copying measured afterwards
MARGIN = 1.05
MIB = 1024 * 1024


def check(campaign: AnyCampaign) -> None:
    """Exits with a sentence when the largest run of a campaign of transfers does not fit."""
    if campaign.scenario != "throughput":
        return
    size, threads = max(campaign.sizes), max(thread_counts(campaign))
    need, have = MARGIN * COPIES * timed_rounds.writes(size) * size * threads, available_bytes()
    if need > have:
        of = f"writes of {size:,} bytes, of {threads:,} thread{'s' * (threads > 1)},"
        much = f"need {need / MIB:,.0f} MiB, and {have / MIB:,.0f} MiB are available"
        sys.exit(f"memtest: {of} {much}; smaller SIZES or fewer THREADS fit")
