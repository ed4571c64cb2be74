"""What the threads of a timed run tell, by scenario."""

from collections.abc import Iterable

from tlsmem.schema.harness_output import PartName, Scenario

INTERVALS: dict[Scenario, tuple[PartName, ...]] = {  # with a histogram
    "handshake": ("client_new", "client", "client_free", "server_new", "server", "server_free"),
    "throughput": ("send", "receive"),
}
OPTIONAL: dict[Scenario, tuple[PartName, ...]] = {"handshake": (), "throughput": ("seal",)}  # what a driver may lack
OWN: tuple[PartName, ...] = ("wire_write", "wire_read", "clock")  # the harness's


def whole(scenario: Scenario, names: Iterable[PartName]) -> bool:
    """Each once."""
    names = list(names)
    there = [name for name in OPTIONAL[scenario] if name in names]
    return sorted(names) == sorted([*INTERVALS[scenario], *there, *OWN])
