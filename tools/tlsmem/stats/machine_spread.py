"""How far a figure of RSS lies apart between the machines on which a recording was made."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tlsmem.stats.missing import Missing
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Series

ONE_MACHINE = Missing("recorded on one machine")


@dataclass(frozen=True)
class MachineSpread:
    """The smallest and the largest figure, of so many machines."""

    smallest: float
    largest: float
    machines: int

    @property
    def share(self) -> float:
        """The range over the smallest figure."""
        return (self.largest - self.smallest) / self.smallest

    def describe(self) -> str:
        """Return the spread as a note says it."""
        return f"between {self.machines} machines it differs by {100 * self.share:.1f} %"


def spread_between_machines(
    machines: Iterable[Selection], series: Series, figure: Callable[[Series], float | None]
) -> MachineSpread | Missing:
    """Return how far this figure of a series lies apart between the machines that have it; Missing with fewer than two.

    `machines` are those of the selection that the series is from."""
    key = series.stack, series.setting, series.process
    values = [value for one in machines if (value := figure(one.series(*key)))]
    return MachineSpread(min(values), max(values), len(values)) if len(values) > 1 else ONE_MACHINE
