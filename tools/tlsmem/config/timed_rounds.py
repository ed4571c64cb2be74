"""How much a timed run does: some seconds of it, whatever the size of a write."""

import os

from tlsmem.config.definitions import Suite
from tlsmem.config.options import MULTIPLIER

FULL, RESUMED = 512, 4096  # handshakes
TRANSFER_BYTES = 2**30
ROUND_BYTES = 65536  # of small writes: as many as fit in; memtest/transfers.c's own
MOST_WRITES = 2**20
SECONDS = 5  # at most: what is slow does fewer


def multiplier() -> float:
    return float(os.environ.get(MULTIPLIER) or 1)


def writes(size_bytes: int) -> int:
    """Of one round."""
    return max(1, ROUND_BYTES // size_bytes)


def rounds(suite: Suite, size_bytes: int | None) -> int:
    """Handshakes, or transfers of writes of this size."""
    return max(1, round(multiplier() * (transfers(size_bytes) if size_bytes else handshakes(suite))))


def seconds() -> int:
    """After which a run ends, however many rounds it has done."""
    return max(1, round(multiplier() * SECONDS))


def handshakes(suite: Suite) -> int:
    return RESUMED if suite.resume == "on" else FULL


def transfers(size_bytes: int) -> int:
    return min(TRANSFER_BYTES // size_bytes, MOST_WRITES) // writes(size_bytes)
