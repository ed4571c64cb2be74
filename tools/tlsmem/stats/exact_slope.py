"""Slopes of RSS runs as fractions: the slope of a sum is the sum of the slopes, so that sums close without rounding."""

from collections.abc import Callable, Iterable
from fractions import Fraction

from tlsmem.stats import session_cost
from tlsmem.store.record import Phase, Record

ESTABLISHED = "established"
PhaseQuantity = Callable[[Phase], int]


def slope_per_pair(runs: Iterable[Record], quantity: session_cost.Quantity) -> Fraction | None:
    """The least-squares slope through the means over repeats, exactly; None for fewer than two numbers of sessions.

    Means, not medians: only of means the slope of a sum is the sum of the slopes."""
    points = {
        Fraction(n, 2): Fraction(sum(values), len(values))
        for n, values in session_cost.values_by_sessions(runs, quantity).items()
    }
    if len(points) < 2:
        return None
    middle = sum(points, Fraction()) / len(points)
    moment = sum(((pairs - middle) * value for pairs, value in points.items()), Fraction())
    return moment / sum(((pairs - middle) * (pairs - middle) for pairs in points), Fraction())


def quantity_at_end(measure: PhaseQuantity, phase: str = ESTABLISHED) -> session_cost.Quantity:
    """Return the quantity of a run that `measure` returns for its phase of this name, in the unit of `measure`."""
    return lambda record: measure(session_cost.phase_of(record, phase))
