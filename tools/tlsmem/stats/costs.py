"""The three costs of a session, which every page, picture and command names alike.

Each says which meter and which state. Live heap in use is exact. RSS is of a process that holds one role, with few
handshakes at a time. In use: the session sent and received a full record (16 KiB), and waits in a read. At rest: it is
established and has carried no data."""

from collections.abc import Callable
from typing import NamedTuple

from tlsmem.stats.configured_stack import AT_REST, IN_USE, Configuration, ConfiguredStack
from tlsmem.stats.missing import Missing, map_present
from tlsmem.stats.runtime_heap import bytes_per_session

VOCABULARY = (
    "Live heap in use: the bytes that the library holds for a session after a full record (16 KiB) each way; the count "
    "is exact. RSS at rest: the physical memory of an established session that has carried no data. RSS in use: the "
    "same after a full record each way; plan with this one."
)


class Cost(NamedTuple):
    """One of the three: its key in files, its name on pages, the colour of its bars, and how a stack's is found."""

    key: str
    name: str
    colour: str
    figure: Callable[[ConfiguredStack, Configuration], float | Missing]  # bytes a session


def live_bytes(phase: str) -> Callable[[ConfiguredStack, Configuration], float | Missing]:
    """Return what finds the live heap of a session at the end of the phase, in bytes."""

    def find(stack: ConfiguredStack, configuration: Configuration) -> float | Missing:
        return map_present(bytes_per_session, stack.live(configuration, phase))

    return find


def rss_bytes(phase: str) -> Callable[[ConfiguredStack, Configuration], float | Missing]:
    """Return what finds the RSS of one more session at the end of the phase, in bytes."""

    def find(stack: ConfiguredStack, configuration: Configuration) -> float | Missing:
        return map_present(lambda line: line.slope, stack.rss(configuration, phase))

    return find


LIVE_IN_USE = Cost("live_heap_in_use_bytes", "Live heap in use", "#0b5fa5", live_bytes(IN_USE))
RSS_AT_REST = Cost("rss_at_rest_bytes", "RSS at rest", "#c3cad3", rss_bytes(AT_REST))
RSS_IN_USE = Cost("rss_in_use_bytes", "RSS in use", "#e07b00", rss_bytes(IN_USE))
COSTS = (LIVE_IN_USE, RSS_AT_REST, RSS_IN_USE)
# Beside the three, where that is what is recorded.
LIVE_AT_REST = Cost("live_heap_at_rest_bytes", "Live heap at rest", LIVE_IN_USE.colour, live_bytes(AT_REST))
RSS_COSTS = (RSS_AT_REST, RSS_IN_USE)
